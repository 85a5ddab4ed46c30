/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tree-grower.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <numeric>
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
/// Where rates change, links that have got more to carry than this beyond others are as dear as
/// links can be: others must still be told apart.
constexpr double MOST_ABOVE_MIDDLE = 20;
/// Prices below this are as good as nothing.
constexpr double LEAST_PRICE = 1e-9;
/// No link that can be used is dearer: next to nothing is more than nothing.
constexpr double MOST_PRICE = 1e100;

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
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        m_capacities.push_back(topology.GetLinkOf(link).capacity);
    }
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
TreeGrower::SetCapacities(std::vector<double> capacities)
{
    m_capacities = std::move(capacities);
    m_leavesOut = true;
}

void
TreeGrower::Grow(const std::vector<NodeId>& roots, PathId* toParent)
{
    Begin(roots);
    m_edgePrices.clear();
    uint32_t nLeft = std::count(m_isMember.begin(), m_isMember.end(), true);
    for (const NodeId root : roots)
    {
        nLeft -= m_isMember[root];
    }
    for (; nLeft > 0; --nLeft)
    {
        const std::optional<NodeId> server = FindNextServer();
        if (!server && m_leavesOut)
        {
            break;
        }
        if (!server)
        {
            FailUnreachable(roots.front());
        }
        JoinOverRelays(*server, toParent);
    }
    UpdateEdgePrice();
}

void
TreeGrower::UpdateEdgePrice()
{
    if (m_edgePrices.empty())
    {
        return;
    }
    if (m_leavesOut) // Those of servers with slow links only say nothing of others.
    {
        const auto middle = m_edgePrices.begin() + m_edgePrices.size() / 2;
        std::nth_element(m_edgePrices.begin(), middle, m_edgePrices.end());
        m_edgePrice = *middle;
        return;
    }
    m_edgePrice =
        std::accumulate(m_edgePrices.begin(), m_edgePrices.end(), 0.0) / m_edgePrices.size();
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
    const double factor = std::exp(STEEPNESS / m_capacities[link]);
    const auto load = [&](DirectedLinkId loaded) {
        if (!std::isinf(m_prices[loaded]))
        {
            m_prices[loaded] = std::min(m_prices[loaded] * factor, MOST_PRICE);
        }
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
    const double most = FindMostLoad();
    for (DirectedLinkId link = 0; link < m_prices.size(); ++link)
    {
        const double price = std::exp(STEEPNESS * (std::min(GetLoad(link), most) - most));
        m_prices[link] =
            m_capacities[link] > 0 ? std::max(LEAST_PRICE, price) / m_capacities[link] : HUGE_VAL;
    }
    std::fill(m_isJoined.begin(), m_isJoined.end(), false);
    for (const NodeId root : roots)
    {
        m_isJoined[root] = true;
        m_depth[root] = 0;
    }
    SearchAnew();
}

double
TreeGrower::FindMostLoad() const
{
    const double most = GetLoad();
    if (!m_leavesOut)
    {
        return most;
    }
    std::vector<double> loads(m_nTrees.size());
    for (DirectedLinkId link = 0; link < loads.size(); ++link)
    {
        loads[link] = GetLoad(link);
    }
    const auto middle = loads.begin() + loads.size() / 2;
    std::nth_element(loads.begin(), middle, loads.end());
    return std::min(most, *middle + MOST_ABOVE_MIDDLE);
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

std::optional<NodeId>
TreeGrower::FindNextServer()
{
    std::optional<Visit> server = FindInSearch();
    if (!server)
    {
        SearchAnew();
        server = FindInSearch();
    }
    if (!server)
    {
        return std::nullopt;
    }
    m_mostPrice = std::min(m_mostPrice, server->price * PATIENCE);
    return server->node;
}

void
TreeGrower::FailUnreachable(NodeId root) const
{
    NodeId apart = 0;
    while (m_isJoined[apart] || !m_isMember[apart])
    {
        ++apart;
    }
    FailInput("server ", apart, " cannot reach server ", root);
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

void
TreeGrower::JoinOverRelays(NodeId server, PathId* toParent)
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
    for (; !joining.empty(); joining.pop_back())
    {
        m_edgePrices.push_back(Join(joining.back(), toParent));
        LeaveServer(joining.back());
    }
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
