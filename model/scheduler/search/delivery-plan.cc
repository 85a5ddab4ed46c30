/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-plan.h"

#include "ns3/breadth-first-search.h"
#include "ns3/link-prices.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Shortest paths between two servers that are worth knowing.
constexpr uint32_t MOST_PATHS = 4;
/// What a link costs that is in nobody's way is 1; each unit of its price in the bound costs this.
constexpr uint32_t PRICE_WEIGHT = 4;

} // namespace

DeliveryPaths::DeliveryPaths(const Topology& topology)
    : PathTable(topology),
      m_topology(topology),
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
        place->second = Add(links);
        m_pathsTo[GetTarget(place->second)].push_back(place->second);
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

DeliveryPlan
MakeDeliveries(const Topology& topology,
               std::size_t nChunks,
               const std::vector<WorkloadList>& rounds,
               DeliveryPaths& paths)
{
    const uint32_t nServers = topology.GetNServers();
    DeliveryPlan plan;
    plan.nRounds = rounds.size();
    plan.paths.fill(std::vector<PathId>(nChunks * nServers, 0));
    plan.rounds.fill(std::vector<uint32_t>(nChunks * nServers, 0));
    for (uint32_t round = 0; round < rounds.size(); ++round)
    {
        for (std::size_t i = 0; i < rounds[round].GetSize(); ++i)
        {
            const Workload workload = rounds[round].Get(i);
            const uint32_t half = workload.kind == WorkloadKind::REDUCE ? UP : DOWN;
            Path nodes(workload.path.begin(), workload.path.end());
            if (half == UP)
            {
                std::reverse(nodes.begin(), nodes.end());
            }
            const uint32_t index = workload.chunk * nServers + nodes.back();
            plan.paths[half][index] = paths.Find(FindLinks(topology, nodes));
            plan.rounds[half][index] = round;
        }
    }
    return plan;
}

std::vector<WorkloadList>
MakeRounds(const DeliveryPlan& plan, const std::vector<NodeId>& roots, const DeliveryPaths& paths)
{
    std::vector<WorkloadList> rounds(plan.nRounds);
    const uint32_t nServers = plan.paths[UP].size() / roots.size();
    Path nodes;
    for (uint32_t index = 0; index < plan.paths[UP].size(); ++index)
    {
        const ChunkId chunk = index / nServers;
        if (index % nServers != roots[chunk])
        {
            paths.GetNodes(Reverse(plan.paths[UP][index]), nodes);
            rounds[plan.rounds[UP][index]].Add(chunk, WorkloadKind::REDUCE, nodes);
            paths.GetNodes(plan.paths[DOWN][index], nodes);
            rounds[plan.rounds[DOWN][index]].Add(chunk, WorkloadKind::BROADCAST, nodes);
        }
    }
    return rounds;
}

void
Mirror(DeliveryPlan& plan)
{
    std::swap(plan.paths[UP], plan.paths[DOWN]);
    std::swap(plan.rounds[UP], plan.rounds[DOWN]);
    for (std::vector<uint32_t>& rounds : plan.rounds)
    {
        for (uint32_t& round : rounds)
        {
            round = plan.nRounds - 1 - round;
        }
    }
}

} // namespace ns3::allreduce
