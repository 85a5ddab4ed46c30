/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-plan.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

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
