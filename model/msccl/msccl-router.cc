/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "msccl-router.h"

#include <algorithm>
#include <set>

namespace ns3::allreduce
{

MscclRouter::MscclRouter(const Topology& topology)
    : m_topology(topology),
      m_load(topology.GetNDirectedLinks(), 0),
      m_search(topology)
{
}

void
MscclRouter::BeginRound()
{
    std::fill(m_load.begin(), m_load.end(), 0);
}

Path
MscclRouter::Occupy(NodeId from, NodeId to)
{
    Path path;
    const auto hasRoom = [&](DirectedLinkId link) { return HasRoom(link); };
    if (m_search.Find(from, to, SwitchPathSearch::ANY_LENGTH, hasRoom, path))
    {
        AddLoad(path);
    }
    return path;
}

bool
MscclRouter::Occupy(const Path& path)
{
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        const bool isEnd = i + 2 == path.size();
        if (path[i + 1] >= m_topology.GetNNodes() || m_topology.IsServer(path[i + 1]) != isEnd)
        {
            return false;
        }
        const auto link = m_topology.FindDirectedLink(path[i], path[i + 1]);
        if (!link || !HasRoom(*link))
        {
            return false;
        }
    }
    if (std::set<NodeId>(path.begin(), path.end()).size() < path.size())
    {
        return false;
    }
    AddLoad(path);
    return true;
}

bool
MscclRouter::HasRoom(DirectedLinkId link) const
{
    return m_load[link] < m_topology.GetCapacity(link);
}

void
MscclRouter::AddLoad(const Path& path)
{
    ForEachLink(m_topology, path, [&](DirectedLinkId link) { ++m_load[link]; });
}

} // namespace ns3::allreduce
