/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-problem.h"

#include <algorithm>

namespace ns3::allreduce
{

void
SetPrices(PlanningProblem& problem, const PriceBound& bound)
{
    const float most = *std::max_element(bound.prices.begin(), bound.prices.end());
    for (const uint64_t price : bound.prices)
    {
        problem.prices.push_back(price / most);
    }
    problem.nParts = bound.parts.size();
    problem.partOf.assign(problem.topology->GetNServers(), 0);
    for (uint32_t part = 0; part < problem.nParts; ++part)
    {
        for (const NodeId server : bound.parts[part])
        {
            problem.partOf[server] = part;
        }
    }
}

PlanningProblem
MakeHalf(const Topology& topology,
         const std::vector<NodeId>& roots,
         const PlanMiddle& middle,
         uint32_t nRounds,
         const PriceBound& prices)
{
    PlanningProblem problem;
    problem.topology = &topology;
    problem.capacity = topology.GetCapacities();
    problem.roots = roots;
    problem.isOpen = middle.isOpen;
    problem.parents = middle.parents;
    problem.partners =
        middle.isSymmetric ? middle.partners : std::vector<ChunkId>(roots.size(), NO_CHUNK);
    problem.nRounds = nRounds;
    SetPrices(problem, prices);
    return problem;
}

PlanningProblem
MakeBroadcast(const BroadcastProblem& broadcast)
{
    const uint32_t nServers = broadcast.topology->GetNServers();
    PlanningProblem problem;
    problem.topology = broadcast.topology;
    problem.capacity = broadcast.capacity;
    problem.roots.assign(broadcast.nChunks, NO_SERVER);
    problem.isOpen.assign(broadcast.nChunks, false);
    problem.parents.assign(broadcast.nChunks, std::vector<NodeId>(nServers, NO_SERVER));
    problem.partners.assign(broadcast.nChunks, NO_CHUNK);
    problem.wants = FindReceivers(broadcast); // who relays receives, too
    for (ChunkId chunk = 0; chunk < broadcast.nChunks; ++chunk)
    {
        for (NodeId server = nServers; server-- > 0;)
        {
            if (broadcast.holders.Test(server, chunk))
            {
                problem.parents[chunk][server] = server;
                problem.roots[chunk] = server;
            }
        }
    }
    SetPrices(problem, FindLinkPrices(*problem.topology));
    return problem;
}

} // namespace ns3::allreduce
