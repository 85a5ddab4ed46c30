/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Plays a trace of training jobs on a cluster under GADGET and simpler policies; compares what they
 * reach; runs the rings of a slot in ns-3.
 */

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-program-options.h"
#include "ns3/allreduce-units.h"
#include "ns3/cluster-options.h"
#include "ns3/cluster-simulation.h"
#include "ns3/guarantee-check.h"
#include "ns3/html-report.h"
#include "ns3/job-trace.h"
#include "ns3/progress-line.h"
#include "ns3/result-writer.h"
#include "ns3/ring-experiment.h"

#include <chrono>
#include <cmath>
#include <fstream>
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

/// A file that must be written to its end.
class OutputFile
{
  public:
    OutputFile(const std::string& option, const std::string& path)
        : m_option(option),
          m_path(path),
          m_out(path)
    {
        CheckState();
    }

    std::ofstream& Get()
    {
        return m_out;
    }

    void Finish()
    {
        m_out.flush();
        CheckState();
    }

  private:
    void CheckState() const
    {
        if (!m_out)
        {
            FailInput(m_option, ": file ", m_path, " cannot be written");
        }
    }

    std::string m_option; //!< who asked for it
    std::string m_path;   //!< where it is
    std::ofstream m_out;  //!< the file
};

/// Writes the time series of all runs into one CSV file.
class SeriesFile
{
  public:
    explicit SeriesFile(const std::string& path)
        : m_file("--series", path),
          m_writer(m_file.Get(),
                   ResultWriter::Format::CSV,
                   {{"objective", "", 0},
                    {"policy", "", 0},
                    {"seed", "", 0},
                    {"slot", "", 0},
                    {"active", "", 0},
                    {"running", "", 0},
                    {"finished", "", 0},
                    {"gpu_use", "", 0},
                    {"link_use", "", 0},
                    {"gain", "", 0},
                    {"utility", "", 0}})
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

/// @return a line of a time series
nlohmann::ordered_json
MakeSlotRow(nlohmann::ordered_json row, const SlotReport& report)
{
    row["slot"] = report.slot;
    row["active"] = report.nActive;
    row["running"] = report.runs.size();
    row["finished"] = report.nFinished;
    row["gpu_use"] = report.gpuUse;
    row["link_use"] = report.linkUse;
    row["gain"] = report.gain;
    row["utility"] = report.utility;
    return row;
}

/// One trace under one policy.
struct TraceRun
{
    std::string objective; //!< what progress is worth
    std::string policy;    //!< who allocates
    uint64_t seed;         //!< of cluster and jobs
    ClusterResult result;  //!< what came out
    double wallSeconds;    //!< how long it took
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

nlohmann::ordered_json
MakeRow(const GpuCluster& cluster, const TraceRun& run)
{
    const ClusterResult& result = run.result;
    const bool hasGuarantee = result.guaranteedShare > 0;
    return {
        {"topology", cluster.topology.GetName()},
        {"servers", cluster.topology.GetNServers()},
        {"gpus", cluster.GetNGpus()},
        {"objective", run.objective},
        {"policy", run.policy},
        {"seed", run.seed},
        {"jobs", result.nJobs},
        {"finished", result.nFinished},
        {"utility", result.utility},
        {"mean_utility", result.meanUtility},
        {"guaranteed_share",
         hasGuarantee ? nlohmann::ordered_json(result.guaranteedShare) : nlohmann::ordered_json()},
        {"guaranteed_mean_share",
         hasGuarantee ? nlohmann::ordered_json(result.guaranteedMeanShare)
                      : nlohmann::ordered_json()},
        {"completion_slots", result.meanCompletionSlots},
        {"p95_completion_slots", result.p95CompletionSlots},
        {"last_end_slot", result.lastEndSlot},
        {"gpu_use", result.meanGpuUse},
        {"link_use", result.meanLinkUse},
        {"fairness", result.fairness},
        {"moves", result.nMoves},
        {"cost", result.workerSlotCost},
        {"checked", true},
        {"wall_s", run.wallSeconds}};
}

std::vector<ResultWriter::Column>
GetColumns()
{
    return {{"objective", "objective", 12},
            {"policy", "policy", 8},
            {"jobs", "jobs", 6},
            {"finished", "finished", 8},
            {"utility", "utility", 10, 3},
            {"mean_utility", "mean utility", 12, 3},
            {"guaranteed_mean_share", "guaranteed", 10, 3},
            {"completion_slots", "completion", 10, 2},
            {"p95_completion_slots", "p95", 7, 1},
            {"gpu_use", "GPU use", 7, 3},
            {"link_use", "link use", 8, 3},
            {"fairness", "fairness", 8, 3},
            {"moves", "moves", 7},
            {"checked", "checked", 7},
            {"wall_s", "wall s", 7, 2}};
}

/// Mean and spread of some numbers.
struct Spread
{
    double mean{0};      //!< their mean
    double deviation{0}; //!< their standard deviation

