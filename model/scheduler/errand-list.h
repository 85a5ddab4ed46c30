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
    uint32_t urgency;  //!< the least urgent has the largest number
    uint32_t nLinks;   //!< links that the way takes at least
    uint32_t nHops;    //!< workloads that the way takes
    uint64_t firstHop; //!< index of the way's first hop in the list's hops
    WorkloadKind kind; //!< up or down the tree
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
     */
    ErrandList(const AllReduceState& state,
               const std::vector<FlowTree>& trees,
               const PreferredPaths& preferred);

    /// @return the number of errands
    std::size_t GetSize() const
    {
        return m_errands.size();
    }

    /// @return the errand @param errand its name
    const Errand& Get(ErrandId errand) const
    {
        return m_errands[errand];
    }

    /// @return a hop of an errand's way @param errand the errand @param number of the hop
    HopId GetHopId(const Errand& errand, uint32_t number) const
    {
        return m_ways[errand.firstHop + number];
    }

    /// @return a hop of an errand's way @param errand the errand @param number of the hop
    const Hop& GetHop(const Errand& errand, uint32_t number) const
    {
        return m_hops.Get(GetHopId(errand, number));
    }

    /// @return where an errand's way ends @param errand the errand
    NodeId GetEnd(const Errand& errand) const
    {
        return GetHop(errand, errand.nHops - 1).to;
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
    void Add(ChunkId chunk, WorkloadKind kind, NodeId from, NodeId to, uint32_t urgency);

    std::vector<NodeId> m_roots;   //!< by chunk
    uint32_t m_nServers;           //!< number of servers
    HopTable m_hops;               //!< of all ways
    std::vector<Errand> m_errands; //!< by chunk and server, the reduce before the broadcast
    std::vector<HopId> m_ways;     //!< the hops of all errands, one errand after another
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ERRAND_LIST_H */
