/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * The main job: several schedulers on several networks, planned, verified, run packet by packet and
 * reported in one table.
 */

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-program-options.h"
#include "ns3/plan-options.h"
#include "ns3/result-writer.h"
#include "ns3/run-experiment.h"
#include "ns3/run-options.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for.
struct Options
{
    PlanOptions plan;                        //!< which networks and schedulers
    RunOptions run;                          //!< how
    std::vector<std::string> sizes{"16MiB"}; //!< of the gradient

    void AddTo(ProgramOptions& parser)
    {
        plan.topologies.specs = {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2"};
        plan.schedulers = {"all"};
        parser.Add("topologies", plan.topologies.specs, ';', "networks, as --topology elsewhere");
        parser.Add("schedulers", plan.schedulers, ',', "names of schedulers, or all");
        parser.Add("sizes", sizes, ',', "sizes of the gradient, as 1KiB,16MiB,1GiB");
        parser.Add("degrade", plan.topologies.degrade, "FRACTION[,SEED] of the links to remove");
        parser.Add("mixed", plan.topologies.mixed, "FRACTION[,SEED] of the links of capacity 2");
        parser.Add("chunks-per-server",
                   plan.chunksPerServer,
                   "a number, or auto: as many as ports");
        parser.Add("samples", plan.samples, "plans to choose the best of");
        parser.Add("seed", plan.seed, "where chance comes from");
        parser.Add("format", plan.format, "table, json or csv");
        run.AddTo(parser);
    }
};

std::vector<ResultWriter::Column>
GetColumns()
{
    return {{"topology", "topology", 20},
            {"size", "bytes", 7},
            {"scheduler", "scheduler", 17},
            {"rounds", "rounds", 6},
            {"bound", "bound", 5},
            {"ideal_s", "ideal s", 10, 6},
            {"predicted_s", "predicted s", 11, 6},
            {"measured_s", "measured s", 10, 6},
            {"ratio", "to ideal", 8, 3},
            {"goodput_gbps", "Gb/s", 6, 2},
            {"max_utilization", "busiest", 7, 2},
            {"queue_peak", "queue", 5},
            {"wall_s", "wall s", 6, 1}};
}

/// Runs one scheduler on one network with all sizes; @return whether all went well
bool
Compare(const Topology& topology,
        const std::string& name,
        const Options& options,
        ResultWriter& writer)
{
    const Ptr<AllReduceScheduler> scheduler = MakeScheduler(name, options.plan);
    const AllReduceSchedule plan =
        PlanVerified(topology, MakeRoots(topology, options.plan), name, *scheduler);
    bool isGood = true;
    for (const std::string& size : options.sizes)
    {
        const Experiment experiment{topology, name, scheduler, plan, ParseSize(size, "--sizes")};
        const ExperimentResult result = RunExperiment(experiment, options.run);
        writer.Add(MakeRow(experiment, options.run, result));
        if (!result.failure.empty())
        {
            std::cerr << "allreduce-compare: " << topology.GetName() << " " << name
                      << " failed: " << result.failure << std::endl;
            isGood = false;
        }
    }
    return isGood;
}

void
CheckOptions(const Options& options)
{
    options.run.Check();
    for (const std::string& size : options.sizes)
    {
        ParseSize(size, "--sizes");
    }
    for (const std::string& name : ExpandSchedulers(options.plan))
    {
        MakeScheduler(name, options.plan);
    }
}

/// Among all schedulers hrl is left out if this build or this machine has no policy for it.
void
LeaveOutMissingPolicy(PlanOptions& options)
{
    if (options.schedulers != std::vector<std::string>{"all"})
    {
        return;
    }
    options.schedulers = GetSchedulerNames();
    try
    {
        const Topology smallest = ParseTopology("bcube:2,0");
        PlanVerified(smallest, MakeRoots(2, 1), "hrl", *MakeScheduler("hrl", options));
    }
    catch (const InputError& error)
    {
        std::cerr << "allreduce-compare: no rows for hrl: " << error.what() << std::endl;
        auto& names = options.schedulers;
        names.erase(std::remove(names.begin(), names.end(), "hrl"), names.end());
    }
}

int
Run(int argc, char* argv[])
{
    SetDataCentreTcpDefaults();
    Options options;
    ProgramOptions parser("allreduce-compare",
                          "schedulers on networks: planned, verified, run packet by packet");
    options.AddTo(parser);
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    CheckOptions(options);
    LeaveOutMissingPolicy(options.plan);
    bool isGood = true;
    ResultWriter writer(std::cout, ParseFormat(options.plan.format), GetColumns());
    for (const Topology& made : options.plan.topologies.Make())
    {
        const Topology topology = options.run.Apply(made);
        for (const std::string& name : ExpandSchedulers(options.plan))
        {
            isGood = Compare(topology, name, options, writer) && isGood;
        }
    }
    return isGood ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-compare", [=] { return Run(argc, argv); });
}
