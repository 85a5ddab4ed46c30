/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GREEDY_PLANNER_H
#define ALLREDUCE_GREEDY_PLANNER_H

#include "broadcast-problem.h"

#include "ns3/planning-progress.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Plan a broadcast greedily, round by round, several times with different seeds and preferences,
 * and keep the best plan.
 *
 * @param problem who holds and wants what, and the network
 * @param seed seed of the first attempt; the following ones have the following seeds
 * @param nSamples how many attempts to make, at least one
 * @param progress where it is said how far planning has come
 * @return the plan with the fewest rounds, of these the one with the lowest seed
 * @throws InputError that names chunk and server, if a wanted chunk cannot reach its server
 */
BroadcastPlan PlanGreedyBroadcast(const BroadcastProblem& problem,
                                  uint64_t seed,
                                  uint32_t nSamples = 1,
                                  const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GREEDY_PLANNER_H */
