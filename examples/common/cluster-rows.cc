/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-rows.h"

#include "ns3/cluster-metrics.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace ns3::allreduce
{

namespace
{

/// Mean and spread of some numbers.
struct Spread
{
    double mean{0};      //!< their mean
    double deviation{0}; //!< their standard deviation

    explicit Spread(const std::vector<double>& numbers)
    {
        double squares = 0;
        for (const double number : numbers)
        {
            mean += number / numbers.size();
        }
        for (const double number : numbers)
        {
            squares += std::pow(number - mean, 2);
        }
        deviation = numbers.size() > 1 ? std::sqrt(squares / (numbers.size() - 1)) : 0;
    }
};

/// @return a column of some rows, of those that have a number there
std::vector<double>
GetNumbers(const std::vector<nlohmann::ordered_json>& rows, const std::string& key)
{
    std::vector<double> numbers;
    for (const nlohmann::ordered_json& row : rows)
    {
        if (!row.at(key).is_null())
        {
            numbers.push_back(row.at(key));
        }
    }
    return numbers;
}

/// A unit of time in tables.
struct TimeUnit
{
    const char* name; //!< in titles
    int decimals;     //!< of numbers
    double scale;     //!< how much of it a second is
};

/// @return the unit in which times up to some seconds can be read
TimeUnit
ChooseTimeUnit(double seconds)
{
    constexpr double DAY = 86400;
    return seconds < 10 * DAY ? TimeUnit{"s", 0, 1} : TimeUnit{"days", 2, 1 / DAY};
}

/// @return a column of times
ResultWriter::Column
MakeTimeColumn(const char* key, const std::string& title, const TimeUnit& unit)
{
    const std::string full = title + " " + unit.name;
    return {key, full, std::max<std::size_t>(8, full.size()), unit.decimals, unit.scale};
}

} // namespace

nlohmann::ordered_json
MakeTraceRow(const GpuCluster& cluster, const TraceRun& run)
{
    const ClusterResult& result = run.result;
    const ClusterMetrics metrics = MeasureCluster(cluster, result);
    const bool hasGuarantee = result.guaranteedShare > 0;
    const auto ofFinished = [&](double value) { // nobody has taken 0 s
        return result.nFinished > 0 ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
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
        {"completion_mean_s", ofFinished(metrics.completion.mean)},
        {"completion_median_s", ofFinished(metrics.completion.median)},
        {"completion_p95_s", ofFinished(metrics.completion.p95)},
        {"completion_p99_s", ofFinished(metrics.completion.p99)},
        {"waiting_mean_s", metrics.waiting.mean},
        {"slowdown_mean", ofFinished(metrics.slowdown.mean)},
        {"slowdown_p95", ofFinished(metrics.slowdown.p95)},
        {"last_end_s", metrics.lastEndSeconds},
        {"makespan_s",
         metrics.makespan ? nlohmann::ordered_json(*metrics.makespan) : nlohmann::ordered_json()},
        {"utilization", metrics.utilization},
        {"gpu_use", result.meanGpuUse},
        {"link_use", result.meanLinkUse},
        {"fairness", result.fairness},
        {"moves", result.nMoves},
        {"cost", result.workerSlotCost},
        {"remark", result.remark},
        {"checked", true},
        {"wall_s", run.wallSeconds}};
}

std::vector<ResultWriter::Column>
GetTraceColumns(bool hasSeed, double playedSeconds)
{
    const TimeUnit unit = ChooseTimeUnit(playedSeconds);
    std::vector<ResultWriter::Column> columns = {
        {"objective", "objective", 12},
        {"policy", "policy", 8},
        {"jobs", "jobs", 6},
        {"finished", "finished", 8},
        {"utility", "utility", 10, 3},
        {"mean_utility", "mean utility", 12, 3},
        {"guaranteed_mean_share", "guaranteed", 10, 3},
        MakeTimeColumn("completion_mean_s", "completion", unit),
        MakeTimeColumn("completion_median_s", "median", unit),
        MakeTimeColumn("completion_p95_s", "p95", unit),
        MakeTimeColumn("completion_p99_s", "p99", unit),
        MakeTimeColumn("makespan_s", "makespan", unit),
        {"utilization", "GPUs used %", 11, 1, 100},
        {"link_use", "link use %", 10, 1, 100},
        {"fairness", "fairness", 8, 3},
        {"moves", "moves", 7},
        {"checked", "checked", 7},
        {"wall_s", "wall s", 7, 2}};
    if (hasSeed)
    {
        columns.insert(columns.begin() + 2, {"seed", "seed", 4});
    }
    return columns;
}

nlohmann::ordered_json
MakeSpreadRow(const std::vector<nlohmann::ordered_json>& runs,
              const std::vector<nlohmann::ordered_json>* gadget)
{
    const Spread utility(GetNumbers(runs, "utility"));
    const Spread mean(GetNumbers(runs, "mean_utility"));
    const auto average = [&](const char* key) {
        const std::vector<double> numbers = GetNumbers(runs, key);
        return numbers.empty() ? nlohmann::ordered_json()
                               : nlohmann::ordered_json(Spread(numbers).mean);
    };
    nlohmann::ordered_json row = {{"objective", runs.front().at("objective")},
                                  {"policy", runs.front().at("policy")},
                                  {"seeds", runs.size()},
                                  {"finished", average("finished")},
                                  {"utility", utility.mean},
                                  {"utility_deviation", utility.deviation},
                                  {"mean_utility", mean.mean},
                                  {"mean_utility_deviation", mean.deviation},
                                  {"gadget_above", nullptr},
                                  {"gadget_gain", nullptr},
                                  {"gadget_gain_deviation", nullptr},
                                  {"completion_mean_s", average("completion_mean_s")},
                                  {"gpu_use", average("gpu_use")},
                                  {"link_use", average("link_use")},
                                  {"fairness", average("fairness")},
                                  {"moves", average("moves")},
                                  {"checked", true}};
    if (gadget && gadget != &runs)
    {
        // The same jobs in both: their differences spread less than the utilities do.
        std::vector<double> differences = GetNumbers(*gadget, "mean_utility");
        const std::vector<double> others = GetNumbers(runs, "mean_utility");
        uint32_t nAbove = 0;
        for (std::size_t i = 0; i < others.size(); ++i)
        {
            differences[i] -= others[i];
            nAbove += differences[i] > 0;
        }
        const Spread gain(differences);
        row["gadget_above"] = nAbove;
        row["gadget_gain"] = gain.mean;
        row["gadget_gain_deviation"] = gain.deviation;
    }
    return row;
}

std::vector<ResultWriter::Column>
GetSpreadColumns(double playedSeconds)
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
            MakeTimeColumn("completion_mean_s", "completion", ChooseTimeUnit(playedSeconds)),
            {"gpu_use", "GPU use %", 9, 1, 100},
            {"fairness", "fairness", 8, 3},
            {"checked", "checked", 7}};
}

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

