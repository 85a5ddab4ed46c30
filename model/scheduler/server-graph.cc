/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "server-graph.h"

#include "ns3/topology-metrics.h"

#include <algorithm>

namespace ns3::allreduce
{

ServerGraph::ServerGraph(const Topology& topology)
    : m_topology(topology),
      m_neighbors(topology.GetNServers()),
      m_distances(topology.GetNServers())
{
    std::vector<uint32_t> distance(topology.GetNNodes(), UNREACHABLE);
    std::vector<NodeId> queue;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        queue.assign(1, server);
        distance[server] = 0;
        for (std::size_t i = 0; i < queue.size(); ++i)
        {
            if (i > 0 && topology.IsServer(queue[i]))
            {
                m_neighbors[server].push_back(queue[i]);
                m_distances[server].push_back(distance[queue[i]]);
                continue;
            }
            for (const Topology::Port& port : topology.GetPorts(queue[i]))
            {
                if (distance[port.neighbor] == UNREACHABLE)
                {
                    distance[port.neighbor] = distance[queue[i]] + 1;
                    queue.push_back(port.neighbor);
                }
            }
        }
        for (const NodeId node : queue)
        {
            distance[node] = UNREACHABLE;
        }
    }
}

const std::vector<NodeId>&
ServerGraph::GetNeighbors(NodeId server) const
{
    return m_neighbors[server];
}

uint32_t
ServerGraph::GetNLinks(NodeId from, NodeId to) const
{
    const auto neighbor = std::find(m_neighbors[from].begin(), m_neighbors[from].end(), to);
    return neighbor == m_neighbors[from].end()
               ? UNREACHABLE
               : m_distances[from][neighbor - m_neighbors[from].begin()];
}

std::vector<uint32_t>
ServerGraph::ComputeHops(NodeId from) const
{
    std::vector<uint32_t> hops(m_neighbors.size(), UNREACHABLE);
    std::vector<NodeId> queue{from};
    hops[from] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        for (const NodeId neighbor : m_neighbors[queue[i]])
        {
            if (hops[neighbor] == UNREACHABLE)
            {
                hops[neighbor] = hops[queue[i]] + 1;
                queue.push_back(neighbor);
            }
        }
    }
    return hops;
}

Topology
MakeNetworkThatIsUp(const AllReduceState& state)
{
    const Topology& topology = state.GetTopology();
    std::vector<Link> links;
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        if (state.IsLinkUp(link))
        {
            links.push_back(topology.GetLink(link));
        }
    }
    return topology.WithLinks(topology.GetName(), std::move(links));
}

} // namespace ns3::allreduce
