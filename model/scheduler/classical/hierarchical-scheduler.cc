/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "flow-tree.h"
#include "ring-order.h"

#include "ns3/planned-scheduler.h"
#include "ns3/topology-racks.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// The servers of each rack; racks stand in a circle, and so do the servers of each.
using RackRing = std::vector<std::vector<NodeId>>;

/// @return the racks in the order in which a ring first comes to them, servers by their numbers
RackRing
OrderRacks(const Topology& topology, const Ring& ring)
{
    const Racks racks = FindRacks(topology);
    std::vector<std::vector<NodeId>> members(racks.count);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        members[racks.rackOf[server]].push_back(server);
    }
    RackRing rackRing;
    for (const NodeId server : ring.order)
    {
        std::vector<NodeId>& rack = members[racks.rackOf[server]];
        if (!rack.empty())
        {
            rackRing.push_back(std::move(rack));
            rack.clear();
        }
    }
    return rackRing;
}

/// Makes flow-trees along rings inside racks and between racks.
class RackTrees
{
  public:
    RackTrees(const AllReduceState& state, const RackRing& racks)
        : m_state(state),
          m_racks(racks),
          m_trees(state.GetNChunks())
    {
        const uint32_t nServers = state.GetTopology().GetNServers();
        std::vector<std::vector<ChunkId>> chunksOf(nServers);
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            chunksOf[state.GetRoots()[chunk]].push_back(chunk);
        }
        for (uint32_t rack = 0; rack < racks.size(); ++rack)
        {
            std::vector<ChunkId> chunks;
            for (const NodeId server : racks[rack])
            {
                chunks.insert(chunks.end(), chunksOf[server].begin(), chunksOf[server].end());
            }
            AddTrees(rack, chunks);
        }
    }

    const std::vector<FlowTree>& Get() const
    {
        return m_trees;
    }

  private:
    void AddTrees(uint32_t rootRack, const std::vector<ChunkId>& chunks)
    {
        for (std::size_t i = 0; i < chunks.size(); ++i)
        {
            const NodeId root = m_state.GetRoots()[chunks[i]];
            FlowTree& tree = m_trees[chunks[i]];
            tree.reduceTo.assign(m_state.GetTopology().GetNServers(), root);
            tree.broadcastFrom = tree.reduceTo;
            AddRack(m_racks[rootRack], root, tree);
            NodeId before = root;
            for (std::size_t k = 1; k < m_racks.size(); ++k)
            {
                const auto& rack = m_racks[(rootRack + k) % m_racks.size()];
                // Where racks differ in size, each server is the head for its share of the chunks.
                const NodeId head = rack[i * rack.size() / chunks.size()];
                tree.broadcastFrom[head] = before;
                if (before != root)
                {
                    tree.reduceTo[before] = head;
                }
                AddRack(rack, head, tree);
                before = head;
            }
        }
    }

    /// Let partial sums go round a rack to its head, and final ones from there.
    static void AddRack(const std::vector<NodeId>& rack, NodeId head, FlowTree& tree)
    {
        for (std::size_t i = 0; i < rack.size(); ++i)
        {
            const NodeId next = rack[(i + 1) % rack.size()];
            if (rack[i] != head)
            {
                tree.reduceTo[rack[i]] = next;
            }
            if (next != head)
            {
                tree.broadcastFrom[next] = rack[i];
            }
        }
    }

    const AllReduceState& m_state; //!< network and roots
    const RackRing& m_racks;       //!< racks in a circle
    std::vector<FlowTree> m_trees; //!< by chunk
};

} // namespace

/**
 * @ingroup allreduce
 *
 * @brief First inside racks, then between them: partial sums go round each rack to one server, the
 * chunk's head there, then round the heads of all racks to the root; final sums go the same way.
 *
 * The heads of a rack are different servers for different chunks, such that each is the head for
 * its share: inside of racks this is a reduce-scatter, and an all-gather in the end.
 */
class HierarchicalScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::HierarchicalScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<HierarchicalScheduler>();
        return tid;
    }

    std::string GetRemark() const override
    {
        return m_nRacks == 1 ? "1 rack" : std::to_string(m_nRacks) + " racks";
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        const Topology& topology = state.GetTopology();
        std::vector<WorkloadList> best;
        for (const Ring& ring : {ListServers(topology), FindRing(topology, GetSeed())})
        {
            const RackRing racks = OrderRacks(topology, ring);
            m_nRacks = racks.size();
            auto rounds = ScheduleFlowTrees(state, RackTrees(state, racks).Get());
            if (best.empty() || rounds.size() < best.size())
            {
                best = std::move(rounds);
            }
        }
        return best;
    }

    uint32_t m_nRacks{0}; //!< of the last plan
};

NS_OBJECT_ENSURE_REGISTERED(HierarchicalScheduler);

} // namespace ns3::allreduce
