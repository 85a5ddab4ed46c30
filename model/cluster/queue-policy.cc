/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "queue-policy.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Gives a job the largest useful ring that fits on one server, if there is room at all.
void
PlaceOnOneServer(const ClusterPolicy::World& world, JobId job, uint32_t limit)
{
    const JobState& state = (*world.jobs)[job];
    uint32_t workers = state.FindUsefulWorkers(limit);
    while (workers > 0 && !world.placement->Place(job, workers, state.job->bandwidthBps))
    {
        workers = state.FindUsefulWorkers(workers / 2);
    }
}

} // namespace

void
PlaceRings(const ClusterPolicy::World& world,
           const std::vector<RingSize>& sizes,
           const std::vector<JobId>& queue)
{
    RingPlacement& placement = *world.placement;
    for (const RingSize& refused : ResizeRings(placement, *world.jobs, sizes))
    {
        PlaceOnOneServer(world, refused.job, refused.workers / 2);
    }
    for (auto job = queue.begin(); job != queue.end() && placement.GetNFreeGpus() > 0; ++job)
    {
        if (!placement.Find(*job))
        {
            PlaceOnOneServer(world, *job, placement.GetNFreeGpus());
        }
    }
}

QueuePolicy::QueuePolicy(Order order, uint64_t seed)
    : m_order(order),
      m_random(seed)
{
}

/// @return the number by which jobs are ordered, the least first
double
QueuePolicy::GetKey(JobId job)
{
    const JobState& state = GetState(job);
    switch (m_order)
    {
    case Order::ARRIVAL:
        return state.job->arrivalSlot;
    case Order::REMAINING:
        return state.GetRemaining() * (state.job->forwardSeconds + state.job->backwardSeconds +
                                       state.job->overheadSeconds);
    case Order::ATTAINED:
        return state.workerSlots;
    case Order::RANDOM:
        return m_random();
    }
    return 0;
}

std::vector<JobId>
QueuePolicy::MakeQueue()
{
    std::vector<std::pair<double, JobId>> keyed;
    for (const JobId job : m_active)
    {
        keyed.emplace_back(GetKey(job), job);
    }
    std::sort(keyed.begin(), keyed.end());
    std::vector<JobId> queue;
    for (const auto& [key, job] : keyed)
    {
        queue.push_back(job);
    }
    return queue;
}

void
QueuePolicy::Allocate(uint32_t slot)
{
    const std::vector<JobId> queue = MakeQueue();
    std::vector<RingSize> sizes;
    uint32_t budget = m_world.placement->GetNGpus();
    for (auto job = queue.begin(); job != queue.end() && budget > 0; ++job)
    {
        const uint32_t workers = GetState(*job).FindUsefulWorkers(budget);
        if (workers > 0)
        {
            sizes.push_back({*job, workers});
            budget -= workers;
        }
    }
    PlaceRings(m_world, sizes, queue);
}

} // namespace ns3::allreduce
