/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RESIDUAL_ROUTER_H
#define ALLREDUCE_RESIDUAL_ROUTER_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Finds paths of switches over links that still have room in the present round.
 */
class ResidualRouter
{
  public:
    /// @param topology the network, which must outlive the router
    explicit ResidualRouter(const Topology& topology);

    /**
     * @param state says which links have room
     * @param from the sending server
     * @param to the receiving server
     * @param mostLinks no path longer than this
     * @param [out] path a shortest path with room
     * @return whether there is one
     */
    bool FindPath(const AllReduceState& state,
                  NodeId from,
                  NodeId to,
                  uint32_t mostLinks,
                  Path& path);

  private:
    const Topology& m_topology;        //!< the network
    uint32_t m_search{0};              //!< number of the present search
    std::vector<uint32_t> m_reachedIn; //!< by node: the last search that reached it
    std::vector<NodeId> m_previous;    //!< by node reached: where from
    std::vector<uint32_t> m_length;    //!< by node reached: links to it
    std::vector<NodeId> m_queue;       //!< nodes in the order they were reached
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RESIDUAL_ROUTER_H */
