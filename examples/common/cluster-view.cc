/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-view.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

constexpr std::size_t CDF_POINTS = 200;
constexpr NodeId MOST_SERVERS = 32;
constexpr std::size_t MOST_BARS = 2000;

/// Workers of a job on a server for some slots.
struct Bar
{
    uint32_t firstSlot; //!< the first of them
    uint32_t lastSlot;  //!< the last of them
    NodeId server;      //!< where
    uint32_t workers;   //!< how many
    JobId job;          //!< whose

    /// @return whether it begins before another
    bool operator<(const Bar& other) const
    {
        return std::tie(firstSlot, server, job) <
               std::tie(other.firstSlot, other.server, other.job);
    }
};

std::vector<Bar>
FindBars(std::size_t nJobs, const JobHistory& history)
{
    std::vector<Bar> bars;
    for (JobId job = 0; job < nJobs; ++job)
    {
        for (const JobSpan& span : history.GetSpans(job))
        {
            for (std::size_t i = 0; i < span.servers.size(); ++i)
            {
                if (span.servers[i] < MOST_SERVERS)
                {
                    bars.push_back(
                        {span.firstSlot, span.lastSlot, span.servers[i], span.workers[i], job});
                }
            }
        }
    }
    std::sort(bars.begin(), bars.end());
    return bars;
}

} // namespace

nlohmann::ordered_json
MakeClusterView(nlohmann::ordered_json view,
                const GpuCluster& cluster,
                const ClusterResult& result,
                const JobHistory& history)
{
    const ClusterMetrics metrics = MeasureCluster(cluster, result);
    const std::vector<Bar> bars = FindBars(result.jobs.size(), history);
    const std::size_t nShown = std::min(bars.size(), MOST_BARS);
    view["slot_s"] = cluster.slotSeconds;
    view["finished"] = result.nFinished;
    view["completion_cdf"] = MakeCdf(metrics.completionTimes, CDF_POINTS);
    const std::size_t nServers = std::min<std::size_t>(cluster.gpus.size(), MOST_SERVERS);
    view["gpus"] = std::vector<uint32_t>(cluster.gpus.begin(), cluster.gpus.begin() + nServers);
    view["bars_left_out"] = bars.size() - nShown;
    view["bars"] = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < nShown; ++i)
    {
        const Bar& bar = bars[i];
        view["bars"].push_back(
            {result.jobs[bar.job].job->name, bar.server, bar.workers, bar.firstSlot, bar.lastSlot});
    }
    return view;
}

} // namespace ns3::allreduce
