/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-policy.h"

#include "gadget-policy.h"
#include "sjf-bco-policy.h"
#include "slot-optimum-policy.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <queue>
#include <random>
#include <tuple>

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

std::string
ClusterPolicy::GetRemark() const
{
    return "";
}

const JobState&
ClusterPolicy::GetState(JobId job) const
{
    return (*m_world.jobs)[job];
}

std::vector<RingSize>
ResizeRings(const GpuCluster& cluster,
            RingPlacement& placement,
            const std::vector<JobState>& jobs,
            const std::vector<RingSize>& sizes)
{
    const auto missing = RemoveChanged(placement, sizes);
    auto refused = PlaceLargestFirst(placement, jobs, missing);
    if (!refused.empty() && missing.size() < sizes.size() && cluster.moveSeconds == 0)
    {
        placement.Clear();
        refused = PlaceLargestFirst(placement, jobs, sizes);
    }
    return refused;
}

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

/// Gives jobs rings of the sizes that a policy wants; a ring that the network refuses shrinks to
/// what one server has room for, and GPUs left over go to the jobs of a queue that have no ring;
/// if moves cost something, first to those that have had them.
void
PlaceRings(const ClusterPolicy::World& world,
           const std::vector<RingSize>& sizes,
           const std::vector<JobId>& queue)
{
    RingPlacement& placement = *world.placement;
    const bool isStaying = world.cluster->moveSeconds > 0;
    const std::vector<RingEmbedding> before =
        isStaying ? placement.GetRings() : std::vector<RingEmbedding>();
    for (const RingSize& refused : ResizeRings(*world.cluster, placement, *world.jobs, sizes))
    {
        PlaceOnOneServer(world, refused.job, refused.workers / 2);
    }
    for (const RingEmbedding& ring : before)
    {
        if (!placement.Find(ring.job))
        {
            placement.RestoreIfFree(ring);
        }
    }
    for (auto job = queue.begin(); job != queue.end() && placement.GetNFreeGpus() > 0; ++job)
    {
        if (!placement.Find(*job))
        {
            PlaceOnOneServer(world, *job, placement.GetNFreeGpus());
        }
    }
}

/**
 * Puts the jobs in an order in every slot, and gives each in turn as many workers as it can
 * use, as long as there are GPUs.
 */
class QueuePolicy : public ClusterPolicy
{
  public:
    /// Who comes first.
    enum class Order
    {
        ARRIVAL,   //!< first in, first out
        REMAINING, //!< shortest remaining first: least GPU time left
        ATTAINED,  //!< least attained service: fewest worker-slots held so far
        QUEUES,    //!< Tiresias: the same in steps, by arrival within a step
        RANDOM     //!< anyone
    };

    QueuePolicy(Order order, uint64_t seed)
        : m_order(order),
          m_random(seed)
    {
    }

    void Allocate(uint32_t slot) override
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

  private:
    /// @return the number by which jobs are ordered, the least first
    double GetKey(JobId job)
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
        case Order::QUEUES:
            return uint64_t{FindQueue(state)} << 32 | state.job->arrivalSlot;
        case Order::RANDOM:
            return m_random();
        }
        return 0;
    }

    /// @return in which of Tiresias' queues a job is, by the GPU time that it has had
    uint32_t FindQueue(const JobState& state) const
    {
        constexpr double LIMITS[] = {3600, 7200, 18000}; // seconds, of Tiresias' simulator
        const double seconds = state.workerSlots * m_world.cluster->slotSeconds;
        return std::upper_bound(std::begin(LIMITS), std::end(LIMITS), seconds) - std::begin(LIMITS);
    }

    std::vector<JobId> MakeQueue()
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

    Order m_order; //!< who comes first
    std::mt19937_64 m_random;
};

/// A job that can take another worker.
struct Claim
{
    double share;      //!< its dominant share
    uint64_t attained; //!< worker-slots that it has had so far
    std::size_t index; //!< its place among the active jobs
    double growth;     //!< by how much a worker raises the share
    uint32_t workers;  //!< that it has
    uint32_t least;    //!< that it needs to run at all
    uint32_t most;     //!< that it can use

    /// @return whether the other claim comes first: equal shares go to who has had less
    bool operator<(const Claim& other) const
    {
        return std::tie(share, attained, index) >
               std::tie(other.share, other.attained, other.index);
    }
};

/**
 * Dominant-resource fairness: workers are given one by one to the job with the least
 * dominant share.
 *
 * A job's shares are its part of all GPUs, and that of all bandwidth if each of its workers
 * reserves a hop; the larger one is dominant. Where jobs outnumber GPUs, those that have had least
 * come first.
 */
class DrfPolicy : public ClusterPolicy
{
  public:
    void Allocate(uint32_t slot) override
    {
        PlaceRings(m_world, FillProgressively(), m_active);
    }

  private:
    std::vector<RingSize> FillProgressively() const
    {
        const RingPlacement& placement = *m_world.placement;
        std::priority_queue<Claim> claims;
        for (std::size_t i = 0; i < m_active.size(); ++i)
        {
            const JobState& state = GetState(m_active[i]);
            const double growth =
                std::max(1.0 / placement.GetNGpus(),
                         double(state.job->bandwidthBps) /
                             std::max<uint64_t>(1, placement.GetReservableBps())) /
                state.job->weight;
            claims.push({0,
                         state.workerSlots,
                         i,
                         growth,
                         0,
                         state.job->minWorkers,
                         state.FindUsefulWorkers(state.job->maxWorkers)});
        }
        std::vector<RingSize> sizes(m_active.size());
        for (uint32_t budget = placement.GetNGpus(); budget > 0 && !claims.empty();)
        {
            Claim claim = claims.top();
            claims.pop();
            // A gang comes whole or not at all.
            const uint32_t step = claim.workers == 0 ? claim.least : 1;
            if (claim.workers + step <= claim.most && step <= budget)
            {
                claim.workers += step;
                claim.share += step * claim.growth;
                sizes[claim.index] = {m_active[claim.index], claim.workers};
                claims.push(claim);
                budget -= step;
            }
        }
        sizes.erase(std::remove_if(sizes.begin(),
                                   sizes.end(),
                                   [](const RingSize& size) { return size.workers == 0; }),
                    sizes.end());
        return sizes;
    }
};

/// A policy as users name it.
struct NamedPolicy
{
    const char* name;
    std::unique_ptr<ClusterPolicy> (*make)(uint64_t seed); //!< makes it
    bool isForAll{true};                                   //!< it can play every trace
};

/// For policies that draw no random numbers.
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
    {"tiresias", MakeQueue<QueuePolicy::Order::QUEUES>},
    {"drf", Make<DrfPolicy>},
    {"random", MakeQueue<QueuePolicy::Order::RANDOM>},
    {"sjf-bco", Make<SjfBcoPolicy>},
#ifdef ALLREDUCE_GLPK
    {"slot-optimum", Make<SlotOptimumPolicy>, false},
#endif
};

} // namespace

std::vector<std::string>
GetClusterPolicyNames(bool isForAll)
{
    std::vector<std::string> names;
    for (const NamedPolicy& policy : POLICIES)
    {
        if (policy.isForAll || !isForAll)
        {
            names.emplace_back(policy.name);
        }
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
              boost::algorithm::join(GetClusterPolicyNames(false), ", "));
}

} // namespace ns3::allreduce
