/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "residual-router.h"

namespace ns3::allreduce
{

ResidualRouter::ResidualRouter(const Topology& topology)
    : m_search(topology)
{
}

bool
ResidualRouter::FindPath(const AllReduceState& state,
                         NodeId from,
                         NodeId to,
                         uint32_t mostLinks,
                         Path& path)
{
    const auto hasRoom = [&](DirectedLinkId link) { return state.GetFreeCapacity(link) > 0; };
    return m_search.Find(from, to, mostLinks, hasRoom, path);
}

} // namespace ns3::allreduce
