/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-paths.h"

#include "ns3/breadth-first-search.h"
#include "ns3/link-prices.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// A node that was not reached.
/// Shortest paths between two servers that are worth knowing.
constexpr uint32_t MOST_PATHS = 4;
/// What a link costs that is in nobody's way is 1; each unit of its price in the bound costs this.
constexpr uint32_t PRICE_WEIGHT = 4;

} // namespace

DeliveryPaths::DeliveryPaths(const Topology& topology)
    : m_topology(topology),
      m_table(topology),
      m_pathsTo(topology.GetNServers())
{
    for (const uint64_t price : FindLinkPrices(topology).prices)
    {
        m_linkPrices.push_back(1 + PRICE_WEIGHT * price);
    }
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        AddPathsFrom(server);
    }
}

PathId
DeliveryPaths::Find(const std::vector<DirectedLinkId>& links)
{
    const auto [place, isNew] = m_known.emplace(links, 0);
    if (isNew)
    {
        place->second = m_table.Add(links);
        m_pathsTo[m_table.GetTarget(place->second)].push_back(place->second);
        uint32_t price = 0;
        for (const DirectedLinkId link : links)
        {
            price += m_linkPrices[GetLinkId(link)];
        }
        m_prices.push_back(price);
    }
    return place->second;
}

void
DeliveryPaths::AddPathsFrom(NodeId source)
{
    const auto mayPass = [&](NodeId node, const Topology::Port&) {
        return node == source || !m_topology.IsServer(node);
    };
    const std::vector<uint32_t> distances =
        SearchBreadthFirst(m_topology, source, mayPass).distance;
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        if (server != source && distances[server] != UNREACHABLE)
        {
            uint32_t nAdded = 0;
            AddPathsBack(server, distances, nAdded);
        }
    }
}

void
DeliveryPaths::AddPathsBack(NodeId node, const std::vector<uint32_t>& distances, uint32_t& nAdded)
{
    if (distances[node] == 0)
    {
        Find({m_back.rbegin(), m_back.rend()});
        ++nAdded;
        return;
    }
    for (const Topology::Port& port : m_topology.GetPorts(node))
    {
        const bool isCloser = distances[port.neighbor] + 1 == distances[node];
        const bool mayPass = distances[port.neighbor] == 0 || !m_topology.IsServer(port.neighbor);
        if (isCloser && mayPass && nAdded < MOST_PATHS)
        {
            m_back.push_back(Reverse(port.out));
            AddPathsBack(port.neighbor, distances, nAdded);
            m_back.pop_back();
        }
    }
}

} // namespace ns3::allreduce
