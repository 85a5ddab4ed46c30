/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-metrics.h"

#include "breadth-first-search.h"

#include <algorithm>

namespace ns3::allreduce
{

std::vector<uint32_t>
ComputeDistances(const Topology& topology, NodeId from)
{
    return SearchBreadthFirst(topology, from, [](NodeId, const Topology::Port&) { return true; })
        .distance;
}

uint32_t
ComputeDiameter(const Topology& topology)
{
    uint32_t diameter = 0;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const std::vector<uint32_t> distance = ComputeDistances(topology, server);
        diameter = std::max(
            diameter,
            *std::max_element(distance.begin(), distance.begin() + topology.GetNServers()));
    }
    return diameter;
}

uint32_t
ComputeMeanPorts(const Topology& topology)
{
    const uint64_t nServers = topology.GetNServers();
    uint64_t nPorts = 0;
    for (NodeId server = 0; server < nServers; ++server)
    {
        nPorts += topology.GetPorts(server).size();
    }
    return std::max<uint64_t>(1, (nPorts + nServers / 2) / nServers);
}

bool
AreRatesMixed(const Topology& topology)
{
    const std::vector<Link>& links = topology.GetLinks();
    return std::any_of(links.begin(), links.end(), [&](const Link& link) {
        return link.rateBps != links.front().rateBps;
    });
}

Path
FindShortestPath(const Topology& topology, NodeId from, NodeId to)
{
    const std::vector<uint32_t> distance = ComputeDistances(topology, to);
    if (distance[from] == UNREACHABLE)
    {
        return {};
    }
    Path path{from};
    while (path.back() != to)
    {
        for (const Topology::Port& port : topology.GetPorts(path.back()))
        {
            if (distance[port.neighbor] + 1 == distance[path.back()])
            {
                path.push_back(port.neighbor);
                break;
            }
        }
    }
    return path;
}

} // namespace ns3::allreduce
