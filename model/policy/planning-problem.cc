/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-problem.h"

namespace ns3::allreduce
{

PlanningProblem
MakeHalf(const Topology& topology,
         const std::vector<NodeId>& roots,
         const PlanMiddle& middle,
         uint32_t nRounds)
{
    PlanningProblem problem;
    problem.topology = &topology;
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        problem.capacity.push_back(topology.GetCapacity(link));
    }
    problem.roots = roots;
    problem.isOpen = middle.isOpen;
    problem.parents = middle.parents;
    problem.partners = middle.isSymmetric ? middle.partners
                                          : std::vector<ChunkId>(roots.size(), NO_CHUNK);
    problem.nRounds = nRounds;
    return problem;
}

} // namespace ns3::allreduce
