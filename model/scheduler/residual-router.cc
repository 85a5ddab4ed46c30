/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "residual-router.h"

#include <algorithm>

namespace ns3::allreduce
{

ResidualRouter::ResidualRouter(const Topology& topology)
    : m_topology(topology),
      m_reachedIn(topology.GetNNodes(), 0),
      m_previous(topology.GetNNodes(), 0),
      m_length(topology.GetNNodes(), 0)
{
}

bool
ResidualRouter::FindPath(const AllReduceState& state,
                         NodeId from,
                         NodeId to,
                         uint32_t mostLinks,
                         Path& path)
{
    ++m_search;
    m_queue.assign(1, from);
    m_reachedIn[from] = m_search;
    m_length[from] = 0;
    for (std::size_t i = 0; i < m_queue.size() && m_reachedIn[to] != m_search; ++i)
    {
        const NodeId node = m_queue[i];
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            if (m_reachedIn[port.neighbor] == m_search || m_length[node] == mostLinks ||
                (m_topology.IsServer(port.neighbor) && port.neighbor != to) ||
                state.GetFreeCapacity(port.out) == 0)
            {
                continue;
            }
            m_reachedIn[port.neighbor] = m_search;
            m_previous[port.neighbor] = node;
            m_length[port.neighbor] = m_length[node] + 1;
            m_queue.push_back(port.neighbor);
        }
    }
    if (m_reachedIn[to] != m_search)
    {
        return false;
    }
    path.assign(1, to);
    while (path.back() != from)
    {
        path.push_back(m_previous[path.back()]);
    }
    std::reverse(path.begin(), path.end());
    return true;
}

} // namespace ns3::allreduce
