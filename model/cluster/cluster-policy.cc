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

/// A policy as users name it.
struct NamedPolicy
{
    const char* name;                                      //!< its name
    std::unique_ptr<ClusterPolicy> (*make)(uint64_t seed); //!< makes it
};

/// For policies without chance.
template <typename Policy>
std::unique_ptr<ClusterPolicy>
Make(uint64_t)
{
    return std::make_unique<Policy>();
}

template <QueuePolicy::Order ORDER>
std::unique_ptr<ClusterPolicy>
MakeQueue(uint64_t seed)
{
    return std::make_unique<QueuePolicy>(ORDER, seed);
}

const NamedPolicy POLICIES[] = {
    {"gadget", Make<GadgetPolicy>},
    {"fifo", MakeQueue<QueuePolicy::Order::ARRIVAL>},
    {"srf", MakeQueue<QueuePolicy::Order::REMAINING>},
    {"las", MakeQueue<QueuePolicy::Order::ATTAINED>},
    {"drf", Make<DrfPolicy>},
    {"random", MakeQueue<QueuePolicy::Order::RANDOM>},
    {"sjf-bco", Make<SjfBcoPolicy>},
};

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
    std::vector<std::string> names;
    for (const NamedPolicy& policy : POLICIES)
    {
        names.emplace_back(policy.name);
    }
    return names;
}

std::unique_ptr<ClusterPolicy>
CreateClusterPolicy(const std::string& name, uint64_t seed)
{
    for (const NamedPolicy& policy : POLICIES)
    {
        if (name == policy.name)
        {
            return policy.make(seed);
        }
    }
    FailInput("policy ",
              Quote(name),
              ": expected ",
              boost::algorithm::join(GetClusterPolicyNames(), ", "));
}

} // namespace ns3::allreduce
