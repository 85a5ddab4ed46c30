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
#include "cluster-options.h"
#include "cluster-rows.h"
#include "html-report.h"
#include "output-file.h"
#include "progress-line.h"
#include "result-writer.h"
#include "ring-experiment.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/cluster-simulation.h"
#include "ns3/gpu-cluster.h"
#include "ns3/guarantee-check.h"
#include "ns3/job-trace.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// What can be asked for.
struct Options
{
    ClusterOptions cluster;      //!< cluster, jobs, policies and objectives
    RingRunOptions ringRun;      //!< how rings are run in ns-3
    uint32_t seeds{1};           //!< how many seeds to average over
    std::string format{"table"}; //!< table, json, csv or gnuplot
    std::string series;          //!< where the time series go
    std::string report;          //!< where the page goes
    std::string writeJobs;       //!< where the jobs go
    std::string runSlot;         //!< the slot whose rings are run in ns-3
    uint32_t checkGuarantee{0};  //!< instances to compare with the optimum
};

/// Writes the time series of all runs into one CSV file.
class SeriesFile
{
  public:
    explicit SeriesFile(const std::string& path)
        : m_file("--series", path),
          m_writer(m_file.Get(), ResultWriter::Format::CSV, GetSlotColumns())
    {
    }

    void Add(const nlohmann::ordered_json& row)
    {
        m_writer.Add(row);
    }

    void Finish()
    {
        m_file.Finish();
    }

  private:
    OutputFile m_file;     //!< the file
    ResultWriter m_writer; //!< writes its rows
};

/// Where results go besides standard output.
struct Outputs
{
    std::optional<SeriesFile> series; //!< the time series, if they are wanted
    HtmlReport page;                  //!< the page
};

/// Plays traces and says how far it has come.
class Player
{
  public:
    Player(const Options& options, Outputs& outputs)
        : m_options(options),
          m_outputs(outputs),
          m_line("allreduce-cluster"),
          m_nRuns(options.seeds * options.cluster.objectives.size() *
                  options.cluster.ExpandPolicies().size())
    {
    }

    TraceRun Play(const GpuCluster& cluster,
                  const std::vector<Job>& jobs,
                  const std::string& objective,
                  const std::string& policyName,
                  uint64_t seed)
    {
        const auto begin = std::chrono::steady_clock::now();
        const auto policy = CreateClusterPolicy(policyName, seed);
        const auto utility = ParseUtility(objective);
        const uint32_t nSlots = m_options.cluster.slots;
        const nlohmann::ordered_json head = {{"objective", objective},
                                             {"policy", policyName},
                                             {"seed", seed}};
        auto result =
            PlayTrace(cluster, jobs, *utility, *policy, nSlots, [&](const SlotReport& report) {
                m_line.Show(objective + " " + policyName + " slot " + std::to_string(report.slot),
                            (m_nDone + double(report.slot) / nSlots) / m_nRuns);
                AddSlot(MakeSlotRow(head, report));
            });
        ++m_nDone;
        result.jobs.clear(); // They point to jobs that need not live on.
        const auto end = std::chrono::steady_clock::now();
        return {objective,
                policyName,
                seed,
                std::move(result),
                std::chrono::duration<double>(end - begin).count()};
    }

  private:
    void AddSlot(const nlohmann::ordered_json& row)
    {
        if (m_outputs.series)
        {
            m_outputs.series->Add(row);
        }
        m_outputs.page.AddClusterSlot(row);
    }

    const Options& m_options; //!< what was asked for
    Outputs& m_outputs;       //!< where the time series go
    ProgressLine m_line;      //!< says how far it has come
    double m_nRuns;           //!< how many there will be
    uint32_t m_nDone{0};      //!< how many there were
};

/// A slot in which nobody finishes an iteration is a mistake.
void
CheckSlotTime(const GpuCluster& cluster, const std::vector<Job>& jobs, const std::string& slotTime)
{
    const bool isLongEnough = std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) {
        const std::vector<uint32_t> rates = MakeJobState(cluster, job).rates;
        return *std::max_element(rates.begin(), rates.end()) > 0;
    });
    if (!isLongEnough)
    {
        FailInput("--slot-time ", Quote(slotTime), ": no job can finish an iteration in a slot");
    }
}

/// Every objective and policy with one seed: a row each.
void
ReportRuns(const Options& options, Outputs& outputs)
{
    const uint64_t seed = options.cluster.seed;
    const GpuCluster cluster = options.cluster.MakeCluster(seed);
    const std::vector<Job> jobs = options.cluster.MakeJobs(seed);
    CheckSlotTime(cluster, jobs, options.cluster.slotTime);
    ResultWriter writer(std::cout, ParseFormat(options.format), GetTraceColumns());
    writer.MakeRoom("objective", options.cluster.objectives);
    Player player(options, outputs);
    for (const std::string& objective : options.cluster.objectives)
    {
        for (const std::string& policy : options.cluster.ExpandPolicies())
        {
            const auto row =
                MakeTraceRow(cluster, player.Play(cluster, jobs, objective, policy, seed));
            writer.Add(row);
            outputs.page.AddRow(row);
        }
    }
}

