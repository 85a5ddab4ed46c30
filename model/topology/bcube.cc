/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-builder.h"
#include "topology-generators.h"

namespace ns3::allreduce
{

Topology
MakeBCube(uint32_t n, uint32_t k)
{
    TopologyBuilder builder("bcube:" + std::to_string(n) + "," + std::to_string(k));
    builder.Require(n >= 2, "n is ", n, ", expected 2 or more");
    builder.Require(k <= 31, "k is ", k, ", expected 31 or less");

    uint64_t switchesPerLevel = 1;
    for (uint32_t level = 0; level < k; ++level)
    {
        switchesPerLevel = builder.CheckSize(switchesPerLevel * n);
    }
    const uint32_t nServers = builder.CheckSize(switchesPerLevel * n);
    builder.CheckSize(uint64_t{nServers} * (k + 1));
    builder.AddServers(nServers);
    builder.PlaceInRow(0, nServers, 1);

    uint32_t stride = 1; // n^level: the weight of the digit that the level's switches leave out
    for (uint32_t level = 0; level <= k; ++level)
    {
        const NodeId firstSwitch = builder.AddSwitches(switchesPerLevel);
        for (NodeId server = 0; server < nServers; ++server)
        {
            const uint32_t index = server / (stride * n) * stride + server % stride;
            builder.AddLink(server, firstSwitch + index);
        }
        builder.PlaceInRow(firstSwitch, switchesPerLevel, 1 - (level + 1.0) / (k + 1));
        stride *= n;
    }
    return builder.Build();
}

} // namespace ns3::allreduce
