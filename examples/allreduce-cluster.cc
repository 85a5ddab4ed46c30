/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Plays a trace of training jobs on a cluster under GADGET and simpler policies; compares what they
 * reach; runs the rings of a slot in ns-3.
 */

#include "allreduce-program-options.h"
#include "cluster-job-rows.h"
#include "cluster-options.h"
#include "cluster-report.h"
#include "cluster-rows.h"
#include "cluster-view.h"
#include "html-report.h"
#include "mpi-ranks.h"
#include "output-file.h"
#include "progress-line.h"
#include "result-writer.h"
#include "ring-experiment.h"
#include "sweep-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/cluster-simulation.h"
#include "ns3/gpu-cluster.h"
#include "ns3/guarantee-check.h"
#include "ns3/job-trace.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for.
struct Options
{
    ClusterOptions cluster;      //!< cluster, jobs, policies and objectives
    RingRunOptions ringRun;      //!< how rings are run in ns-3
    SweepOptions sweep;          //!< who plays which traces
    uint32_t seeds{1};           //!< how many seeds to average over
    std::string format{"table"}; //!< table, json, csv or gnuplot
    std::string series;          //!< where the time series go
    std::string jobRows;         //!< where rows of jobs go
    std::string report;          //!< where the page goes
    bool wantsSlots{false};      //!< there is somewhere for slots to go
    bool wantsHistory{false};    //!< there is somewhere for what jobs did to go
    std::string writeJobs;       //!< where the jobs go
    std::string runSlot;         //!< the slot whose rings are run in ns-3
    uint32_t checkGuarantee{0};  //!< instances to compare with the optimum
};

/// A trace and who plays it.
struct Case
{
    std::string objective; //!< what progress is worth
    uint64_t seed;         //!< of cluster and jobs
    std::string policy;    //!< who allocates
};

/// A cluster and its jobs.
struct Setting
{
    uint64_t seed;       //!< of both
    GpuCluster cluster;  //!< the cluster
    ImportedTrace trace; //!< its jobs
    uint32_t nSlots;     //!< how many are played

    Setting(const ClusterOptions& options, uint64_t itsSeed)
        : seed(itsSeed),
          cluster(options.MakeCluster(itsSeed)),
          trace(options.MakeJobs(itsSeed)),
          nSlots(options.CountSlots(cluster, trace))
    {
    }
};

std::vector<Case>
MakeCases(const Options& options)
{
    std::vector<Case> cases;
    for (const std::string& objective : options.cluster.objectives)
    {
        for (uint64_t i = 0; i < options.seeds; ++i)
        {
            for (const std::string& policy : options.cluster.ExpandPolicies())
            {
                cases.push_back({objective, options.cluster.seed + i, policy});
            }
        }
    }
    return cases;
}

/// Plays a trace; @return its row, and its slots and jobs if they are wanted
nlohmann::ordered_json
Play(const Case& chosen,
     const Setting& setting,
     const Options& options,
     const std::function<void(uint32_t)>& showSlot)
{
    const auto begin = std::chrono::steady_clock::now();
    const auto policy = CreateClusterPolicy(chosen.policy, chosen.seed);
    const auto utility = ParseUtility(chosen.objective);
    const nlohmann::ordered_json head = {{"objective", chosen.objective},
                                         {"policy", chosen.policy},
                                         {"seed", chosen.seed}};
    nlohmann::ordered_json slots = nlohmann::ordered_json::array();
    JobHistory history;
    auto result = PlayTrace(setting.cluster,
                            setting.trace.jobs,
                            *utility,
                            *policy,
                            setting.nSlots,
                            [&](const SlotReport& report) {
                                showSlot(report.slot);
                                if (options.wantsSlots)
                                {
                                    slots.push_back(MakeSlotRow(head, report));
                                }
                                if (options.wantsHistory)
                                {
                                    history.Add(report);
                                }
                            });
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const TraceRun run{chosen.objective,
                       chosen.policy,
                       chosen.seed,
                       std::move(result),
                       wall.count()};
    nlohmann::ordered_json played = {{"row", MakeTraceRow(setting.cluster, run)},
                                     {"slots", std::move(slots)},
                                     {"jobs", nlohmann::ordered_json::array()},
                                     {"view", nullptr}};
    if (!options.jobRows.empty())
    {
        played["jobs"] = MakeClusterJobRows(head, setting.cluster, run.result, history);
    }
    if (!options.report.empty())
    {
        played["view"] = MakeClusterView(head, setting.cluster, run.result, history);
    }
    return played;
}

