/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SWITCH_PATH_SEARCH_H
#define ALLREDUCE_SWITCH_PATH_SEARCH_H

#include "allreduce-topology.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Finds shortest paths of switches over links that have room. What room is, the caller says.
 */
class SwitchPathSearch
{
  public:
    /// However long a path is.
    static constexpr uint32_t ANY_LENGTH = std::numeric_limits<uint32_t>::max();

    /// @param topology the network, which must outlive the search
    explicit SwitchPathSearch(const Topology& topology)
        : m_topology(topology),
          m_reachedIn(topology.GetNNodes(), 0),
          m_previous(topology.GetNNodes(), 0),
          m_length(topology.GetNNodes(), 0)
    {
    }

    /**
     * @param from the sending server
     * @param to the receiving server
     * @param mostLinks no path longer than this
     * @param hasRoom says whether a directed link has room
     * @param [out] path a shortest path with room
     * @return whether there is one
     */
    template <typename HasRoom>
    bool Find(NodeId from, NodeId to, uint32_t mostLinks, HasRoom hasRoom, Path& path)
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
                    !hasRoom(port.out))
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

  private:
    const Topology& m_topology;
    uint32_t m_search{0};              //!< number of the present search
    std::vector<uint32_t> m_reachedIn; //!< by node: the last search that reached it
    std::vector<NodeId> m_previous;    //!< by node reached: where from
    std::vector<uint32_t> m_length;    //!< by node reached: links to it
    std::vector<NodeId> m_queue;       //!< nodes in the order they were reached
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SWITCH_PATH_SEARCH_H */
