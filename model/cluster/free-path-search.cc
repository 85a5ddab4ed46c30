/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "free-path-search.h"

#include <algorithm>
#include <optional>

namespace ns3::allreduce
{

FreePathSearch::FreePathSearch(const Topology& topology, const std::vector<uint64_t>& freeBps)
    : m_topology(topology),
      m_freeBps(freeBps),
      m_seen(topology.GetNNodes(), 0),
      m_parent(topology.GetNNodes(), 0),
      m_isBlocked(topology.GetNNodes(), false)
{
}

void
FreePathSearch::SetBlocked(const std::vector<NodeId>& nodes)
{
    for (const NodeId node : m_blocked)
    {
        m_isBlocked[node] = false;
    }
    m_blocked = nodes;
    for (const NodeId node : m_blocked)
    {
        m_isBlocked[node] = true;
    }
}

bool
FreePathSearch::IsSeen(NodeId node) const
{
    return m_seen[node] == m_search;
}

void
FreePathSearch::See(NodeId node, NodeId parent)
{
    m_seen[node] = m_search;
    m_parent[node] = parent;
    m_queue.push_back(node);
}

Path
FreePathSearch::FindNearest(NodeId from, uint64_t bandwidthBps, const Score& score)
{
    ++m_search;
    m_queue.clear();
    See(from, from);
    std::size_t levelBegin = 0;
    std::optional<NodeId> best;
    int64_t bestScore = -1;
    while (levelBegin < m_queue.size() && !best)
    {
        const std::size_t levelEnd = m_queue.size();
        for (std::size_t i = levelBegin; i < levelEnd; ++i)
        {
            const NodeId node = m_queue[i];
            if (node != from && m_isBlocked[node])
            {
                continue;
            }
            for (const Topology::Port& port : m_topology.GetPorts(node))
            {
                if (IsSeen(port.neighbor) || m_freeBps[port.out] < bandwidthBps)
                {
                    continue;
                }
                See(port.neighbor, node);
                const int64_t value =
                    m_topology.IsServer(port.neighbor) ? score(port.neighbor) : -1;
                if (value > bestScore)
                {
                    bestScore = value;
                    best = port.neighbor;
                }
            }
        }
        levelBegin = levelEnd;
    }
    return best ? TraceBack(from, *best) : Path();
}

Path
FreePathSearch::TraceBack(NodeId from, NodeId to) const
{
    Path path{to};
    while (path.back() != from)
    {
        path.push_back(m_parent[path.back()]);
    }
    std::reverse(path.begin(), path.end());
    return path;
}

} // namespace ns3::allreduce
