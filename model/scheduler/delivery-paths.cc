/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-paths.h"

#include "ns3/link-prices.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// A node that was not reached.
constexpr uint32_t FAR = UINT32_MAX;
/// Shortest paths between two servers that are worth knowing.
constexpr uint32_t MOST_PATHS = 4;
/// What a link costs that is in nobody's way is 1; each unit of its price in the bound costs this.
constexpr uint32_t PRICE_WEIGHT = 4;

/// @return by node: links from a server over switches, FAR if there is no way
std::vector<uint32_t>
ComputeDistances(const Topology& topology, NodeId source)
{
    std::vector<uint32_t> distances(topology.GetNNodes(), FAR);
    std::vector<NodeId> queue(1, source);
    distances[source] = 0;
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        const NodeId node = queue[i];
        if (node != source && topology.IsServer(node))
        {
            continue;
        }
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            if (distances[port.neighbor] == FAR)
            {
                distances[port.neighbor] = distances[node] + 1;
                queue.push_back(port.neighbor);
            }
        }
    }
    return distances;
}

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
            price += m_linkPrices[link / 2];
        }
        m_prices.push_back(price);
    }
    return place->second;
}

void
DeliveryPaths::AddPathsFrom(NodeId source)
{
    const std::vector<uint32_t> distances = ComputeDistances(m_topology, source);
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        if (server != source && distances[server] != FAR)
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