    template <typename Get>
    Spread(const std::vector<TraceRun>& runs, Get get)
    {
        double squares = 0;
        for (const TraceRun& run : runs)
        {
            mean += double(get(run.result)) / runs.size();
        }
        for (const TraceRun& run : runs)
        {
            squares += std::pow(get(run.result) - mean, 2);
        }
        deviation = runs.size() > 1 ? std::sqrt(squares / (runs.size() - 1)) : 0;
    }
};

/// @return one row for the runs of a policy with all seeds
nlohmann::ordered_json
MakeSpreadRow(const std::vector<TraceRun>& runs, const std::vector<TraceRun>* gadget)
{
    const Spread utility(runs, [](const auto& result) { return result.utility; });
    const Spread mean(runs, [](const auto& result) { return result.meanUtility; });
    const auto average = [&](auto get) { return Spread(runs, get).mean; };
    nlohmann::ordered_json row = {
        {"objective", runs.front().objective},
        {"policy", runs.front().policy},
        {"seeds", runs.size()},
        {"finished", average([](const auto& result) { return result.nFinished; })},
        {"utility", utility.mean},
        {"utility_deviation", utility.deviation},
        {"mean_utility", mean.mean},
        {"mean_utility_deviation", mean.deviation},
        {"gadget_above", nullptr},
        {"gadget_gain", nullptr},
        {"gadget_gain_deviation", nullptr},
        {"completion_slots",
         average([](const auto& result) { return result.meanCompletionSlots; })},
        {"gpu_use", average([](const auto& result) { return result.meanGpuUse; })},
        {"link_use", average([](const auto& result) { return result.meanLinkUse; })},
        {"fairness", average([](const auto& result) { return result.fairness; })},
        {"moves", average([](const auto& result) { return result.nMoves; })},
        {"checked", true}};
    if (gadget && gadget != &runs)
    {
        // The same jobs in both: their differences spread less than the utilities do.
        std::vector<TraceRun> differences = runs;
        uint32_t nAbove = 0;
        for (std::size_t i = 0; i < runs.size(); ++i)
        {
            double& difference = differences[i].result.meanUtility;
            difference = (*gadget)[i].result.meanUtility - difference;
            nAbove += difference > 0;
        }
        const Spread gain(differences, [](const auto& result) { return result.meanUtility; });
        row["gadget_above"] = nAbove;
        row["gadget_gain"] = gain.mean;
        row["gadget_gain_deviation"] = gain.deviation;
    }
    return row;
}

std::vector<ResultWriter::Column>
GetSpreadColumns()
{
    return {{"objective", "objective", 12},
            {"policy", "policy", 8},
            {"seeds", "seeds", 5},
            {"finished", "finished", 8, 1},
            {"utility", "utility", 9, 3},
            {"utility_deviation", "+-", 7, 3},
            {"mean_utility", "mean utility", 12, 3},
            {"mean_utility_deviation", "+-", 7, 3},
            {"gadget_gain", "GADGET has", 10, 3},
            {"gadget_gain_deviation", "+-", 7, 3},
            {"gadget_above", "more in", 7},
            {"completion_slots", "completion", 10, 2},
            {"gpu_use", "GPU use", 7, 3},
            {"fairness", "fairness", 8, 3},
            {"checked", "checked", 7}};
}

/// Every objective and policy with one seed: a row each.
void
ReportRuns(const Options& options, Outputs& outputs)
{
    const uint64_t seed = options.cluster.seed;
    const GpuCluster cluster = options.cluster.MakeCluster(seed);
    const std::vector<Job> jobs = options.cluster.MakeJobs(seed);
    ResultWriter writer(std::cout, ParseFormat(options.format), GetColumns());
    Player player(options, outputs);
    for (const std::string& objective : options.cluster.objectives)
    {
        for (const std::string& policy : options.cluster.ExpandPolicies())
        {
            const auto row = MakeRow(cluster, player.Play(cluster, jobs, objective, policy, seed));
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

nlohmann::ordered_json
MakeRingRow(const std::string& policy, const RingMeasurement& ring, const std::string& name)
{
    return {{"policy", policy},
            {"job", name},
            {"workers", ring.ring.GetNWorkers()},
            {"ring_servers", ring.ring.servers.size()},
            {"bytes", ring.gradientBytes},
            {"bandwidth_gbps", 1e-9 * ring.bandwidthBps},
            {"rings_on_link", ring.nRingsOnLink},
            {"analytical_transfer_s", ring.analyticalTransfer},
            {"alone_transfer_s", ring.aloneTransfer},
            {"together_transfer_s", ring.togetherTransfer},
            {"alone_ratio", ring.aloneTransfer / ring.analyticalTransfer},
            {"together_ratio", ring.togetherTransfer / ring.analyticalTransfer},
            {"contention", ring.togetherTransfer / ring.aloneTransfer},
            {"analytical_iteration_s", ring.analyticalIteration},
            {"alone_iteration_s", ring.aloneIteration},
            {"together_iteration_s", ring.togetherIteration},
            {"paths", ring.ring.paths}};
}

std::vector<ResultWriter::Column>
GetRingColumns()
{
    return {{"policy", "policy", 8},
            {"job", "job", 9},
            {"workers", "workers", 7},
            {"ring_servers", "servers", 7},
            {"bandwidth_gbps", "Gb/s", 6, 2},
            {"rings_on_link", "on link", 7},
            {"analytical_transfer_s", "transfer s", 10, 6},
            {"alone_transfer_s", "alone s", 10, 6},
            {"alone_ratio", "ratio", 6, 3},
            {"together_transfer_s", "together s", 10, 6},
            {"together_ratio", "ratio", 6, 3},
            {"contention", "contention", 10, 3},
            {"analytical_iteration_s", "iteration s", 11, 6},
            {"together_iteration_s", "together s", 10, 6}};
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
    ResultWriter writer(std::cout,
                        ParseFormat(options.format),
                        {{"instances", "instances", 9},
                         {"worst_ratio", "worst", 6, 3},
                         {"mean_ratio", "mean", 6, 3},
                         {"worst_mean_ratio", "worst (mean utility)", 20, 3},
                         {"mean_mean_ratio", "mean (mean utility)", 19, 3},
                         {"worst_guaranteed", "worst guaranteed", 16, 3},
                         {"mean_guaranteed", "mean guaranteed", 15, 3},
                         {"roomy_instances", "roomy", 5},
                         {"worst_roomy_slot", "worst roomy slot", 16, 3},
                         {"violations", "violations", 10}});
    writer.Add({{"instances", report.nInstances},
                {"worst_ratio", report.worstRatio},
                {"mean_ratio", report.meanRatio},
                {"worst_mean_ratio", report.worstMeanRatio},
                {"mean_mean_ratio", report.meanMeanRatio},
                {"worst_guaranteed", report.worstGuaranteed},
                {"mean_guaranteed", report.meanGuaranteed},
                {"roomy_instances", report.nRoomy},
                {"worst_roomy_slot", report.worstRoomySlotShare},
                {"violations", report.violations.size()}});
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
                          "plays a trace of training jobs on a cluster under several policies");
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
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
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
