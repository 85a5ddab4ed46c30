/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Runs AllReduces packet by packet through ns-3's network models and compares the time measured
 * with what the flow-level model predicts and with the ideal.
 */

#include "allreduce-program-options.h"
#include "chakra-files.h"
#include "html-report.h"
#include "job-experiment.h"
#include "job-options.h"
#include "job-rows.h"
#include "other-ranks-quiet.h"
#include "output-file.h"
#include "plan-options.h"
#include "result-writer.h"
#include "run-experiment.h"
#include "run-options.h"
#include "run-rows.h"
#include "schedule-view.h"
#include "trace-events.h"
#include "training-rows.h"

#include "ns3/allreduce-error.h"
#include "ns3/chakra-trace.h"
#include "ns3/distributed-run.h"
#include "ns3/input-file.h"
#include "ns3/pcap-file-wrapper.h"
#include "ns3/schedule-file.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulation-defaults.h"
#include "ns3/topology-helper.h"
#include "ns3/verified-plan.h"

#ifdef ALLREDUCE_NETANIM
#include "ns3/animation-interface.h"
#endif

#include <algorithm>
#include <fstream>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for.
struct Options
{
    PlanOptions plan;              //!< which networks and schedulers
    RunOptions run;                //!< how
    std::string bytes{"16MiB"};    //!< size of the gradient
    std::vector<std::string> jobs; //!< several that share the network
    std::string scheduleIn;        //!< a schedule to run instead of planning one
    std::string scheduleOut;       //!< where to write the schedule
    std::string chakraIn;          //!< workload traces whose AllReduces are run
    std::string report;            //!< where to write the page
    std::string traceJson;         //!< where to write trace events
    std::string pcap;              //!< how the names of packet traces begin
    std::string anim;              //!< where to write NetAnim's XML
};

void
WriteTraceFile(const ExperimentResult& result, const std::string& path)
{
    if (!path.empty())
    {
        OutputFile file("--trace-json", path);
        WriteTraceEvents(result, file.Get());
        file.Finish();
    }
}

/// ns-3 aborts if it cannot write; whoever asked for a file should hear of it.
void
CheckFiles(const Options& options)
{
    if (!options.traceJson.empty())
    {
        OutputFile::Check("--trace-json", options.traceJson);
    }
    if (!options.pcap.empty())
    {
        OutputFile::Check("--pcap", options.pcap + "-server-0-0.pcap");
    }
    if (!options.anim.empty())
    {
#ifndef ALLREDUCE_NETANIM
        FailInput("--anim: this build has no NetAnim");
#endif
        if (options.run.nRanks > 1)
        {
            FailInput("--anim: not possible in ",
                      options.run.nRanks,
                      " processes, where NetAnim sees only a part of each way");
        }
        OutputFile::Check("--anim", options.anim);
    }
}

void
CheckChakra(const Options& options)
{
    if (options.chakraIn.empty())
    {
        return;
    }
    CheckChakraSupport("--chakra-in");
    if (options.run.nRanks > 1)
    {
        FailInput("--chakra-in: not possible in ",
                  options.run.nRanks,
                  " processes, which run one AllReduce");
    }
}

/// The files with a run's packets. ns-3 closes them without a look at whether all was written.
class PacketFiles
{
  public:
    explicit PacketFiles(const Options& options)
        : m_options(options)
    {
    }

    /// Write the packets of all devices from now on.
    void Watch(TopologyHelper& network)
    {
        network.EnablePcapAll(m_options.pcap);
        m_files = network.GetPcapFiles();
    }

    /// Close them. @throws InputError if something is missing
    void Finish()
    {
        for (const auto& [path, file] : m_files)
        {
            const bool hasFailed = file->Fail();
            file->Close();
            if (hasFailed || file->Fail())
            {
                FailInput("--pcap: file ", NamePath(path), " cannot be written");
            }
        }
        m_files.clear();
        if (!m_options.anim.empty() && !IsAnimationWhole())
        {
            FailInput("--anim: file ", NamePath(m_options.anim), " cannot be written");
        }
    }

