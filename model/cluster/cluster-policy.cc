/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-policy.h"

#include "drf-policy.h"
#include "gadget-policy.h"
#include "queue-policy.h"
#include "sjf-bco-policy.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>

namespace ns3::allreduce
{

namespace
{

/// Places rings, the largest first. @return those that found no place
std::vector<RingSize>
PlaceLargestFirst(RingPlacement& placement,
                  const std::vector<JobState>& jobs,
                  std::vector<RingSize> sizes)
{
    std::stable_sort(sizes.begin(), sizes.end(), [](const RingSize& x, const RingSize& y) {
        return x.workers > y.workers;
    });
    std::vector<RingSize> refused;
    for (const RingSize& size : sizes)
    {
        if (!placement.Place(size.job, size.workers, jobs[size.job].job->bandwidthBps))
        {
            refused.push_back(size);
        }
    }
    return refused;
}

/// Removes rings that are not wanted or of another size. @return the sizes that have no ring
std::vector<RingSize>
RemoveChanged(RingPlacement& placement, const std::vector<RingSize>& sizes)
{
    std::vector<std::pair<JobId, uint32_t>> wanted;
    for (const RingSize& size : sizes)
    {
        wanted.emplace_back(size.job, size.workers);
    }
    std::sort(wanted.begin(), wanted.end());
    std::vector<JobId> changed;
    for (const RingEmbedding& ring : placement.GetRings())
    {
        if (!std::binary_search(wanted.begin(),
                                wanted.end(),
                                std::make_pair(ring.job, ring.GetNWorkers())))
        {
            changed.push_back(ring.job);
        }
    }
    for (const JobId job : changed)
    {
        placement.Remove(job);
    }
    std::vector<RingSize> missing;
    std::copy_if(sizes.begin(),
                 sizes.end(),
                 std::back_inserter(missing),
                 [&](const RingSize& size) { return !placement.Find(size.job); });
    return missing;
}

} // namespace

void
ClusterPolicy::Begin(const World& world)
{
    m_world = world;
}

void
ClusterPolicy::AddJob(JobId job)
{
    m_active.push_back(job);
}

void
ClusterPolicy::RemoveJob(JobId job)
{
    m_active.erase(std::find(m_active.begin(), m_active.end(), job));
}

std::optional<double>
ClusterPolicy::GetSlotBound() const
{
    return std::nullopt;
}

const JobState&
ClusterPolicy::GetState(JobId job) const
{
    return (*m_world.jobs)[job];
}

std::vector<RingSize>
ResizeRings(RingPlacement& placement,
            const std::vector<JobState>& jobs,
            const std::vector<RingSize>& sizes)
{
    const auto missing = RemoveChanged(placement, sizes);
    auto refused = PlaceLargestFirst(placement, jobs, missing);
    if (!refused.empty() && missing.size() < sizes.size())
    {
        placement.Clear();
        refused = PlaceLargestFirst(placement, jobs, sizes);
    }
    return refused;
}

std::vector<std::string>
GetClusterPolicyNames()
{
    return {"gadget", "fifo", "srf", "las", "drf", "random", "sjf-bco"};
}

std::unique_ptr<ClusterPolicy>
CreateClusterPolicy(const std::string& name, uint64_t seed)
{
    if (name == "gadget")
    {
        return std::make_unique<GadgetPolicy>();
    }
    if (name == "fifo")
    {
        return std::make_unique<QueuePolicy>(QueuePolicy::Order::ARRIVAL, seed);
    }
    if (name == "srf")
    {
        return std::make_unique<QueuePolicy>(QueuePolicy::Order::REMAINING, seed);
    }
    if (name == "las")
    {
        return std::make_unique<QueuePolicy>(QueuePolicy::Order::ATTAINED, seed);
    }
    if (name == "random")
    {
        return std::make_unique<QueuePolicy>(QueuePolicy::Order::RANDOM, seed);
    }
    if (name == "drf")
    {
        return std::make_unique<DrfPolicy>();
    }
    if (name == "sjf-bco")
    {
        return std::make_unique<SjfBcoPolicy>();
    }
    FailInput("policy ",
              Quote(name),
              ": expected ",
              boost::algorithm::join(GetClusterPolicyNames(), ", "));
}

} // namespace ns3::allreduce
