/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REST_PLANNER_H
#define ALLREDUCE_REST_PLANNER_H

#include "broadcast-problem.h"
#include "planning-progress.h"

#include "ns3/allreduce-state.h"

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
 * Plan an AllReduce from any state with a planner of broadcasts. What is left to reduce, read
 * backwards, is a broadcast from the roots to the servers that still hold partial sums, over
 * relays where there must be some; then what is final is broadcast to the servers that lack it.
 *
 * @param state any state in which no workload is in flight
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
 * @param state any state in which no workload is in flight
 * @param seed where chance comes from
 * @param samples the best of so many plans is taken
 * @param progress where it is said how far planning has come
 * @return the rounds that are left
 */
std::vector<WorkloadList> PlanRestGreedily(const AllReduceState& state,
                                           uint64_t seed,
                                           uint32_t samples,
                                           const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REST_PLANNER_H */
