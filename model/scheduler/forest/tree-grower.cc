/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tree-grower.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// How steeply prices rise: by this factor's exponential with each tree for each unit of capacity.
constexpr double STEEPNESS = 0.3;
/// What a level of depth costs, in mean prices of an edge.
constexpr double DEPTH_PRICE = 0.3;
/// Before there is a tree to learn that price from, an edge is taken to have so many links.
constexpr double LINKS_OF_AN_EDGE = 2;
/// A search for trees serves until paths are dearer than its first one by this factor.
constexpr double PATIENCE = 2;
/// Prices below this are as good as nothing.
constexpr double LEAST_PRICE = 1e-9;

} // namespace

TreeGrower::TreeGrower(const Topology& topology, PathTable& paths)
    : m_topology(topology),
      m_nServers(topology.GetNServers()),
      m_paths(paths),
      m_nTrees(topology.GetNDirectedLinks(), 0),
      m_prices(topology.GetNDirectedLinks(), 0),
      m_depth(m_nServers),
      m_isMember(m_nServers, true),
      m_mayRelay(m_nServers, true),
      m_isJoined(m_nServers),
      m_best(topology.GetNNodes()),
      m_last(topology.GetNNodes())
{
    for (const Link& link : topology.GetLinks())
    {
        m_edgePrice += LINKS_OF_AN_EDGE / link.capacity / topology.GetNLinks();
    }
}

void
TreeGrower::SetMembers(const std::vector<NodeId>& members, std::vector<bool> mayRelay)
{
    m_isMember.assign(m_nServers, false);
    for (const NodeId server : members)
    {
        m_isMember[server] = true;
    }
    m_mayRelay = std::move(mayRelay);
}

void
TreeGrower::SetUse(bool isReduced, bool isBroadcast)
{
    m_isReduced = isReduced;
    m_isBroadcast = isBroadcast;
}

void
TreeGrower::Grow(const std::vector<NodeId>& roots, PathId* toParent)
{
    Begin(roots);
    double price = 0;
    uint32_t nEdges = 0;
    uint32_t nLeft = std::count(m_isMember.begin(), m_isMember.end(), true);
    for (const NodeId root : roots)
    {
        nLeft -= m_isMember[root];
    }
    for (; nLeft > 0; --nLeft)
    {
        price += JoinOverRelays(FindNextServer(roots.front()), toParent, nEdges);
    }
    m_edgePrice = nEdges > 0 ? price / nEdges : m_edgePrice;
}

double
TreeGrower::GetLoad() const
{
    double load = 0;
    for (DirectedLinkId link = 0; link < m_nTrees.size(); ++link)
    {
        load = std::max(load, GetLoad(link));
    }
    return load;
}

void
TreeGrower::Load(DirectedLinkId link)
{
    const double factor = std::exp(STEEPNESS / GetCapacity(link));
    const auto load = [&](DirectedLinkId loaded) {
        m_prices[loaded] *= factor;
        ++m_nTrees[loaded];
    };
    if (m_isBroadcast)
    {
        load(link);
    }
    if (m_isReduced)
    {
        load(Reverse(link));
    }
}

void
TreeGrower::Begin(const std::vector<NodeId>& roots)
{
    const double most = GetLoad();
    for (DirectedLinkId link = 0; link < m_prices.size(); ++link)
    {
        const double price = std::exp(STEEPNESS * (GetLoad(link) - most));
        m_prices[link] = std::max(LEAST_PRICE, price) / GetCapacity(link);
    }
    std::fill(m_isJoined.begin(), m_isJoined.end(), false);
    for (const NodeId root : roots)
    {
        m_isJoined[root] = true;
        m_depth[root] = 0;
    }
    SearchAnew();
}

void
TreeGrower::SearchAnew()
{
    m_mostPrice = HUGE_VAL;
    m_heap.clear();
    std::fill(m_best.begin(), m_best.end(), HUGE_VAL);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (m_isJoined[server])
        {
            LeaveServer(server);
        }
    }
}

