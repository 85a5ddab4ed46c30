/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FREE_PATH_SEARCH_H
#define ALLREDUCE_FREE_PATH_SEARCH_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Shortest paths over links that have bandwidth left.
 *
 * Searches breadth first and goes no farther than it must, so that what is near costs little in a
 * network of any size.
 */
class FreePathSearch
{
  public:
    /// What makes a server the better end of a path; the highest score wins, below 0 none does.
    using Score = std::function<int64_t(NodeId)>;

    /**
     * @param topology the network, which must outlive the search
     * @param freeBps bit/s left by directed link; must outlive the search
     */
    FreePathSearch(const Topology& topology, const std::vector<uint64_t>& freeBps);

    /**
     * Nodes that paths may end at but not pass, from now on.
     *
     * @param nodes the nodes
     */
    void SetBlocked(const std::vector<NodeId>& nodes);

    /**
     * Find the best of the nearest servers.
     *
     * @param from where the path begins
     * @param bandwidthBps bit/s that each of its links must have left
     * @param score which servers will do, and how well
     * @return the path; empty if there is none
     */
    Path FindNearest(NodeId from, uint64_t bandwidthBps, const Score& score);

  private:
    Path TraceBack(NodeId from, NodeId to) const;
    bool IsSeen(NodeId node) const;
    void See(NodeId node, NodeId parent);

    const Topology& m_topology;             //!< the network
    const std::vector<uint64_t>& m_freeBps; //!< by directed link
    uint32_t m_search{0};                   //!< number of this search
    std::vector<uint32_t> m_seen;           //!< by node: the last search that saw it
    std::vector<NodeId> m_parent;           //!< by node: where that search came from
    std::vector<NodeId> m_queue;            //!< nodes seen, in this order
    std::vector<bool> m_isBlocked;          //!< by node
    std::vector<NodeId> m_blocked;          //!< the blocked nodes
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FREE_PATH_SEARCH_H */
