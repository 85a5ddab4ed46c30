/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ERRAND_LIST_H
#define ALLREDUCE_ERRAND_LIST_H

#include "flow-tree.h"
#include "hop-table.h"

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// Names an errand in an ErrandList.
using ErrandId = uint32_t;

/// @ingroup allreduce
/// An edge of a flow-tree, along which data has to go.
struct Errand
{
    ChunkId chunk;     //!< the chunk
    WorkloadKind kind; //!< up or down the tree
    uint16_t nHops;    //!< workloads that the way takes
    uint32_t firstHop; //!< index of the way's first hop in the list's hops
};

/// @ingroup allreduce
/// What decides between errands that want the same links.
struct ErrandOrder
{
    bool isBusiestFirst; //!< before all else: those whose ports have the most left to carry
    bool isLongestFirst; //!< the longest ways first, else the shortest
    uint32_t detour;     //!< links more than the shortest path that a path may have
    uint64_t seed;       //!< 0: by the distance of the server's number from the root's; else random
};

/**
 * @ingroup allreduce
 *
 * @brief The errands of all flow-trees: for each chunk and server one up and one down its tree.
 */
class ErrandList
{
  public:
    /**
     * @param state the beginning of an AllReduce
     * @param trees a tree for each chunk
     * @param preferred paths to be tried first, which must outlive the list
     * @throws InputError if there is no way, or more of them than can be named
     */
    ErrandList(const AllReduceState& state,
               const std::vector<FlowTree>& trees,
               const PreferredPaths& preferred);

    /// @return the number of errands
    std::size_t GetSize() const
    {
        return m_urgencies.size();
    }

    /// @return up or down the tree @param errand an errand's name
    static WorkloadKind GetKind(ErrandId errand)
    {
        return errand % 2 == 0 ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST;
    }

    /// @return the errand @param errand its name
    Errand Get(ErrandId errand) const
    {
        return {errand / (2 * (m_nServers - 1)),
                GetKind(errand),
                static_cast<uint16_t>(m_firstHops[errand + 1] - m_firstHops[errand]),
                m_firstHops[errand]};
    }

    /// @return a hop of a way @param place its index in the list's hops
    HopId GetHopId(uint32_t place) const
    {
        return m_ways[place];
    }

    /// @return a hop of a way @param place its index in the list's hops
    const Hop& GetHop(uint32_t place) const
    {
        return m_hops.Get(m_ways[place]);
    }

    /// @return where an errand's way ends @param errand the errand
    NodeId GetEnd(const Errand& errand) const
    {
        return GetHop(errand.firstHop + errand.nHops - 1).to;
    }

    /**
     * @param chunk a chunk
     * @param server a server that is not its root
     * @return the errand that takes the server's partial sum to its parent
     */
    ErrandId GetReduce(ChunkId chunk, NodeId server) const;

    /// @return the hops of all ways
    const HopTable& GetHops() const
    {
        return m_hops;
    }

    /// @return the hops of all ways, to find paths
    HopTable& GetHops()
    {
        return m_hops;
    }

    /**
     * @param order which errands go first
     * @return all errands, those that go first coming first
     */
    std::vector<ErrandId> Sort(const ErrandOrder& order) const;

  private:
    void AddTree(ChunkId chunk, const FlowTree& tree);
    void Add(NodeId from, NodeId to, uint32_t urgency);
    /// @return links that a way takes at least
    uint32_t CountLinks(const Errand& errand) const;

    // Errands are in the order of chunks and servers, the reduce before the broadcast.
    std::vector<NodeId> m_roots;       //!< by chunk
    uint32_t m_nServers;               //!< number of servers
    HopTable m_hops;                   //!< of all ways
    std::vector<uint32_t> m_urgencies; //!< by errand: the least urgent has the largest number
    std::vector<HopId> m_ways;         //!< the hops of all errands, one errand after another
    std::vector<uint32_t> m_firstHops; //!< by errand: where its way begins; at last, the end
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ERRAND_LIST_H */
