/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-order.h"
#include "ring-packing.h"

#include "ns3/planned-scheduler.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/**
 * Sends chunks round a ring, one at a time over each of its paths, those that have the most paths
 * before them first. A chunk begins behind its root, is summed until it is back there, and goes
 * round once more to be copied. With as many chunks at every root no path is idle before the end.
 */
class RingTimetable
{
  public:
    RingTimetable(const Ring& ring, const std::vector<NodeId>& roots)
        : m_ring(ring),
          m_roots(roots),
          m_index(ring.order.size()),
          m_waiting(ring.order.size())
    {
        for (uint32_t i = 0; i < ring.order.size(); ++i)
        {
            m_index[ring.order[i]] = i;
        }
    }

    void Add(ChunkId chunk)
    {
        Wait({0, chunk});
    }

    /// @param rounds rounds of other rings, to which those of this one are added
    void Run(std::vector<WorkloadList>& rounds)
    {
        std::vector<Step> moving;
        for (std::size_t round = 0; m_nWaiting > 0; ++round)
        {
            if (round == rounds.size())
            {
                rounds.emplace_back();
            }
            for (uint32_t index = 0; index < m_waiting.size(); ++index)
            {
                if (!m_waiting[index].empty())
                {
                    const Step step = m_waiting[index].top();
                    m_waiting[index].pop();
                    --m_nWaiting;
                    rounds[round].Add(step.second, GetKind(step), m_ring.paths[index]);
                    moving.emplace_back(step.first + 1, step.second);
                }
            }
            for (const Step& step : moving)
            {
                Wait(step);
            }
            moving.clear();
        }
    }

  private:
    /// How many paths a chunk has passed, and the chunk.
    using Step = std::pair<uint32_t, ChunkId>;
    using Queue = std::priority_queue<Step, std::vector<Step>, std::greater<Step>>;

    WorkloadKind GetKind(const Step& step) const
    {
        return step.first + 1 < m_index.size() ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST;
    }

    void Wait(const Step& step)
    {
        const uint32_t n = m_index.size();
        if (step.first < 2 * (n - 1))
        {
            m_waiting[(m_index[m_roots[step.second]] + 1 + step.first) % n].push(step);
            ++m_nWaiting;
        }
    }

    const Ring& m_ring;
    const std::vector<NodeId>& m_roots; //!< by chunk
    std::vector<uint32_t> m_index;      //!< by server: where in the ring
    std::vector<Queue> m_waiting;       //!< by index in the ring: what has to go from there
    uint64_t m_nWaiting{0};             //!< in all of these
};

/// @return a plan in which each ring carries as many of each root's chunks, as nearly as possible
std::vector<WorkloadList>
PlanRings(const AllReduceState& state, const std::vector<Ring>& rings)
{
    const std::vector<NodeId>& roots = state.GetRoots();
    std::vector<RingTimetable> timetables;
    for (const Ring& ring : rings)
    {
        timetables.emplace_back(ring, roots);
    }
    std::vector<ChunkId> chunks(roots.size());
    std::iota(chunks.begin(), chunks.end(), 0);
    std::stable_sort(chunks.begin(), chunks.end(), [&](ChunkId x, ChunkId y) {
        return roots[x] < roots[y];
    });
    for (std::size_t i = 0; i < chunks.size(); ++i)
    {
        timetables[i % rings.size()].Add(chunks[i]);
    }
    std::vector<WorkloadList> rounds;
    for (RingTimetable& timetable : timetables)
    {
        timetable.Run(rounds);
    }
    return rounds;
}

/// @return the most chunks that have the same root: with more rings than these some would idle
uint32_t
CountMostChunks(const AllReduceState& state)
{
    std::vector<uint32_t> nChunks(state.GetTopology().GetNServers(), 0);
    for (const NodeId root : state.GetRoots())
    {
        ++nChunks[root];
    }
    return *std::max_element(nChunks.begin(), nChunks.end());
}

} // namespace

/// @ingroup allreduce
/// Several rings at once, each with links of its own and an equal share of the chunks.
class MultiRingScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::MultiRingScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<MultiRingScheduler>();
        return tid;
    }

    std::string GetRemark() const override
    {
        return m_nRings == 1 ? "1 ring" : std::to_string(m_nRings) + " rings";
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        const Topology& topology = state.GetTopology();
        const std::vector<Ring> rings = PackRings(topology, CountMostChunks(state), GetSeed());
        m_nRings = std::max<std::size_t>(rings.size(), 1);
        return rings.empty() ? PlanRing(state, FindRing(topology, GetSeed(), true))
                             : PlanRings(state, rings);
    }

    uint32_t m_nRings{0}; //!< of the last plan
};

NS_OBJECT_ENSURE_REGISTERED(MultiRingScheduler);

} // namespace ns3::allreduce
