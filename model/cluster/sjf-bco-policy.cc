/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sjf-bco-policy.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

/// Up to so many workers a ring is small: it fits into the follow-up's smallest server.
constexpr uint32_t SMALL_RING = 4;

} // namespace

uint32_t
SjfBcoPolicy::GetRequest(JobId job) const
{
    return std::min(GetState(job).job->maxWorkers, m_world.placement->GetNGpus());
}

void
SjfBcoPolicy::AddJob(JobId job)
{
    ClusterPolicy::AddJob(job);
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

std::vector<ServerShare>
SjfBcoPolicy::ChooseServers(uint32_t workers) const
{
    const RingPlacement& placement = *m_world.placement;
    const auto& gpus = m_world.cluster->gpus;
    std::vector<NodeId> servers(gpus.size());
    std::iota(servers.begin(), servers.end(), 0);
    std::stable_sort(servers.begin(), servers.end(), [&](NodeId x, NodeId y) {
        const uint32_t freeX = placement.GetNFreeGpus(x);
        const uint32_t freeY = placement.GetNFreeGpus(y);
        return workers > SMALL_RING ? freeX > freeY : freeX < freeY;
    });
    // A small ring is split only if no server has room for all of it.
    const auto whole = std::find_if(servers.begin(), servers.end(), [&](NodeId server) {
        return placement.GetNFreeGpus(server) >= workers;
    });
    if (workers <= SMALL_RING && whole != servers.end())
    {
        return {{*whole, workers}};
    }
    std::vector<ServerShare> shares;
    for (const NodeId server : servers)
    {
        const uint32_t share = std::min(workers, placement.GetNFreeGpus(server));
        if (share > 0)
        {
            shares.push_back({server, share});
            workers -= share;
        }
    }
    return shares;
}

} // namespace ns3::allreduce
