/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "server-hops.h"

namespace ns3::allreduce
{

std::vector<uint32_t>
ComputeServerHops(const Topology& topology, const std::vector<NodeId>& from)
{
    std::vector<uint32_t> hops(topology.GetNNodes(), UNREACHABLE);
    std::vector<NodeId> servers = from;
    std::vector<NodeId> switches;
    for (const NodeId server : from)
    {
        hops[server] = 0;
    }
    auto reachNeighbors = [&](NodeId node, uint32_t value) {
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            if (hops[port.neighbor] == UNREACHABLE)
            {
                hops[port.neighbor] = value;
                (topology.IsServer(port.neighbor) ? servers : switches).push_back(port.neighbor);
            }
        }
    };
    for (std::size_t i = 0; i < servers.size(); ++i)
    {
        const uint32_t next = hops[servers[i]] + 1;
        reachNeighbors(servers[i], next);
        while (!switches.empty())
        {
            const NodeId node = switches.back();
            switches.pop_back();
            reachNeighbors(node, next);
        }
    }
    hops.resize(topology.GetNServers());
    return hops;
}

} // namespace ns3::allreduce
