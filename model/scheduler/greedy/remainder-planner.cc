/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "remainder-planner.h"

#include "greedy-planner.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/chunk-needs.h"
#include "ns3/round-compaction.h"

#include <algorithm>
#include <iterator>

namespace ns3::allreduce
{

namespace
{

/// @return a broadcast in the network of a state
BroadcastProblem
MakeBroadcast(const AllReduceState& state, const BitMatrix& holders, const BitMatrix& wants)
{
    return {&state.GetTopology(),
            state.GetCapacities(),
            state.GetNChunks(),
            holders,
            wants,
            state.GetMayHold()};
}

/// @return the reduce that is left, read backwards: from the roots to all partial sums
BroadcastProblem
MakeMirroredReduce(const AllReduceState& state, const ChunkNeeds& needs)
{
    BroadcastProblem problem = MakeBroadcast(state, needs.collects, needs.gives);
    // Mirrored, what a link carries in one direction it carries in the other.
    for (std::size_t link = 0; link + 1 < problem.capacity.size(); link += 2)
    {
        std::swap(problem.capacity[link], problem.capacity[link + 1]);
    }
    return problem;
}

/// @return whether the two broadcasts are one and the same, as they are from the beginning
bool
AreSame(const BroadcastProblem& x, const BroadcastProblem& y)
{
    const auto areSame = [nServers = x.topology->GetNServers()](const BitMatrix& a,
                                                                const BitMatrix& b) {
        return std::equal(a.GetRow(0), a.GetRow(nServers), b.GetRow(0));
    };
    return areSame(x.wants, y.wants) && areSame(x.holders, y.holders) && x.capacity == y.capacity;
}

} // namespace

std::vector<WorkloadList>
PlanByMirroring(const AllReduceState& state, const BroadcastPlanner& planner)
{
    const ChunkNeeds needs(state);
    const BroadcastProblem reduce = MakeMirroredReduce(state, needs);
    const BroadcastProblem broadcast = MakeBroadcast(state, needs.hasSum, needs.lacksSum);
    std::vector<WorkloadList> broadcastRounds = planner(broadcast);
    const bool areSame = AreSame(reduce, broadcast);
    std::vector<WorkloadList> reduceRounds = Mirror(areSame ? broadcastRounds : planner(reduce));
    if (areSame && state.GetCollective().IsOfAll())
    {
        std::move(broadcastRounds.begin(), broadcastRounds.end(), std::back_inserter(reduceRounds));
        return reduceRounds;
    }
    reduceRounds = DropEmptyReduces(state, reduceRounds);
    std::move(broadcastRounds.begin(), broadcastRounds.end(), std::back_inserter(reduceRounds));
    return Compact(state, reduceRounds);
}

std::vector<WorkloadList>
PlanRemainderGreedily(const AllReduceState& state,
                      uint64_t seed,
                      uint32_t samples,
                      const PlanningProgress& progress)
{
    return PlanByMirroring(state, [&](const BroadcastProblem& problem) {
        return PlanGreedyBroadcast(problem, seed, samples, progress);
    });
}

} // namespace ns3::allreduce