/// @return how a case is played in a process of its own, which says how far all has come
WorkerProcesses::Task
MakeTask(const std::vector<Case>& cases, const Setting& first, const Options& options)
{
    const auto begin = std::chrono::steady_clock::now();
    return [&, begin](std::size_t index) {
        const Case& chosen = cases[index];
        ProgressLine line("allreduce-cluster", options.sweep.IsOneAfterAnother(), begin);
        const auto showSlot = [&](uint32_t slot) {
            line.Show(chosen.objective + " " + chosen.policy + " slot " + std::to_string(slot),
                      (index + double(slot) / first.nSlots) / cases.size());
        };
        const auto play = [&](const Setting& setting) {
            return Play(chosen, setting, options, showSlot).dump();
        };
        return chosen.seed == first.seed ? play(first)
                                         : play(Setting(options.cluster, chosen.seed));
    };
}

/// Plays all traces.
void
ReportTraces(const std::vector<Case>& cases,
             Sweep& sweep,
             const Options& options,
             const Setting& first,
             ClusterOutputs& outputs)
{
    ClusterReporter reporter({options.cluster.objectives,
                              options.cluster.ExpandPolicies(),
                              options.seeds,
                              options.seeds > 1 && options.sweep.shard.empty(),
                              first.nSlots * first.cluster.slotSeconds,
                              ParseFormat(options.format)},
                             outputs);
    ProgressLine line("allreduce-cluster", !options.sweep.IsOneAfterAnother());
    std::size_t nDone = 0;
    sweep.Run([&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
        const Case& chosen = cases[index];
        line.Clear();
        if (!outcome.failure.empty())
        {
            throw std::runtime_error(chosen.objective + " " + chosen.policy + " with seed " +
                                     std::to_string(chosen.seed) + ": " + outcome.failure);
        }
        reporter.Add(chosen.policy, nlohmann::ordered_json::parse(outcome.text));
        const std::size_t nCases = sweep.GetCases().size();
        ++nDone;
        line.Show(std::to_string(nDone) + " of " + std::to_string(nCases) + " runs",
                  double(nDone) / nCases);
    });
    line.Clear();
    if (!reporter.HasFinished())
    {
        std::cerr << "allreduce-cluster: no job finished in " << first.nSlots << " slots of "
                  << options.cluster.slotTime
                  << "; --slots=auto plays about twice as many as the jobs need" << std::endl;
    }
}

/// @return the rings that a policy has in a slot
std::vector<RingEmbedding>
FindRings(const GpuCluster& cluster,
          const std::vector<Job>& jobs,
          const Options& options,
          const std::string& policyName,
          uint32_t slot)
{
    std::vector<RingEmbedding> rings;
    const auto utility = ParseUtility(options.cluster.objectives.front());
    const auto policy = CreateClusterPolicy(policyName, options.cluster.seed);
    PlayTrace(cluster, jobs, *utility, *policy, slot + 1, [&](const SlotReport& report) {
        rings.clear();
        for (const RingRun& run : report.runs)
        {
            rings.push_back(run.ring);
        }
    });
    return rings;
}

