/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "flow-tree.h"
#include "ring-order.h"
#include "shortest-path-broadcast.h"

#include "ns3/boolean.h"
#include "ns3/planned-scheduler.h"

#include <algorithm>
#include <iterator>

namespace ns3::allreduce
{

namespace
{

/// @return a plan along trees in which a server sends to its parent and gets the sum from it
/// @param getParents by server, for a chunk and its root
template <typename GetParents>
std::vector<WorkloadList>
PlanSymmetricTrees(const AllReduceState& state, bool isMerging, GetParents getParents)
{
    std::vector<FlowTree> trees;
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        const std::vector<NodeId> parents = getParents(chunk, state.GetRoots()[chunk]);
        trees.push_back({parents, parents, isMerging});
    }
    return ScheduleFlowTrees(state, trees);
}

/// @return an AllReduce along shortest-path trees, the best of several
std::vector<WorkloadList>
PlanShortestPathTrees(const AllReduceState& state, uint64_t seed)
{
    constexpr uint32_t TRIES = 16;
    constexpr uint64_t MOST_WORK = 100'000; // deliveries times tries: about a second
    const uint64_t nDeliveries = uint64_t{state.GetNChunks()} * state.GetTopology().GetNServers();
    std::vector<WorkloadList> broadcast;
    for (uint32_t i = 0; i < TRIES && (i == 0 || i * nDeliveries < MOST_WORK); ++i)
    {
        std::vector<WorkloadList> rounds =
            ShortestPathBroadcast(state, seed + i, i % 2, i / 2 % 2 == 0).Run();
        if (i == 0 || rounds.size() < broadcast.size())
        {
            broadcast = std::move(rounds);
        }
    }
    std::vector<WorkloadList> rounds = Mirror(broadcast);
    std::move(broadcast.begin(), broadcast.end(), std::back_inserter(rounds));
    return rounds;
}

} // namespace

/**
 * @ingroup allreduce
 *
 * @brief Parameter server: each chunk's root collects it from all servers and sends it to all.
 *
 * Without merging, every contribution travels to the root by itself. With merging, contributions
 * go up a shortest-path tree and are summed on the way.
 */
class ParameterServerScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid =
            TypeId("ns3::allreduce::ParameterServerScheduler")
                .SetParent<PlannedScheduler>()
                .SetGroupName("AllReduce")
                .AddConstructor<ParameterServerScheduler>()
                .AddAttribute("Merge",
                              "Whether contributions are summed on their way to the root.",
                              BooleanValue(false),
                              MakeBooleanAccessor(&ParameterServerScheduler::m_isMerging),
                              MakeBooleanChecker());
        return tid;
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        if (m_isMerging)
        {
            return PlanShortestPathTrees(state, GetSeed());
        }
        const uint32_t n = state.GetTopology().GetNServers();
        return PlanSymmetricTrees(state, false, [n](ChunkId, NodeId root) {
            return std::vector<NodeId>(n, root);
        });
    }

    bool m_isMerging{false}; //!< the attribute Merge
};

NS_OBJECT_ENSURE_REGISTERED(ParameterServerScheduler);

/// @ingroup allreduce
/// Ring: each chunk goes round once to be summed, and once more to be copied.
class RingScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::RingScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<RingScheduler>()
                                .AddAttribute("TopologyAware",
                                              "Whether the ring's order follows the topology, "
                                              "instead of the servers' numbers.",
                                              BooleanValue(false),
                                              MakeBooleanAccessor(&RingScheduler::m_isAware),
                                              MakeBooleanChecker());
        return tid;
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        const Topology& topology = state.GetTopology();
        return PlanRing(state, m_isAware ? FindRing(topology, GetSeed()) : ListServers(topology));
    }

    bool m_isAware{false}; //!< the attribute TopologyAware
};

NS_OBJECT_ENSURE_REGISTERED(RingScheduler);

/**
 * @ingroup allreduce
 *
 * @brief Recursive halving and doubling, for any number of servers.
 *
 * Counted from its root, a chunk's partial sum goes from server i to the one without i's highest
 * bit, largest distance first, which is a binomial tree; the final sum goes back the same way.
 * For a power of two, counting is by exclusive or, as in the usual algorithm.
 */
class HalvingDoublingScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::HalvingDoublingScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<HalvingDoublingScheduler>();
        return tid;
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        const uint32_t n = state.GetTopology().GetNServers();
        const bool isPowerOfTwo = (n & (n - 1)) == 0;
        return PlanSymmetricTrees(state, true, [=](ChunkId, NodeId root) {
            std::vector<NodeId> parent(n, root);
            for (uint32_t i = 1; i < n; ++i)
            {
                uint32_t highest = 1;
                while (2 * highest <= i)
                {
                    highest *= 2;
                }
                const uint32_t next = i - highest;
                parent[isPowerOfTwo ? i ^ root : (i + root) % n] =
                    isPowerOfTwo ? next ^ root : (next + root) % n;
            }
            return parent;
        });
    }
};

NS_OBJECT_ENSURE_REGISTERED(HalvingDoublingScheduler);

/// @ingroup allreduce
/// Double binary tree (Sanders, Speck and Traff): two trees such that a leaf of one is inside
/// of the other; each root's chunks use the two in turn.
class DoubleTreeScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::DoubleTreeScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<DoubleTreeScheduler>();
        return tid;
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        const uint32_t n = state.GetTopology().GetNServers();
        return PlanSymmetricTrees(state, true, [n](ChunkId chunk, NodeId root) {
            // Leaves have odd places. For odd n, counting backwards gives them even ones; for even
            // n, going on by one does, but for the last.
            auto serverAt = [&](uint32_t i) {
                if (i == 0 || chunk % 2 == 0)
                {
                    return (root + i) % n;
                }
                return (root + (n % 2 == 1 ? n - i : i % (n - 1) + 1)) % n;
            };
            std::vector<NodeId> parent(n, root);
            for (uint32_t i = 1; i < n; ++i)
            {
                // In an in-order binary tree over 1..n-1 the lowest bit of i is its height; a
                // parent that would lie past the end is replaced by the next one that does not.
                const uint32_t lowest = i & -i;
                const uint32_t up = (i ^ lowest) | (lowest << 1);
                parent[serverAt(i)] = serverAt(up < n ? up : i ^ lowest);
            }
            return parent;
        });
    }
};

NS_OBJECT_ENSURE_REGISTERED(DoubleTreeScheduler);

} // namespace ns3::allreduce
