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
 * Plan an AllReduce from any state with a planner of broadcasts. What is left to reduce, read
 * backwards, is a broadcast from the roots to the servers that still hold partial sums, over
 * relays where there must be some; then what is final is broadcast to the servers that lack it.
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
 * Drop reduces of servers that hold nothing: of relays on which nobody relied; and rounds that are
 * then empty.
 *
 * @param state where the rounds begin
 * @param rounds the rounds
 * @return the rounds without
 */
std::vector<WorkloadList> DropEmptyReduces(const AllReduceState& state,
                                           const std::vector<WorkloadList>& rounds);

/**
 * @ingroup allreduce
 *
 * Send each workload as early as its data and its links allow, those of earlier rounds first.
 *
 * @param state where the rounds begin
 * @param rounds workloads in an order in which data allows them; links may be over their capacity
 * @return rounds in which no link is
 */
std::vector<WorkloadList> Compact(const AllReduceState& state,
                                  const std::vector<WorkloadList>& rounds);

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