/// Runs the rings of one slot in ns-3, for each policy.
void
ReportRings(const Options& options, HtmlReport& page)
{
    const uint64_t slot = ParseNumber(options.runSlot, "--run-slot");
    const Setting setting(options.cluster, options.cluster.seed);
    const GpuCluster& cluster = setting.cluster;
    const std::vector<Job>& jobs = setting.trace.jobs;
    if (slot >= setting.nSlots)
    {
        FailInput("--run-slot \"", slot, "\": expected less than ", setting.nSlots);
    }
    SayAssumptions(setting.trace, cluster);
    ResultWriter writer(std::cout, ParseFormat(options.format), GetRingColumns());
    for (const std::string& policy : options.cluster.ExpandPolicies())
    {
        const auto rings = FindRings(cluster, jobs, options, policy, slot);
        const auto measurements = MeasureRings(cluster, jobs, rings, options.ringRun);
        for (const RingMeasurement& ring : measurements)
        {
            const auto row = MakeRingRow(policy, ring, jobs[ring.ring.job].name);
            writer.Add(row);
            page.AddRow(row);
        }
        if (!measurements.empty() && measurements.front().nDropped > 0)
        {
            std::cerr << "allreduce-cluster: warning: " << policy << ": "
                      << measurements.front().nDropped
                      << " packets found a queue full while all rings ran together" << std::endl;
        }
        if (measurements.empty())
        {
            std::cerr << "allreduce-cluster: " << policy << ": no ring of slot " << slot
                      << " spans several servers" << std::endl;
        }
    }
    page.Write();
}

/// Compares GADGET with the offline optimum. @return whether all is as guaranteed
bool
ReportGuarantee(const Options& options, HtmlReport& page)
{
    GuaranteeReport report;
    {
        ProgressLine line("guarantee");
        report = CheckGuarantee(options.checkGuarantee, options.cluster.seed, [&](uint32_t done) {
            line.Show(std::to_string(done) + " instances", double(done) / options.checkGuarantee);
        });
    }
    ResultWriter writer(std::cout, ParseFormat(options.format), GetGuaranteeColumns());
    writer.Add(MakeGuaranteeRow(report));
    page.AddRow(MakeGuaranteeRow(report));
    page.Write();
    for (const std::string& violation : report.violations)
    {
        std::cerr << "allreduce-cluster: " << violation << std::endl;
    }
    return report.violations.empty();
}

void
WriteJobFile(const Options& options, const std::string& command)
{
    OutputFile file("--write-jobs", options.writeJobs);
    const ImportedTrace trace = options.cluster.MakeJobs(options.cluster.seed);
    SayAssumptions(trace, options.cluster.MakeCluster(options.cluster.seed));
    WriteJobs(trace.jobs, command, file.Get());
    file.Finish();
}

/// @return the command line, for the first line of a job file
std::string
JoinArguments(int argc, char* argv[])
{
    std::string command = "made by: allreduce-cluster";
    for (int i = 1; i < argc; ++i)
    {
        command += std::string(" ") + argv[i];
    }
    return command;
}

/// @return JSON if a file is called so, else CSV
ResultWriter::Format
FindRowFormat(const std::string& path)
{
    const bool isJson = std::filesystem::path(path).extension() == ".json";
    return isJson ? ResultWriter::Format::JSON : ResultWriter::Format::CSV;
}

/// Plays what was asked for; @return the exit status
int
PlayTraces(Options& options, int argc, char* argv[])
{
    options.wantsSlots = !options.series.empty() || !options.report.empty();
    options.wantsHistory = !options.jobRows.empty() || !options.report.empty();
    const Setting first(options.cluster, options.cluster.seed);
    CheckJobsCanRun(first.cluster, first.trace.jobs, options.cluster.slotTime);
    const std::vector<Case> cases = MakeCases(options);
    Sweep sweep(options.sweep, cases.size(), MakeTask(cases, first, options));
    if (sweep.Serve())
    {
        return 0;
    }
    SayAssumptions(first.trace, first.cluster);
    ClusterOutputs outputs{{options.report, argc, argv}, std::nullopt, std::nullopt};
    if (!options.series.empty())
    {
        outputs.series.emplace("--series",
                               options.series,
                               ResultWriter::Format::CSV,
                               GetSlotColumns());
    }
    if (!options.jobRows.empty())
    {
        outputs.jobRows.emplace("--job-rows",
                                options.jobRows,
                                FindRowFormat(options.jobRows),
                                GetClusterJobColumns());
    }
    ReportTraces(cases, sweep, options, first, outputs);
    for (auto* file : {&outputs.series, &outputs.jobRows})
    {
        if (*file)
        {
            (*file)->Finish();
        }
    }
    outputs.page.Write();
    return 0;
}

