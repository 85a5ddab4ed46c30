/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "offline-optimum.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// What a ring takes: workers, GPUs by server, and how often it crosses each directed link.
struct RingUse
{
    uint32_t workers;                //!< of the ring
    std::vector<uint32_t> gpus;      //!< by server
    std::vector<uint32_t> crossings; //!< by directed link

    /// @return an order, so that a set can hold each use once
    bool operator<(const RingUse& other) const
    {
        return std::tie(workers, gpus, crossings) <
               std::tie(other.workers, other.gpus, other.crossings);
    }
};

/// Finds every ring of a job in an empty cluster.
class RingEnumeration
{
  public:
    RingEnumeration(const GpuCluster& cluster, uint32_t maxWorkers)
        : m_cluster(cluster),
          m_use{0,
                std::vector<uint32_t>(cluster.gpus.size(), 0),
                std::vector<uint32_t>(cluster.topology.GetNDirectedLinks(), 0)}
    {
        PlaceWorkers(0, maxWorkers);
    }

    /// @return what rings take, with one ring for each
    const std::map<RingUse, RingEmbedding>& Get() const
    {
        return m_uses;
    }

  private:
    void PlaceWorkers(NodeId server, uint32_t nLeft)
    {
        if (server == m_cluster.gpus.size())
        {
            OrderServers();
            return;
        }
        for (uint32_t n = 0; n <= std::min(nLeft, m_cluster.gpus[server]); ++n)
        {
            m_use.gpus[server] = n;
            m_use.workers += n;
            PlaceWorkers(server + 1, nLeft - n);
            m_use.workers -= n;
        }
        m_use.gpus[server] = 0;
    }

    void OrderServers()
    {
        m_order.clear();
        for (NodeId server = 0; server < m_use.gpus.size(); ++server)
        {
            if (m_use.gpus[server] > 0)
            {
                m_order.push_back(server);
            }
        }
        if (m_order.size() < 2)
        {
            Keep();
            return;
        }
        do
        {
            m_paths.clear();
            Walk(0, {m_order[0]});
        } while (std::next_permutation(m_order.begin() + 1, m_order.end()));
    }

    /// Extends the path that leaves server i of the order by every link, and goes on from its end.
    void Walk(std::size_t i, Path path)
    {
        const NodeId target = m_order[(i + 1) % m_order.size()];
        for (const Topology::Port& port : m_cluster.topology.GetPorts(path.back()))
        {
            const NodeId next = port.neighbor;
            const bool isMember = std::count(m_order.begin(), m_order.end(), next) > 0;
            if (std::count(path.begin(), path.end(), next) > 0 || (isMember && next != target))
            {
                continue;
            }
            ++m_use.crossings[port.out];
            path.push_back(next);
            if (next != target)
            {
                Walk(i, path);
            }
            else
            {
                m_paths.push_back(path);
                EndPath(i, next);
                m_paths.pop_back();
            }
            path.pop_back();
            --m_use.crossings[port.out];
        }
    }

    /// Goes on from the end of path i, or keeps the ring if it is the last one.
    void EndPath(std::size_t i, NodeId end)
    {
        if (i + 1 < m_order.size())
        {
            Walk(i + 1, {end});
        }
        else
        {
            Keep();
        }
    }

    void Keep()
    {
        RingEmbedding ring;
        ring.servers = m_order;
        ring.paths = m_order.size() < 2 ? std::vector<Path>() : m_paths;
        for (const NodeId server : m_order)
        {
            ring.workers.push_back(m_use.gpus[server]);
        }
        m_uses.emplace(m_use, std::move(ring));
    }

    const GpuCluster& m_cluster;             //!< where
    RingUse m_use;                           //!< of the ring under construction
    std::vector<NodeId> m_order;             //!< its servers
    std::vector<Path> m_paths;               //!< between them, so far
    std::map<RingUse, RingEmbedding> m_uses; //!< what was found
};

/// Combines rings of several jobs.
class SizeEnumeration
{
  public:
    SizeEnumeration(const GpuCluster& cluster, const std::vector<Job>& jobs)
        : m_jobs(jobs),
          m_freeGpus(cluster.gpus)
    {
        for (DirectedLinkId link = 0; link < cluster.topology.GetNDirectedLinks(); ++link)
        {
            m_freeBps.push_back(cluster.GetReservable(link));
        }
        for (const Job& job : jobs)
        {
            m_uses.emplace_back();
            const RingEnumeration rings(cluster, job.maxWorkers);
            for (const auto& [use, ring] : rings.Get())
            {
                m_uses.back().push_back(use);
            }
        }
        Combine(0);
    }

    std::vector<std::vector<uint32_t>> Get() const
    {
        return {m_found.begin(), m_found.end()};
    }

