/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SERVER_GRAPH_H
#define ALLREDUCE_SERVER_GRAPH_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/switch-path-search.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Which servers a single workload can join: those with a path of switches between them.
class ServerGraph
{
  public:
    /// @param topology the network
    explicit ServerGraph(const Topology& topology);

    /// @param server a server @return those it can send to in one workload, nearest first
    const std::vector<NodeId>& GetNeighbors(NodeId server) const;

    /// @return the fewest links of a path of switches @param from a server @param to a neighbor
    uint32_t GetNLinks(NodeId from, NodeId to) const;

    /**
     * @param from a server
     * @param to another server
     * @return where it is in GetNeighbors(from); if it is not, the number of neighbors
     */
    uint32_t FindNeighbor(NodeId from, NodeId to) const;

  private:
    std::vector<std::vector<NodeId>> m_neighbors;   //!< by server, nearest first
    std::vector<std::vector<uint32_t>> m_distances; //!< by server: links to each neighbor
    std::vector<std::vector<uint32_t>> m_byNumber;  //!< by server: places in m_neighbors, ascending
};

/**
 * @ingroup allreduce
 *
 * @param state a state
 * @return its network without the links that are down
 */
Topology MakeNetworkThatIsUp(const AllReduceState& state);

/**
 * @ingroup allreduce
 *
 * @param search made for the state's network
 * @param state says which links have room now
 * @param from the sending server
 * @param to the receiving server
 * @param mostLinks no path longer than this
 * @param [out] path a shortest path of switches with room
 * @return whether there is one
 */
bool FindFreePath(SwitchPathSearch& search,
                  const AllReduceState& state,
                  NodeId from,
                  NodeId to,
                  uint32_t mostLinks,
                  Path& path);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SERVER_GRAPH_H */