  private:
    bool IsAnimationWhole() const
    {
        const std::string end = "</anim>";
        std::ifstream in(m_options.anim, std::ios::ate);
        constexpr std::streamoff TAIL = 16;
        in.seekg(-std::min<std::streamoff>(TAIL, in.tellg()), std::ios::end);
        std::string tail(TAIL, ' ');
        in.read(tail.data(), tail.size());
        return tail.find(end) != std::string::npos;
    }

    const Options& m_options;                      //!< what was asked for
    std::vector<TopologyHelper::PcapFile> m_files; //!< packets
};

/// @return what watches the packets of a run and lives as long as it
std::shared_ptr<void>
WatchPackets(TopologyHelper& network, const Options& options, PacketFiles& files)
{
    if (!options.pcap.empty())
    {
        files.Watch(network);
    }
#ifdef ALLREDUCE_NETANIM
    if (!options.anim.empty())
    {
        const auto animation = std::make_shared<AnimationInterface>(options.anim);
        animation->SetMaxPktsPerTraceFile(std::numeric_limits<uint64_t>::max());
        return animation;
    }
#endif
    return nullptr;
}

/// Where results go.
struct Outputs
{
    ResultWriter writer; //!< rows
    HtmlReport report;   //!< the page
    PacketFiles packets; //!< what went over the links
};

/// Shows the AllReduces of a training iteration; @return whether all went well
bool
ReportTraining(const Experiment& experiment,
               const ExperimentResult& result,
               const Options& options,
               Outputs& outputs)
{
    const auto rows = MakeTrainingRows(experiment, options.run, result);
    for (const std::string key : {"collective", "size"})
    {
        std::vector<std::string> texts;
        for (const auto& row : rows)
        {
            texts.push_back(row[key]);
        }
        outputs.writer.MakeRoom(key, texts);
    }
    bool isGood = true;
    for (const auto& row : rows)
    {
        isGood = ReportRow("allreduce-run", row, outputs.writer) && isGood;
    }
    WriteTraceFile(result, options.traceJson);
    return isGood;
}

/// Runs and reports; @return whether all went well
bool
Report(const Experiment& experiment, const Options& options, Outputs& outputs)
{
    const ExperimentResult result = RunExperiment(experiment, options.run);
    outputs.packets.Finish();
    if (experiment.training)
    {
        return ReportTraining(experiment, result, options, outputs);
    }
    if (GetLaunchedRank() > 0)
    {
        return result.failure.empty(); // Rank 0 has collected it.
    }
    const auto row = MakeRow(experiment, options.run, result);
    const bool isGood = ReportRow("allreduce-run", row, outputs.writer);
    WriteTraceFile(result, options.traceJson);
    outputs.report.AddRow(row);
    outputs.report.AddView([&] { return MakeRunView(experiment, result); });
    outputs.report.Write(); // Whoever stops the next run finds this one on the page.
    if (options.run.showLinks && options.plan.format == "table")
    {
        PrintLinkUse(row, std::cout);
    }
    if (result.nRanks > 1 && options.plan.format == "table")
    {
        std::cout << "  " << result.nRanks << " ranks waited for each other "
                  << 100 * result.waitShare << " % of the time\n";
    }
    return isGood;
}

void
WriteScheduleFile(const Experiment& experiment, const std::string& path)
{
    if (!path.empty() && GetLaunchedRank() == 0)
    {
        OutputFile file("--schedule-out", path);
        WriteSchedule(experiment.GetAnnounced(), experiment.plan.GetSchedule(), file.Get());
        file.Finish();
    }
}