  private:
    void Combine(std::size_t job)
    {
        if (job == m_jobs.size())
        {
            m_found.insert(m_sizes);
            return;
        }
        for (const RingUse& use : m_uses[job])
        {
            if (Fits(use, m_jobs[job].bandwidthBps))
            {
                m_sizes.push_back(use.workers);
                Change(use, m_jobs[job].bandwidthBps, true);
                Combine(job + 1);
                Change(use, m_jobs[job].bandwidthBps, false);
                m_sizes.pop_back();
            }
        }
    }

    bool Fits(const RingUse& use, uint64_t bandwidth) const
    {
        bool fits = true;
        for (std::size_t i = 0; i < use.gpus.size() && fits; ++i)
        {
            fits = use.gpus[i] <= m_freeGpus[i];
        }
        for (std::size_t i = 0; i < use.crossings.size() && fits; ++i)
        {
            fits = use.crossings[i] * bandwidth <= m_freeBps[i];
        }
        return fits;
    }

    void Change(const RingUse& use, uint64_t bandwidth, bool isTaken)
    {
        for (std::size_t i = 0; i < use.gpus.size(); ++i)
        {
            m_freeGpus[i] += isTaken ? -use.gpus[i] : use.gpus[i];
        }
        for (std::size_t i = 0; i < use.crossings.size(); ++i)
        {
            m_freeBps[i] += use.crossings[i] * (isTaken ? -bandwidth : bandwidth);
        }
    }

    const std::vector<Job>& m_jobs;           //!< whose rings
    std::vector<uint32_t> m_freeGpus;         //!< by server
    std::vector<uint64_t> m_freeBps;          //!< by directed link
    std::vector<std::vector<RingUse>> m_uses; //!< by job
    std::vector<uint32_t> m_sizes;            //!< of the jobs so far
    std::set<std::vector<uint32_t>> m_found;  //!< all sizes
};

/// @return the gain of a slot, which changes the progress; nothing if a job has not arrived
std::optional<double>
Advance(const std::vector<JobState>& states,
        const JobUtility& utility,
        const std::vector<uint32_t>& sizes,
        uint32_t slot,
        std::vector<uint32_t>& progress)
{
    double gain = 0;
    for (std::size_t j = 0; j < states.size(); ++j)
    {
        const JobState& state = states[j];
        if (sizes[j] == 0)
        {
            continue;
        }
        if (state.job->arrivalSlot > slot)
        {
            return std::nullopt;
        }
        const uint32_t before = progress[j];
        const uint32_t rate = state.rates[sizes[j]];
        const uint32_t left = state.job->targetIterations - before;
        const double busyPart = rate > left ? double(left) / rate : 1;
        progress[j] = before + std::min(rate, left);
        gain += utility.GetBenefit(state, progress[j]) - utility.GetBenefit(state, before) -
                sizes[j] * utility.GetWorkerSlotCost(state) * busyPart;
    }
    return gain;
}

} // namespace

std::vector<RingEmbedding>
EnumerateRings(const GpuCluster& cluster, uint32_t maxWorkers)
{
    std::vector<RingEmbedding> rings;
    const RingEnumeration all(cluster, maxWorkers);
    for (const auto& [use, ring] : all.Get())
    {
        if (use.workers > 0)
        {
            rings.push_back(ring);
        }
    }
    return rings;
}

std::vector<std::vector<uint32_t>>
FindFeasibleSizes(const GpuCluster& cluster, const std::vector<Job>& jobs)
{
    return SizeEnumeration(cluster, jobs).Get();
}

double
FindOfflineOptimum(const GpuCluster& cluster,
                   const std::vector<Job>& jobs,
                   const JobUtility& utility,
                   const std::vector<double>& slotWeights)
{
    const auto choices = FindFeasibleSizes(cluster, jobs);
    std::vector<JobState> states;
    for (const Job& job : jobs)
    {
        states.push_back(MakeJobState(cluster, job));
    }
    // By progress of the jobs: the most that can have been gained on the way there.
    std::map<std::vector<uint32_t>, double> reached{{std::vector<uint32_t>(jobs.size(), 0), 0}};
    for (uint32_t slot = 0; slot < slotWeights.size(); ++slot)
    {
        auto next = reached;
        for (const auto& [progress, value] : reached)
        {
            for (const auto& sizes : choices)
            {
                std::vector<uint32_t> after = progress;
                const auto gain = Advance(states, utility, sizes, slot, after);
                if (!gain)
                {
                    continue;
                }
                const double total = value + slotWeights[slot] * *gain;
                const auto place = next.emplace(std::move(after), total).first;
                place->second = std::max(place->second, total);
            }
        }
        reached = std::move(next);
    }
    double best = 0;
    for (const auto& [progress, value] : reached)
    {
        best = std::max(best, value);
    }
    return best;
}

} // namespace ns3::allreduce
