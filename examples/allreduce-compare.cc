/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * The main job: several schedulers on several networks, planned, verified, run packet by packet and
 * reported in one table.
 */

#include "allreduce-program-options.h"
#include "html-report.h"
#include "plan-options.h"
#include "progress-line.h"
#include "result-writer.h"
#include "run-experiment.h"
#include "run-options.h"
#include "run-rows.h"
#include "schedule-view.h"
#include "sweep-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/simulation-defaults.h"
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
    SweepOptions sweep;                      //!< who does which runs
    std::string report;                      //!< where to write the page

    void AddTo(ProgramOptions& parser)
    {
        plan.topologies.specs = {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2"};
        plan.schedulers = {"all"};
        parser.Add("sizes", sizes, ',', "sizes of the gradient, as 1KiB,16MiB,1GiB");
        sweep.nJobs = GetNCores();
        sweep.AddTo(parser);
        parser.Add("report", report, "write a page with pictures to this HTML file");
        plan.AddTo(parser);
        run.AddTo(parser);
    }
};

/// One row of the table.
struct Case
{
    Topology topology;     //!< the network
    std::string scheduler; //!< who plans
    uint64_t bytes;        //!< size of the gradient
};

void
CheckOptions(const Options& options)
{
    options.run.Check();
    options.run.CheckIterations();
    options.run.CheckReport(options.report);
    CheckDetails(options.run.showLinks, "--links", options.plan.format);
    CheckSchedulers(options.plan);
}

/// @return all combinations of what was asked for
std::vector<Case>
MakeCases(const Options& options)
{
    std::vector<Case> cases;
    for (const Topology& topology : options.plan.topologies.Make())
    {
        CheckNetwork(topology, options.plan, options.run);
        for (const std::string& name : ExpandSchedulers(options.plan))
        {
            for (const std::string& size : options.sizes)
            {
                cases.push_back({topology, name, ParseSize(size, "--sizes")});
            }
        }
    }
    if (!options.run.flowMonitor.empty() && cases.size() > 1)
    {
        FailInput("--flow-monitor: one file for ", cases.size(), " runs, expected one run");
    }
    return cases;
}

/// Plans and runs; @return a row as text, to be sent from one process to another
std::string
RunCase(const Case& chosen, const Options& options)
{
    const Experiment experiment =
        PlanExperiment(chosen.topology, chosen.scheduler, chosen.bytes, options.plan, options.run);
    const ExperimentResult result = RunExperiment(experiment, options.run);
    nlohmann::ordered_json row = MakeRow(experiment, options.run, result);
    if (!options.report.empty())
    {
        row["view"] = MakeRunView(experiment, result);
    }
    // Names of files need not be UTF-8.
    return row.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

/// @return the row of a run
nlohmann::ordered_json
ReadRow(const Case& chosen, const WorkerProcesses::Outcome& outcome)
{
    if (outcome.failure.empty())
    {
        return nlohmann::ordered_json::parse(outcome.text);
    }
    return {{"topology", chosen.topology.GetName()},
            {"scheduler", chosen.scheduler},
            {"bytes", chosen.bytes},
            {"size", FormatSize(chosen.bytes)},
            {"failure", outcome.failure}};
}

/// Moves a row's view, if there is one, to the page.
void
AddToPage(nlohmann::ordered_json& row, HtmlReport& report)
{
    const auto view = row.find("view");
    if (view != row.end())
    {
        report.AddView([&] { return *view; });
        row.erase("view");
    }
    report.AddRow(row);
}

/// Runs and reports all; @return whether all went well
bool
Compare(const std::vector<Case>& cases, Sweep& sweep, const Options& options, HtmlReport& report)
{
    ResultWriter writer(std::cout, ParseFormat(options.plan.format), GetCompareColumns());
    for (const std::size_t index : sweep.GetCases())
    {
        const Case& chosen = cases[index];
        writer.MakeRoom("topology", {chosen.topology.GetName()});
        writer.MakeRoom("scheduler", {chosen.scheduler});
        writer.MakeRoom("size", {FormatSize(chosen.bytes)});
    }
    const std::size_t nRuns = sweep.GetCases().size();
    ProgressLine line("allreduce-compare");
    line.Show("0 of " + std::to_string(nRuns) + " runs", 0);
    bool isGood = true;
    std::size_t nDone = 0;
    sweep.Run([&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
        line.Clear();
        auto row = ReadRow(cases[index], outcome);
        AddToPage(row, report);
        isGood = ReportRow("allreduce-compare", row, writer) && isGood;
        ++nDone;
        line.Show(std::to_string(nDone) + " of " + std::to_string(nRuns) + " runs",
                  double(nDone) / nRuns);
    });
    return isGood;
}

/// Among all schedulers hrl is left out if this build or this machine has no policy for it.
void
LeaveOutMissingPolicy(std::vector<Case>& cases, const PlanOptions& options)
{
    if (options.schedulers != std::vector<std::string>{"all"})
    {
        return;
    }
    try
    {
        const Topology smallest = ParseTopology("bcube:2,0");
        PlanVerified(smallest, MakeRoots(2, 1), *MakeScheduler("hrl", options));
    }
    catch (const InputError& error)
    {
        std::cerr << "allreduce-compare: no rows for hrl: " << error.what() << std::endl;
        const auto isHrl = [](const Case& chosen) { return chosen.scheduler == "hrl"; };
        cases.erase(std::remove_if(cases.begin(), cases.end(), isHrl), cases.end());
    }
}

int
Run(int argc, char* argv[])
{
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
    Options options;
    options.plan.chunksPerServer = "ports-or-auto"; // if possible the same for all of them
    ProgramOptions parser(
        "allreduce-compare",
        "Compares schedulers on networks: plans, verifies and runs each packet by packet.");
    options.AddTo(parser);
    parser.AddExample("--topology='bcube:4,1;fattree:4' --scheduler=ring,greedy --sizes=1MiB,4MiB",
                      "compare two schedulers on two networks with two sizes");
    parser.AddExample("--topology=bcube:3,1 --scheduler=all --sizes=1MiB --format=csv",
                      "write what all schedulers take to a spreadsheet");
    parser.AddExample("--topology=dcell:4,1 --degrade=0.05,3 --scheduler=ring,forest,hrl "
                      "--sizes=4MiB --report=compare.html",
                      "compare on a network that has lost links, and draw it");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    options.run.showProgress = false;
    options.run.CheckAttributes(parser.GetAttributeClasses());
    CheckOptions(options);
    options.sweep.Check(parser);
    std::vector<Case> cases = MakeCases(options);
    LeaveOutMissingPolicy(cases, options.plan);
    options.run.recordsFlows = !options.report.empty();
    Sweep sweep(options.sweep, cases.size(), [&](std::size_t index) {
        return RunCase(cases[index], options);
    });
    if (sweep.Serve())
    {
        return 0;
    }
    HtmlReport report(options.report, argc, argv);
    const bool isGood = Compare(cases, sweep, options, report);
    report.Write();
    return isGood ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-compare", [=] { return Run(argc, argv); });
}