/// Every objective and policy with several seeds: a row of means each.
void
ReportSpread(const Options& options, Outputs& outputs)
{
    ResultWriter writer(std::cout, ParseFormat(options.format), GetSpreadColumns());
    writer.MakeRoom("objective", options.cluster.objectives);
    Player player(options, outputs);
    const auto policies = options.cluster.ExpandPolicies();
    for (const std::string& objective : options.cluster.objectives)
    {
        std::map<std::string, std::vector<TraceRun>> runs;
        for (uint64_t i = 0; i < options.seeds; ++i)
        {
            const uint64_t seed = options.cluster.seed + i;
            const GpuCluster cluster = options.cluster.MakeCluster(seed);
            const std::vector<Job> jobs = options.cluster.MakeJobs(seed);
            for (const std::string& policy : policies)
            {
                runs[policy].push_back(player.Play(cluster, jobs, objective, policy, seed));
            }
        }
        const auto gadget = runs.find("gadget");
        for (const std::string& policy : policies)
        {
            const auto row =
                MakeSpreadRow(runs[policy], gadget == runs.end() ? nullptr : &gadget->second);
            writer.Add(row);
            outputs.page.AddRow(row);
        }
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
ReportRings(const Options& options)
{
    const uint64_t slot = ParseNumber(options.runSlot, "--run-slot");
    if (slot >= options.cluster.slots)
    {
        FailInput("--run-slot \"", slot, "\": expected less than ", options.cluster.slots);
    }
    const GpuCluster cluster = options.cluster.MakeCluster(options.cluster.seed);
    const std::vector<Job> jobs = options.cluster.MakeJobs(options.cluster.seed);
    ResultWriter writer(std::cout, ParseFormat(options.format), GetRingColumns());
    for (const std::string& policy : options.cluster.ExpandPolicies())
    {
        const auto rings = FindRings(cluster, jobs, options, policy, slot);
        const auto measurements = MeasureRings(cluster, jobs, rings, options.ringRun);
        for (const RingMeasurement& ring : measurements)
        {
            writer.Add(MakeRingRow(policy, ring, jobs[ring.ring.job].name));
        }
        if (measurements.empty())
        {
            std::cerr << "allreduce-cluster: " << policy << ": no ring of slot " << slot
                      << " spans several servers" << std::endl;
        }
    }
}

/// Compares GADGET with the offline optimum. @return whether all is as guaranteed
bool
ReportGuarantee(const Options& options)
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
    WriteJobs(options.cluster.MakeJobs(options.cluster.seed), command, file.Get());
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

int
Run(int argc, char* argv[])
{
    Options options;
    ProgramOptions parser("allreduce-cluster",
                          "Plays a trace of training jobs on a cluster under several policies.");
    options.cluster.AddTo(parser);
    options.ringRun.AddTo(parser);
    parser.Add("seeds", options.seeds, "average over so many seeds, from --seed on");
    parser.Add("format", options.format, "table, json, csv or gnuplot");
    parser.Add("series", options.series, "write a CSV time series of all runs to this file");
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
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    parser.Exclude("jobs", {"generate", "arrival-rate"});
    for (const std::string instead : {"check-guarantee", "write-jobs", "run-slot"})
    {
        parser.Exclude(instead, {"series", "report", "seeds"});
    }
    parser.Exclude("check-guarantee", {"write-jobs", "run-slot"});
    parser.Exclude("write-jobs", {"run-slot"});
    options.cluster.Check();
    options.ringRun.Check();
    ParseFormat(options.format);
    if (options.seeds == 0)
    {
        FailInput("--seeds \"0\": expected 1 or more");
    }
    if (options.checkGuarantee > 0)
    {
        return ReportGuarantee(options) ? 0 : 1;
    }
    if (!options.writeJobs.empty())
    {
        WriteJobFile(options, JoinArguments(argc, argv));
        return 0;
    }
    if (!options.runSlot.empty())
    {
        ReportRings(options);
        return 0;
    }
    Outputs outputs{std::nullopt, {options.report, argc, argv}};
    if (!options.series.empty())
    {
        outputs.series.emplace(options.series);
    }
    (options.seeds == 1 ? ReportRuns : ReportSpread)(options, outputs);
    if (outputs.series)
    {
        outputs.series->Finish();
    }
    outputs.page.Write();
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-cluster", [=] { return Run(argc, argv); });
}
