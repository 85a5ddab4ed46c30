/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "server-spanning-tree.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ns3::allreduce
{

template <typename Price>
ServerSpanningTree<Price>::ServerSpanningTree(const Topology& topology)
    : m_topology(topology),
      m_home(topology.GetNNodes()),
      m_price(topology.GetNNodes()),
      m_parent(topology.GetNNodes()),
      m_group(topology.GetNServers())
{
}

template <typename Price>
Price
ServerSpanningTree<Price>::Find(const std::vector<Price>& prices)
{
    Search(prices);
    ListPaths(prices);
    return ChooseEdges();
}

template <typename Price>
const std::vector<typename ServerSpanningTree<Price>::Edge>&
ServerSpanningTree<Price>::GetEdges() const
{
    return m_edges;
}

template <typename Price>
Path
ServerSpanningTree<Price>::GetPath(const Edge& edge) const
{
    const Link& middle = m_topology.GetLink(edge.link);
    const bool isForward = m_home[middle.a] == edge.a;
    Path path;
    for (NodeId node = isForward ? middle.a : middle.b; node != edge.a; node = GetPrevious(node))
    {
        path.push_back(node);
    }
    path.push_back(edge.a);
    std::reverse(path.begin(), path.end());
    for (NodeId node = isForward ? middle.b : middle.a; node != edge.b; node = GetPrevious(node))
    {
        path.push_back(node);
    }
    path.push_back(edge.b);
    return path;
}

template <typename Price>
void
ServerSpanningTree<Price>::Search(const std::vector<Price>& prices)
{
    const uint32_t nServers = m_topology.GetNServers();
    std::fill(m_price.begin(), m_price.begin() + nServers, Price{0});
    std::fill(m_price.begin() + nServers, m_price.end(), std::numeric_limits<Price>::max());
    std::fill(m_home.begin() + nServers, m_home.end(), nServers);
    std::iota(m_home.begin(), m_home.begin() + nServers, 0);
    m_heap.clear();
    auto leave = [&](NodeId node) {
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const Price price = m_price[node] + prices[port.out / 2];
            if (price < m_price[port.neighbor])
            {
                m_price[port.neighbor] = price;
                m_home[port.neighbor] = m_home[node];
                m_parent[port.neighbor] = port.out;
                m_heap.push_back({price, port.neighbor});
                std::push_heap(m_heap.begin(), m_heap.end());
            }
        }
    };
    for (NodeId server = 0; server < nServers; ++server)
    {
        leave(server);
    }
    while (!m_heap.empty())
    {
        std::pop_heap(m_heap.begin(), m_heap.end());
        const Visit visit = m_heap.back();
        m_heap.pop_back();
        if (visit.price == m_price[visit.node])
        {
            leave(visit.node);
        }
    }
}

template <typename Price>
void
ServerSpanningTree<Price>::ListPaths(const std::vector<Price>& prices)
{
    const uint32_t nServers = m_topology.GetNServers();
    m_paths.clear();
    for (LinkId id = 0; id < m_topology.GetNLinks(); ++id)
    {
        const Link& link = m_topology.GetLink(id);
        const NodeId a = m_home[link.a];
        const NodeId b = m_home[link.b];
        if (a != b && a < nServers && b < nServers)
        {
            m_paths.push_back({a, b, id, m_price[link.a] + prices[id] + m_price[link.b]});
        }
    }
    std::sort(m_paths.begin(), m_paths.end(), [](const Edge& x, const Edge& y) {
        return x.price != y.price ? x.price < y.price : x.link < y.link;
    });
}

template <typename Price>
Price
ServerSpanningTree<Price>::ChooseEdges()
{
    m_edges.clear();
    std::iota(m_group.begin(), m_group.end(), 0);
    Price sum{0};
    for (const Edge& path : m_paths)
    {
        const NodeId a = FindGroup(path.a);
        const NodeId b = FindGroup(path.b);
        if (a != b)
        {
            m_group[a] = b;
            m_edges.push_back(path);
            sum += path.price;
        }
    }
    if (m_edges.size() + 1 < m_topology.GetNServers())
    {
        FailInput(m_topology.GetName(), ": no tree joins all servers, expected them connected");
    }
    return sum;
}

template <typename Price>
NodeId
ServerSpanningTree<Price>::FindGroup(NodeId server)
{
    while (m_group[server] != server)
    {
        m_group[server] = m_group[m_group[server]];
        server = m_group[server];
    }
    return server;
}

template class ServerSpanningTree<uint64_t>;
template class ServerSpanningTree<double>;

} // namespace ns3::allreduce
