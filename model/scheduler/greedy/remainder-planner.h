/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REMAINDER_PLANNER_H
#define ALLREDUCE_REMAINDER_PLANNER_H

#include "broadcast-problem.h"

#include "ns3/allreduce-state.h"
#include "ns3/planning-progress.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/// Solves a BroadcastProblem.
using BroadcastPlanner = std::function<BroadcastPlan(const BroadcastProblem&)>;

/**
 * @ingroup allreduce
 *
 * Plan the *remainder* of an AllReduce, which is all that is left to do from a state on, with a
 * planner of broadcasts. What is left to reduce, read backwards, is a broadcast from the roots to
 * the servers that still hold partial sums, over relays where there must be some. After it, what is
 * final is broadcast to the servers that lack it.
 *
 * @param state any state in which no workload is under way
 * @param planner plans the two broadcasts
 * @return the rounds that are left
 * @throws InputError if servers are cut off
 */
std::vector<WorkloadList> PlanByMirroring(const AllReduceState& state,
                                          const BroadcastPlanner& planner);

/**
 * @ingroup allreduce
 *
 * PlanByMirroring with the greedy planner.
 *
 * @param state any state in which no workload is under way
 * @param seed random seed
 * @param samples the best of so many plans is taken
 * @param progress where it is said how far planning has come
 * @return the rounds that are left
 */
std::vector<WorkloadList> PlanRemainderGreedily(const AllReduceState& state,
                                                uint64_t seed,
                                                uint32_t samples,
                                                const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REMAINDER_PLANNER_H */