/// @return what a schedule file asks for
Experiment
MakeFromFile(const Options& options, uint64_t bytes)
{
    const std::string& path = options.scheduleIn;
    InputFile in(path, "schedule file");
    const ScheduleFile file = ReadSchedule(in, NamePath(path));
    const VerifiedPlan plan(file.topology, file.schedule, "schedule file " + NamePath(path));
    const Training training = ReadTraining(options.chakraIn, file.topology.GetNServers());
    if (training && !file.schedule.collective.IsOfAll())
    {
        FailInput("--chakra-in: the schedule is for groups, expected an AllReduce of all servers");
    }
    Experiment experiment{options.run.MakeActual(file.topology),
                          path,
                          CreateScheduler("greedy"),
                          plan,
                          GetLargest(training, bytes),
                          training,
                          GetShape(file.schedule.collective, file.topology)};
    if (options.run.faults.HidesRates())
    {
        experiment.announced = options.run.MakeAnnounced(file.topology);
    }
    return experiment;
}

/// Plans, runs and reports all that was asked for; @return whether all went well
bool
ReportAll(const Options& options, uint64_t bytes, Outputs& outputs)
{
    const std::vector<Topology> topologies = options.plan.topologies.Make();
    const std::vector<std::string> schedulers = ExpandSchedulers(options.plan);
    outputs.writer.MakeRoom("topology", GetNames(topologies));
    outputs.writer.MakeRoom("scheduler", schedulers);
    std::vector<Training> trainings;
    for (const Topology& topology : topologies)
    {
        CheckNetwork(topology, options.plan, options.run);
        trainings.push_back(ReadTraining(options.chakraIn, topology.GetNServers()));
    }
    bool isGood = true;
    for (std::size_t i = 0; i < topologies.size(); ++i)
    {
        for (const std::string& name : schedulers)
        {
            Experiment experiment = PlanExperiment(topologies[i],
                                                   name,
                                                   GetLargest(trainings[i], bytes),
                                                   options.plan,
                                                   options.run);
            experiment.training = trainings[i];
            WriteScheduleFile(experiment, options.scheduleOut);
            isGood = Report(experiment, options, outputs) && isGood;
        }
    }
    return isGood;
}

/// Plans, runs and reports jobs that share a network; @return whether all went well
bool
ReportJobs(const std::vector<JobOptions>& jobs, const Options& options, Outputs& outputs)
{
    const std::vector<Topology> topologies = options.plan.topologies.Make();
    for (const Topology& topology : topologies)
    {
        CheckJobs(topology, jobs);
    }
    outputs.writer.MakeRoom("topology", GetNames(topologies));
    MakeRoomForJobs(jobs, outputs.writer);
    bool isGood = true;
    for (uint32_t run = 0; run < topologies.size(); ++run)
    {
        const std::vector<PlannedJob> planned = PlanJobs(topologies[run], jobs);
        const std::vector<JobResult> results = RunJobs(planned, options.run);
        outputs.packets.Finish();
        for (uint32_t i = 0; i < planned.size(); ++i)
        {
            const auto row = MakeJobRow(planned[i], results[i]);
            isGood = ReportRow("allreduce-run", row, outputs.writer) && isGood;
            outputs.report.AddRow(row);
            outputs.report.AddView([&] { return MakeJobView(planned[i], results[i], i, run); });
        }
        outputs.report.Write();
    }
    return isGood;
}

void
AddOptions(ProgramOptions& parser, Options& options)
{
    options.plan.AddTo(parser);
    options.run.AddTo(parser);
    parser.Add("bytes", options.bytes, "size of the gradient, as 100MiB");
    parser.Add("job", options.jobs, '\n', GetJobGrammar());
    parser.Add("schedule-in", options.scheduleIn, "run this schedule file instead of planning");
    parser.Add("schedule-out", options.scheduleOut, "write the (last) schedule to this file");
    parser.Add("chakra-in",
               options.chakraIn,
               "run the training iteration of Chakra workload traces PREFIX.SERVER.et, or of one "
               "file for all servers");
    parser.Add("report", options.report, "write a page with pictures to this HTML file");
    parser.Add("trace-json", options.traceJson, "write the (last) run's flows for Perfetto");
    parser.Add("pcap", options.pcap, "write packets to files PREFIX-NODE-DEVICE.pcap");
    parser.Add("partition",
               options.run.partition,
               "under mpirun: a file with the rank of each node, a line each; default: choose");
    parser.Add("anim", options.anim, "write the (last) run for NetAnim to this XML file");
    parser.AddExample("--topology=bcube:4,1 --scheduler=hrl --bytes=64MiB",
                      "run the plan of the two policies over TCP");
    parser.AddExample("--scheduler=greedy --bytes=4MiB --fail=0-16@1ms --report=run.html",
                      "break a link after a millisecond, and draw what happened");
    parser.AddExample("--job='servers=0-7;start=1ms' --job='servers=8-15;scheduler=hrl'",
                      "two jobs share the network: how much slower is each than alone?");
    parser.AddExample("--topology=dcell:4,1 --transport=raw --sync=dependency --bytes=16MiB",
                      "without IP and without barriers");
}