std::vector<ResultWriter::Column>
GetSlotColumns()
{
    return {{"objective", "", 0},
            {"policy", "", 0},
            {"seed", "", 0},
            {"slot", "", 0},
            {"active", "", 0},
            {"running", "", 0},
            {"finished", "", 0},
            {"gpu_use", "", 0},
            {"link_use", "", 0},
            {"gain", "", 0},
            {"utility", "", 0}};
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
            {"queue_peak", ring.queuePeak},
            {"dropped", ring.nDropped},
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
            {"together_iteration_s", "together s", 10, 6},
            {"queue_peak", "queue pkts", 10},
            {"dropped", "dropped", 7}};
}

nlohmann::ordered_json
MakeGuaranteeRow(const GuaranteeReport& report)
{
    return {{"instances", report.nInstances},
            {"worst_ratio", report.worstRatio},
            {"mean_ratio", report.meanRatio},
            {"worst_mean_ratio", report.worstMeanRatio},
            {"mean_mean_ratio", report.meanMeanRatio},
            {"worst_guaranteed", report.worstGuaranteed},
            {"mean_guaranteed", report.meanGuaranteed},
            {"roomy_instances", report.nRoomy},
            {"gang_instances", report.nGangs},
            {"moving_instances", report.nMoving},
            {"worst_roomy_slot", report.worstRoomySlotShare},
            {"violations", report.violations.size()}};
}

std::vector<ResultWriter::Column>
GetGuaranteeColumns()
{
    return {{"instances", "instances", 9},
            {"worst_ratio", "worst", 6, 3},
            {"mean_ratio", "mean", 6, 3},
            {"worst_mean_ratio", "worst (mean utility)", 20, 3},
            {"mean_mean_ratio", "mean (mean utility)", 19, 3},
            {"worst_guaranteed", "worst guaranteed", 16, 3},
            {"mean_guaranteed", "mean guaranteed", 15, 3},
            {"roomy_instances", "roomy", 5},
            {"gang_instances", "gangs", 5},
            {"moving_instances", "move costs", 10},
            {"worst_roomy_slot", "worst roomy slot", 16, 3},
            {"violations", "violations", 10}};
}

} // namespace ns3::allreduce
