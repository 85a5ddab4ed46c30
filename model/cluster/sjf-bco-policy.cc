/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sjf-bco-policy.h"

#include "cluster-metrics.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace ns3::allreduce
{

SjfBcoPolicy::SjfBcoPolicy(uint32_t threshold)
    : m_threshold(threshold)
{
}

void
SjfBcoPolicy::AddJob(JobId job)
{
    ClusterPolicy::AddJob(job);
    if (GetState(job).job->minWorkers > m_world.placement->GetNGpus())
    {
        return; // It can never run.
    }
    const auto size = [this](JobId id) {
        const JobState& state = GetState(id);
        const uint32_t workers = GetRequest(id);
        const double slots =
            double(state.job->targetIterations) / std::max(1u, state.rates[workers]);
        return std::make_tuple(workers, slots, id);
    };
    const auto place =
        std::upper_bound(m_waiting.begin(), m_waiting.end(), job, [&](JobId x, JobId y) {
            return size(x) < size(y);
        });
    m_waiting.insert(place, job);
}

void
SjfBcoPolicy::Allocate(uint32_t slot)
{
    if (!m_threshold)
    {
        m_threshold = FindThreshold();
    }
    const auto isPlaced = [this](JobId job) {
        RingPlacement& placement = *m_world.placement;
        const uint32_t workers = GetRequest(job);
        return workers <= placement.GetNFreeGpus() &&
               (placement.PlaceOn(job, ChooseServers(workers), 0) ||
                placement.Place(job, workers, 0));
    };
    // Whoever is larger than one that has to wait has to wait, too.
    const auto end = std::find_if_not(m_waiting.begin(), m_waiting.end(), isPlaced);
    m_waiting.erase(m_waiting.begin(), end);
}

std::string
SjfBcoPolicy::GetRemark() const
{
    return m_threshold ? "threshold " + std::to_string(*m_threshold) : "";
}

uint32_t
SjfBcoPolicy::GetRequest(JobId job) const
{
    return std::min(GetState(job).job->maxWorkers, m_world.placement->GetNGpus());
}

/// Plays the trace with every threshold. @return the best one
uint32_t
SjfBcoPolicy::FindThreshold() const
{
    const auto& gpus = m_world.cluster->gpus;
    const uint32_t largest = *std::max_element(gpus.begin(), gpus.end());
    std::vector<Job> jobs;
    std::set<uint32_t> sizes;
    for (const JobState& state : *m_world.jobs)
    {
        jobs.push_back(*state.job);
        // What no server has room for is never packed.
        sizes.insert(std::min(GetRequest(jobs.size() - 1), largest));
    }
    sizes.insert(0); // Every ring takes the servers with most room.
    if (sizes.size() == 2)
    {
        return *sizes.rbegin();
    }
    std::set<std::tuple<uint32_t, double, double, uint32_t>> outcomes;
    uint32_t nSlots = m_world.nSlots;
    for (const uint32_t size : sizes)
    {
        SjfBcoPolicy policy(size);
        const ClusterResult result =
            TryTrace(*m_world.cluster, jobs, *m_world.utility, policy, nSlots);
        const ClusterMetrics metrics = MeasureCluster(*m_world.cluster, result);
        if (metrics.makespan)
        {
            // Whoever has not finished by then is worse.
            nSlots = 1 + *metrics.makespan / m_world.cluster->slotSeconds;
        }
        outcomes.emplace(result.nJobs - result.nFinished,
                         metrics.lastEndSeconds,
                         metrics.completion.mean,
                         size);
    }
    return std::get<3>(*outcomes.begin());
}

std::vector<ServerShare>
SjfBcoPolicy::ChooseServers(uint32_t workers) const
{
    const RingPlacement& placement = *m_world.placement;
    if (workers <= *m_threshold)
    {
        if (const auto server = placement.FindTightest(workers))
        {
            return {{*server, workers}};
        }
    }
    std::vector<ServerShare> shares;
    for (const NodeId server : placement.FindRoomiest(m_world.cluster->gpus.size()))
    {
        const uint32_t share = std::min(workers, placement.GetNFreeGpus(server));
        shares.push_back({server, share});
        workers -= share;
        if (workers == 0)
        {
            break;
        }
    }
    return shares;
}

} // namespace ns3::allreduce
