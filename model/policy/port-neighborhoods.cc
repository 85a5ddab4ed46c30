/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "port-neighborhoods.h"

#include "ns3/topology-metrics.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

void
MergeRow(BitMatrix& into, std::size_t row, const uint64_t* other)
{
    for (std::size_t i = 0; i < into.GetRowWords(); ++i)
    {
        into.GetRow(row)[i] |= other[i];
    }
}

std::vector<uint32_t>
CountRows(const BitMatrix& matrix, std::size_t nRows)
{
    std::vector<uint32_t> counts;
    for (std::size_t row = 0; row < nRows; ++row)
    {
        counts.push_back(matrix.CountRow(row));
    }
    return counts;
}

} // namespace

PortNeighborhoods::PortNeighborhoods(const Topology& topology,
                                     const std::vector<uint32_t>& capacity)
{
    const uint32_t nServers = topology.GetNServers();
    FindPorts(topology, capacity);
    nearestAtPort = BitMatrix(ports.size(), nServers);
    nearest = BitMatrix(nServers, nServers);
    direct = BitMatrix(nServers, nServers);
    BitMatrix near(nServers, nServers);
    for (uint32_t port = 0; port < ports.size(); ++port)
    {
        FindBehindPort(topology, capacity, port, near);
        MergeRow(nearest, ports[port].server, nearestAtPort.GetRow(port));
    }
    FindAroundTwo(std::move(near));
    nNearestAtPort = CountRows(nearestAtPort, ports.size());
    nNearest = CountRows(nearest, nServers);
    nDirect = CountRows(direct, nServers);
    nAroundTwo = CountRows(aroundTwo, nServers);
}

void
PortNeighborhoods::FindPorts(const Topology& topology, const std::vector<uint32_t>& capacity)
{
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        firstPort.push_back(ports.size());
        inCapacity.push_back(0);
        outCapacity.push_back(0);
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            const DirectedLinkId in = Reverse(port.out);
            outCapacity.back() += capacity[port.out];
            inCapacity.back() += capacity[in];
            if (capacity[in] > 0)
            {
                ports.push_back({in, server, topology.IsServer(port.neighbor)});
            }
        }
    }
    firstPort.push_back(ports.size());
}

void
PortNeighborhoods::FindBehindPort(const Topology& topology,
                                  const std::vector<uint32_t>& capacity,
                                  uint32_t port,
                                  BitMatrix& near)
{
    const InPort& here = ports[port];
    const NodeId start = topology.GetSource(here.link);
    if (here.isDirect)
    {
        nearestAtPort.Set(port, start);
        direct.Set(here.server, start);
        near.Set(here.server, start);
        return;
    }
    std::vector<uint32_t> distance(topology.GetNNodes(), UNREACHABLE);
    std::vector<NodeId> queue{start};
    distance[start] = 1;
    distance[here.server] = 0;
    uint32_t least = UNREACHABLE;
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        const NodeId node = queue[i];
        if (topology.IsServer(node))
        {
            least = std::min(least, distance[node]);
            if (distance[node] <= least)
            {
                nearestAtPort.Set(port, node);
            }
            if (distance[node] <= least + 1)
            {
                near.Set(here.server, node);
            }
            continue;
        }
        for (const Topology::Port& next : topology.GetPorts(node))
        {
            if (distance[next.neighbor] == UNREACHABLE && capacity[Reverse(next.out)] > 0)
            {
                distance[next.neighbor] = distance[node] + 1;
                queue.push_back(next.neighbor);
            }
        }
    }
}

void
PortNeighborhoods::FindAroundTwo(BitMatrix near)
{
    aroundTwo = std::move(near);
    const std::size_t nServers = inCapacity.size();
    for (NodeId server = 0; server < nServers; ++server)
    {
        for (NodeId neighbor = 0; neighbor < nServers; ++neighbor)
        {
            if (nearest.Test(server, neighbor))
            {
                MergeRow(aroundTwo, server, nearest.GetRow(neighbor));
            }
        }
        aroundTwo.Clear(server, server);
    }
}

} // namespace ns3::allreduce
