/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "server-flow.h"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <numeric>

namespace ns3::allreduce
{

ServerFlow::ServerFlow(const Topology& topology, const std::vector<int64_t>& widths)
    : m_nServers(topology.GetNServers()),
      m_nDirectedLinks(topology.GetNDirectedLinks()),
      m_source(topology.GetNNodes()),
      m_sink(m_source + 1)
{
    std::vector<std::pair<uint32_t, uint32_t>> edges;
    for (DirectedLinkId link = 0; link < m_nDirectedLinks; ++link)
    {
        edges.emplace_back(topology.GetSource(link), topology.GetTarget(link));
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        edges.insert(edges.end(),
                     {{m_source, server}, {server, m_source}, {server, m_sink}, {m_sink, server}});
    }
    Build(edges);
    SetWidths(widths);
}

void
ServerFlow::SetWidths(const std::vector<int64_t>& widths)
{
    for (DirectedLinkId link = 0; link < m_nDirectedLinks; ++link)
    {
        m_capacity[m_place[link]] = widths[GetLinkId(link)];
    }
    m_unlimited = std::accumulate(widths.begin(), widths.end(), int64_t{1});
}

void
ServerFlow::SetDirectedWidths(const std::vector<int64_t>& widths)
{
    m_unlimited = 1;
    for (DirectedLinkId link = 0; link < m_nDirectedLinks; ++link)
    {
        m_capacity[m_place[link]] = widths[link];
        m_unlimited += link % 2 == 0 ? std::max(widths[link], widths[Reverse(link)]) : 0;
    }
}

int64_t
ServerFlow::GetUnlimited() const
{
    return m_unlimited;
}

void
ServerFlow::SetSupply(NodeId server, int64_t capacity)
{
    m_capacity[m_place[FirstTerminalEdge(server)]] = capacity;
}

void
ServerFlow::SetDemand(NodeId server, int64_t capacity)
{
    m_capacity[m_place[FirstTerminalEdge(server) + 2]] = capacity;
}

int64_t
ServerFlow::Run()
{
    const auto vertex = get(boost::vertex_index, m_graph);
    const auto edge = get(boost::edge_index, m_graph);
    return boost::boykov_kolmogorov_max_flow(
        m_graph,
        boost::make_iterator_property_map(m_capacity.begin(), edge),
        boost::make_iterator_property_map(m_residual.begin(), edge),
        boost::make_iterator_property_map(m_reverse.begin(), edge),
        boost::make_iterator_property_map(m_predecessor.begin(), vertex),
        boost::make_iterator_property_map(m_color.begin(), vertex),
        boost::make_iterator_property_map(m_distance.begin(), vertex),
        vertex,
        m_source,
        m_sink);
}

int64_t
ServerFlow::FindCut(const std::vector<bool>& isInside)
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        SetSupply(server, isInside[server] ? m_unlimited : 0);
        SetDemand(server, isInside[server] ? 0 : m_unlimited);
    }
    return Run();
}

bool
ServerFlow::IsOnSourceSide(NodeId node) const
{
    return m_color[node] == boost::black_color;
}

uint32_t
ServerFlow::FirstTerminalEdge(NodeId server) const
{
    return m_nDirectedLinks + 4 * server;
}

void
ServerFlow::Build(const std::vector<std::pair<uint32_t, uint32_t>>& edges)
{
    std::vector<uint32_t> order(edges.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
        return edges[x].first < edges[y].first;
    });
    std::vector<std::pair<uint32_t, uint32_t>> sorted;
    m_place.resize(edges.size());
    for (const uint32_t id : order)
    {
        m_place[id] = sorted.size();
        sorted.push_back(edges[id]);
    }
    m_reverse.resize(edges.size());
    for (uint32_t id = 0; id < edges.size(); ++id)
    {
        m_reverse[m_place[id]] = Edge(edges[id].second, m_place[id ^ 1]);
    }
    m_graph = Graph(boost::edges_are_sorted, sorted.begin(), sorted.end(), m_sink + 1);
    m_capacity.assign(edges.size(), 0);
    m_residual.resize(edges.size());
    m_predecessor.resize(m_sink + 1);
    m_color.resize(m_sink + 1);
    m_distance.resize(m_sink + 1);
}

std::vector<int64_t>
GetCapacities(const Topology& topology)
{
    std::vector<int64_t> capacities;
    for (const Link& link : topology.GetLinks())
    {
        capacities.push_back(link.capacity);
    }
    return capacities;
}

} // namespace ns3::allreduce
