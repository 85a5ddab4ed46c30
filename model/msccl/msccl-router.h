/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_ROUTER_H
#define ALLREDUCE_MSCCL_ROUTER_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/switch-path-search.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Finds paths over links with room in the present round.
class MscclRouter
{
  public:
    /// @param topology the network, which must outlive this
    explicit MscclRouter(const Topology& topology);

    /// All links are free again.
    void BeginRound();

    /**
     * Find a path and occupy it.
     *
     * @param from the sender
     * @param to the receiver
     * @return the path, empty if there is none
     */
    Path Occupy(NodeId from, NodeId to);

    /**
     * Occupy this path of switches.
     *
     * @param path the path
     * @return whether it is one of this network, and has room
     */
    bool Occupy(const Path& path);

  private:
    bool HasRoom(DirectedLinkId link) const;
    void AddLoad(const Path& path);

    const Topology& m_topology;   //!< the network
    std::vector<uint32_t> m_load; //!< by directed link: workloads of this round
    SwitchPathSearch m_search;    //!< finds them
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_ROUTER_H */
