/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-job-rows.h"

#include <nlohmann/json.hpp>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

/// @return pairs of a slot and the workers from there on, 0 where a job pauses
nlohmann::ordered_json
MakeSteps(const std::vector<JobSpan>& spans)
{
    nlohmann::ordered_json steps = nlohmann::ordered_json::array();
    for (const JobSpan& span : spans)
    {
        const uint32_t workers = std::accumulate(span.workers.begin(), span.workers.end(), 0u);
        if (!steps.empty() && steps.back()[0] == span.firstSlot)
        {
            steps.erase(steps.size() - 1); // It did not pause.
        }
        if (steps.empty() || steps.back()[1] != workers)
        {
            steps.push_back({span.firstSlot, workers});
        }
        steps.push_back({span.lastSlot + 1, 0});
    }
    return steps;
}

/// @return the same as a text for CSV: "3:8 10:4 12:0"
std::string
MakeText(const nlohmann::ordered_json& steps)
{
    std::string text;
    for (const auto& step : steps)
    {
        text += (text.empty() ? "" : " ") + step[0].dump() + ":" + step[1].dump();
    }
    return text;
}

nlohmann::ordered_json
MakeJobRow(nlohmann::ordered_json row,
           const GpuCluster& cluster,
           const ClusterResult& result,
           JobId id)
{
    const JobState& state = result.jobs[id];
    const JobOutcome& outcome = result.outcomes[id];
    const auto times = FindJobTimes(cluster, result, id);
    const auto orNull = [](bool isKnown, double value) {
        return isKnown ? nlohmann::ordered_json(value) : nlohmann::ordered_json();
    };
    const double arrival = state.job->arrivalSlot * cluster.slotSeconds;
    const double start = outcome.firstSlot * cluster.slotSeconds;
    row["job"] = state.job->name;
    row["min_workers"] = state.job->minWorkers;
    row["max_workers"] = state.job->maxWorkers;
    row["iterations"] = state.iterations;
    row["target_iterations"] = state.job->targetIterations;
    row["arrival_s"] = arrival;
    row["start_s"] = orNull(outcome.hasRun, start);
    row["end_s"] = orNull(times.has_value(), outcome.endSeconds);
    row["waiting_s"] = orNull(outcome.hasRun, start - arrival);
    row["completion_s"] = orNull(times.has_value(), times ? times->completionSeconds : 0);
    row["slowdown"] = orNull(times.has_value(), times ? times->slowdown : 0);
    row["worker_slots"] = state.workerSlots;
    row["moves"] = outcome.nMoves;
    return row;
}

} // namespace

nlohmann::ordered_json
MakeClusterJobRows(const nlohmann::ordered_json& head,
                   const GpuCluster& cluster,
                   const ClusterResult& result,
                   const JobHistory& history)
{
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (JobId id = 0; id < result.jobs.size(); ++id)
    {
        rows.push_back(MakeJobRow(head, cluster, result, id));
        rows.back()["workers"] = MakeSteps(history.GetSpans(id));
        rows.back()["slot_workers"] = MakeText(rows.back()["workers"]);
    }
    return rows;
}

std::vector<ResultWriter::Column>
GetClusterJobColumns()
{
    return {{"objective", "", 0},
            {"policy", "", 0},
            {"seed", "", 0},
            {"job", "", 0},
            {"min_workers", "", 0},
            {"max_workers", "", 0},
            {"iterations", "", 0},
            {"target_iterations", "", 0},
            {"arrival_s", "", 0},
            {"start_s", "", 0},
            {"end_s", "", 0},
            {"waiting_s", "", 0},
            {"completion_s", "", 0},
            {"slowdown", "", 0},
            {"worker_slots", "", 0},
            {"moves", "", 0},
            {"slot_workers", "", 0}};
}

} // namespace ns3::allreduce