double
TreeGrower::GetDepthPrice(NodeId server) const
{
    return m_depth[server] * DEPTH_PRICE * m_edgePrice;
}

void
TreeGrower::LeaveServer(NodeId server)
{
    Leave(server, GetDepthPrice(server));
}

void
TreeGrower::Leave(NodeId node, double price)
{
    for (const Topology::Port& port : m_topology.GetPorts(node))
    {
        const double there = price + GetPrice(port.out);
        const bool isInTree = m_topology.IsServer(port.neighbor) && m_isJoined[port.neighbor];
        if (!isInTree && there < m_best[port.neighbor])
        {
            m_best[port.neighbor] = there;
            m_last[port.neighbor] = port.out;
            m_heap.push_back({there, port.neighbor});
            std::push_heap(m_heap.begin(), m_heap.end());
        }
    }
}

NodeId
TreeGrower::FindNextServer(NodeId root)
{
    std::optional<Visit> server = FindInSearch();
    if (!server)
    {
        SearchAnew();
        server = FindInSearch();
    }
    if (!server)
    {
        NodeId apart = 0;
        while (m_isJoined[apart] || !m_isMember[apart])
        {
            ++apart;
        }
        FailInput("server ", apart, " cannot reach server ", root);
    }
    m_mostPrice = std::min(m_mostPrice, server->price * PATIENCE);
    return server->node;
}

std::optional<TreeGrower::Visit>
TreeGrower::FindInSearch()
{
    while (!m_heap.empty() && m_heap.front().price <= m_mostPrice)
    {
        std::pop_heap(m_heap.begin(), m_heap.end());
        const Visit visit = m_heap.back();
        m_heap.pop_back();
        if (visit.price > m_best[visit.node])
        {
            continue;
        }
        if (!m_topology.IsServer(visit.node))
        {
            Leave(visit.node, visit.price);
        }
        else if (!m_isMember[visit.node])
        {
            PassOver(visit);
        }
        else if (!m_isJoined[visit.node] && GetPresentPrice(visit.node) <= m_mostPrice)
        {
            return visit;
        }
    }
    return {};
}

void
TreeGrower::PassOver(const Visit& visit)
{
    if (m_mayRelay[visit.node] && !m_isJoined[visit.node])
    {
        Leave(visit.node, visit.price + DEPTH_PRICE * m_edgePrice);
    }
}

double
TreeGrower::GetPresentPrice(NodeId server) const
{
    double price = 0;
    NodeId node = server;
    do
    {
        price += GetPrice(m_last[node]);
        node = m_topology.GetSource(m_last[node]);
    } while (!m_topology.IsServer(node) || !m_isJoined[node]);
    return price + GetDepthPrice(node);
}

double
TreeGrower::JoinOverRelays(NodeId server, PathId* toParent, uint32_t& nEdges)
{
    std::vector<NodeId> joining{server};
    for (NodeId node = server; !m_topology.IsServer(node) || !m_isJoined[node];
         node = m_topology.GetSource(m_last[node]))
    {
        if (m_topology.IsServer(node) && node != server)
        {
            joining.push_back(node);
        }
    }
    double price = 0;
    for (; !joining.empty(); joining.pop_back(), ++nEdges)
    {
        price += Join(joining.back(), toParent);
        LeaveServer(joining.back());
    }
    return price;
}

double
TreeGrower::Join(NodeId server, PathId* toParent)
{
    double price = 0;
    m_links.clear();
    NodeId node = server;
    do
    {
        m_links.push_back(Reverse(m_last[node]));
        price += GetPrice(m_last[node]);
        Load(m_last[node]);
        node = m_topology.GetSource(m_last[node]);
    } while (!m_topology.IsServer(node));
    m_isJoined[server] = true;
    m_depth[server] = m_depth[node] + 1;
    toParent[server] = m_paths.Add(m_links);
    return price;
}

} // namespace ns3::allreduce