void
AddOptions(ProgramOptions& parser, Options& options)
{
    options.cluster.AddTo(parser);
    options.ringRun.AddTo(parser);
    options.sweep.AddTo(parser, "processes");
    parser.Add("seeds", options.seeds, "average over so many seeds, from --seed on");
    parser.Add("format", options.format, "table, json, csv or gnuplot");
    parser.Add("series", options.series, "write a CSV time series of all runs to this file");
    parser.Add("job-rows", options.jobRows, "write a row for each job and run: FILE.json or CSV");
    parser.Add("report", options.report, "write a page with pictures to this HTML file");
    parser.Add("write-jobs", options.writeJobs, "write the jobs to this file, and do no more");
    parser.Add("run-slot", options.runSlot, "run the rings of this slot in ns-3 instead");
    parser.Add("check-guarantee",
               options.checkGuarantee,
               "compare GADGET with the offline optimum of so many tiny instances instead");
    parser.AddExample("--generate=40 --slots=300",
                      "play 40 generated jobs under GADGET and its rivals");
    parser.AddExample(
        "--generate=40 --slots=300 --objective=fair,0.5*progress+0.5*fair:1 --policy=gadget,las",
        "two policies, two objectives");
    parser.AddExample("--generate=20 --slots=100 --policy=gadget --run-slot=30 --most-bytes=1MiB",
                      "run the rings of one slot in ns-3");
}

void
CheckOptions(const ProgramOptions& parser, const Options& options)
{
    for (const std::string instead : {"check-guarantee", "write-jobs", "run-slot"})
    {
        parser.Exclude(instead, {"series", "job-rows", "seeds", "processes", "shard"});
    }
    parser.Exclude("check-guarantee", {"write-jobs",  "run-slot",      "topology",
                                       "degrade",     "mixed",         "gpus",
                                       "jobs",        "generate",      "policy",
                                       "objective",   "arrival-rate",  "arrival-speed",
                                       "gang",        "slots",         "slot-time",
                                       "move-cost",   "job-bandwidth", "collective-time",
                                       "trace-model", "reduce-rate",   "reservable",
                                       "contention",  "transport",     "share",
                                       "most-bytes",  "frame",         "iterations"});
    parser.Exclude("run-slot", {"collective-time"});
    parser.Exclude("write-jobs", {"run-slot", "report"});
    options.cluster.Check(parser);
    options.ringRun.Check();
    ParseFormat(options.format);
    if (options.seeds == 0)
    {
        FailInput("--seeds \"0\": expected 1 or more");
    }
}

int
Run(int argc, char* argv[])
{
    Options options;
    ProgramOptions parser("allreduce-cluster",
                          "Plays a trace of training jobs on a cluster under several policies.");
    AddOptions(parser, options);
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    CheckOptions(parser, options);
    if (options.checkGuarantee > 0 || !options.writeJobs.empty() || !options.runSlot.empty())
    {
        RequireOneProcess();
    }
    if (options.checkGuarantee > 0)
    {
        HtmlReport page(options.report, argc, argv);
        return ReportGuarantee(options, page) ? 0 : 1;
    }
    if (!options.writeJobs.empty())
    {
        WriteJobFile(options, JoinArguments(argc, argv));
        return 0;
    }
    if (!options.runSlot.empty())
    {
        HtmlReport page(options.report, argc, argv);
        ReportRings(options, page);
        return 0;
    }
    options.sweep.Check(parser);
    return PlayTraces(options, argc, argv);
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-cluster", [=] { return Run(argc, argv); });
}
