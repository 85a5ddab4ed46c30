/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RESIDUAL_ROUTER_H
#define ALLREDUCE_RESIDUAL_ROUTER_H

#include "ns3/allreduce-state.h"
#include "ns3/switch-path-search.h"

#include <cstdint>

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
    SwitchPathSearch m_search; //!< does the work
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RESIDUAL_ROUTER_H */
