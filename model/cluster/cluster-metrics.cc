/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

/// @return the least number that is not smaller than a share of all
double
GetQuantile(const std::vector<double>& ascending, double share)
{
    const auto rank = static_cast<std::size_t>(std::ceil(share * ascending.size()));
    return ascending[std::clamp<std::size_t>(rank, 1, ascending.size()) - 1];
}

/// @return seconds that a job takes if it has the cluster to itself
double
GetTimeAlone(const GpuCluster& cluster, const JobState& state)
{
    const uint32_t best = *std::max_element(state.rates.begin(), state.rates.end());
    return double(state.job->targetIterations) / best * cluster.slotSeconds;
}

} // namespace

std::optional<JobTimes>
FindJobTimes(const GpuCluster& cluster, const ClusterResult& result, JobId job)
{
    const JobState& state = result.jobs[job];
    const JobOutcome& outcome = result.outcomes[job];
    if (!state.IsFinished())
    {
        return std::nullopt;
    }
    JobTimes times;
    times.arrivalSeconds = state.job->arrivalSlot * cluster.slotSeconds;
    times.startSeconds = outcome.firstSlot * cluster.slotSeconds;
    times.endSeconds = outcome.endSeconds;
    times.waitingSeconds = times.startSeconds - times.arrivalSeconds;
    times.completionSeconds = times.endSeconds - times.arrivalSeconds;
    times.slowdown = times.completionSeconds / GetTimeAlone(cluster, state);
    return times;
}

Distribution
Summarize(std::vector<double> numbers)
{
    if (numbers.empty())
    {
        return {};
    }
    std::sort(numbers.begin(), numbers.end());
    return {std::accumulate(numbers.begin(), numbers.end(), 0.0) / numbers.size(),
            GetQuantile(numbers, 0.5),
            GetQuantile(numbers, 0.95),
            GetQuantile(numbers, 0.99)};
}

ClusterMetrics
MeasureCluster(const GpuCluster& cluster, const ClusterResult& result)
{
    ClusterMetrics metrics;
    std::vector<double> waiting;
    std::vector<double> slowdown;
    for (JobId job = 0; job < result.jobs.size(); ++job)
    {
        if (const auto times = FindJobTimes(cluster, result, job))
        {
            metrics.completionTimes.push_back(times->completionSeconds);
            waiting.push_back(times->waitingSeconds);
            slowdown.push_back(times->slowdown);
            metrics.lastEndSeconds = std::max(metrics.lastEndSeconds, times->endSeconds);
        }
    }
    std::sort(metrics.completionTimes.begin(), metrics.completionTimes.end());
    metrics.completion = Summarize(metrics.completionTimes);
    metrics.waiting = Summarize(std::move(waiting));
    metrics.slowdown = Summarize(std::move(slowdown));
    if (result.nFinished == result.nJobs)
    {
        metrics.makespan = metrics.lastEndSeconds;
        metrics.utilization = result.gpuSeconds / (cluster.GetNGpus() * metrics.lastEndSeconds);
    }
    else
    {
        metrics.utilization = result.meanGpuUse;
    }
    return metrics;
}

std::vector<std::pair<double, double>>
MakeCdf(const std::vector<double>& ascending, std::size_t nPoints)
{
    const std::size_t n = ascending.size();
    const std::size_t nShown = std::min(n, nPoints);
    std::vector<std::pair<double, double>> points;
    for (std::size_t i = 1; i <= nShown; ++i)
    {
        const std::size_t rank = i * n / nShown;
        points.emplace_back(ascending[rank - 1], double(rank) / n);
    }
    return points;
}

} // namespace ns3::allreduce
