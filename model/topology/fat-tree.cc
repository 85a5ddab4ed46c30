/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-builder.h"
#include "topology-generators.h"

namespace ns3::allreduce
{

Topology
MakeFatTree(uint32_t k)
{
    TopologyBuilder builder("fattree:" + std::to_string(k));
    builder.Require(k >= 2 && k % 2 == 0, "k is ", k, ", expected an even number, 2 or more");
    builder.Require(k <= 1024, "k is ", k, ", expected 1024 or less");

    const uint32_t half = k / 2;
    const uint32_t perLayer = k * half;
    const uint32_t nServers = builder.CheckSize(uint64_t{perLayer} * half);
    builder.CheckSize(uint64_t{nServers} * 3);
    builder.AddServers(nServers);
    const NodeId firstEdge = builder.AddSwitches(perLayer);
    const NodeId firstAggregation = builder.AddSwitches(perLayer);
    const NodeId firstCore = builder.AddSwitches(half * half);

    for (NodeId server = 0; server < nServers; ++server)
    {
        builder.AddLink(server, firstEdge + server / half);
    }
    for (uint32_t pod = 0; pod < k; ++pod)
    {
        for (uint32_t i = 0; i < half; ++i)
        {
            const NodeId aggregation = firstAggregation + pod * half + i;
            for (uint32_t j = 0; j < half; ++j)
            {
                builder.AddLink(firstEdge + pod * half + j, aggregation);
                builder.AddLink(aggregation, firstCore + i * half + j);
            }
        }
    }
    builder.PlaceInRow(0, nServers, 1);
    builder.PlaceInRow(firstEdge, perLayer, 0.66);
    builder.PlaceInRow(firstAggregation, perLayer, 0.33);
    builder.PlaceInRow(firstCore, half * half, 0);
    return builder.Build();
}

} // namespace ns3::allreduce