std::vector<ResultWriter::Column>
ChooseColumns(const Options& options)
{
    return !options.jobs.empty()      ? GetJobColumns()
           : options.chakraIn.empty() ? GetRunColumns()
                                      : GetTrainingColumns();
}

/// @return whether all went well
bool
ReportWanted(const Options& options,
             const std::vector<JobOptions>& jobs,
             uint64_t bytes,
             Outputs& outputs)
{
    if (!jobs.empty())
    {
        return ReportJobs(jobs, options, outputs);
    }
    return options.scheduleIn.empty() ? ReportAll(options, bytes, outputs)
                                      : Report(MakeFromFile(options, bytes), options, outputs);
}

int
Run(int argc, char* argv[], OtherRanksQuiet& quiet)
{
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
    Options options;
    options.plan.schedulers = {"greedy"};
    ProgramOptions parser(
        "allreduce-run",
        "Runs AllReduces packet by packet and prints measured, predicted and ideal time.");
    AddOptions(parser, options);
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    ExcludeBesideJobs(parser, GetNLaunched());
    parser.Exclude("schedule-in", {"topology", "degrade", "mixed", "schedule-out", "known"});
    ExcludePlanning(parser, "schedule-in");
    parser.Exclude("chakra-in", {"bytes", "iterations", "compute-time", "report", "links"});
    // A training iteration begins when all are ready, and nobody knows how long it computes.
    parser.Exclude("chakra-in", {"late", "bursts"});
    parser.Exclude("chakra-in", {"collective", "servers", "groups", "root", "relay"});
    CheckDetails(options.run.showLinks, "--links", options.plan.format);
    const uint64_t bytes = ParseSize(options.bytes, "--bytes");
    options.run.nRanks = GetNLaunched();
    options.run.isAnimated = !options.anim.empty();
    options.run.showProgress = GetLaunchedRank() == 0;
    options.run.Check();
    options.run.CheckReport(options.report);
    options.run.CheckAttributes(parser.GetAttributeClasses());
    const std::vector<JobOptions> jobs = ParseJobs(options.jobs, options.plan, options.run, bytes);
    for (const JobOptions& job : jobs)
    {
        job.run.CheckReport(options.report);
    }
    CheckBesideJobs(parser, jobs);
    if (jobs.empty())
    {
        CheckSchedulers(options.plan);
        options.run.CheckIterations();
    }
    const LaunchedRanks ranks;
    CheckChakra(options);
    CheckFiles(options);

    Outputs outputs{{std::cout, ParseFormat(options.plan.format), ChooseColumns(options)},
                    {options.report, argc, argv},
                    PacketFiles(options)};
    options.run.fullStack = options.run.fullStack || !options.anim.empty();
    options.run.recordsFlows = outputs.report.IsWanted() || !options.traceJson.empty();
    options.run.prepare = [&](TopologyHelper& network) {
        quiet.LetErrorsPass();
        return WatchPackets(network, options, outputs.packets);
    };
    return ReportWanted(options, jobs, bytes, outputs) ? 0 : 1;
}

} // namespace

int
main(int argc, char* argv[])
{
    OtherRanksQuiet quiet;
    return quiet.ChooseStatus(RunProgram("allreduce-run", [&] { return Run(argc, argv, quiet); }));
}
