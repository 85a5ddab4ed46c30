/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "server-graph.h"

#include "ns3/breadth-first-search.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

ServerGraph::ServerGraph(const Topology& topology)
    : m_neighbors(topology.GetNServers()),
      m_distances(topology.GetNServers()),
      m_byNumber(topology.GetNServers())
{
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const auto mayPass = [&](NodeId node, const Topology::Port&) {
            return node == server || !topology.IsServer(node);
        };
        const BreadthFirstTree tree = SearchBreadthFirst(topology, server, mayPass);
        for (const NodeId node : tree.order)
        {
            if (node != server && topology.IsServer(node))
            {
                m_neighbors[server].push_back(node);
                m_distances[server].push_back(tree.distance[node]);
            }
        }
        const std::vector<NodeId>& neighbors = m_neighbors[server];
        std::vector<uint32_t>& indices = m_byNumber[server];
        indices.resize(neighbors.size());
        std::iota(indices.begin(), indices.end(), 0);
        std::sort(indices.begin(), indices.end(), [&](uint32_t x, uint32_t y) {
            return neighbors[x] < neighbors[y];
        });
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
    const uint32_t index = FindNeighbor(from, to);
    return index == m_neighbors[from].size() ? UNREACHABLE : m_distances[from][index];
}

uint32_t
ServerGraph::FindNeighbor(NodeId from, NodeId to) const
{
    const std::vector<NodeId>& neighbors = m_neighbors[from];
    const std::vector<uint32_t>& indices = m_byNumber[from];
    const auto found =
        std::lower_bound(indices.begin(), indices.end(), to, [&](uint32_t x, NodeId number) {
            return neighbors[x] < number;
        });
    return found == indices.end() || neighbors[*found] != to ? neighbors.size() : *found;
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

bool
FindFreePath(SwitchPathSearch& search,
             const AllReduceState& state,
             NodeId from,
             NodeId to,
             uint32_t mostLinks,
             Path& path)
{
    const auto hasRoom = [&](DirectedLinkId link) { return state.GetFreeCapacity(link) > 0; };
    return search.Find(from, to, mostLinks, hasRoom, path);
}

} // namespace ns3::allreduce
