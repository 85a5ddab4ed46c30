/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HRL_PLANNER_H
#define ALLREDUCE_HRL_PLANNER_H

#include "plan-outline.h"
#include "policy-rollout.h"
#include "policy-weights.h"

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Plan an AllReduce from its beginning with the two policies: its second half forwards from a
/// middle that ChooseMiddle chooses, its first half as the mirror image, or forwards from the
/// mirrored middle where the halves differ. Middles for plans of several lengths are tried, the
/// bound first. Where that is quick, plans by packing trees are tried, too. A search from the
/// shortest plan tries to shorten it further.
/// @param topology the network, servers connected @param roots by chunk: its root
/// @param weights of the policies @param options how to choose
/// @param nMiddles how many middles are tried @param searchEffort see ShortenBySearch; 0: no search
/// @return the plan
std::vector<WorkloadList> PlanFromMiddle(const Topology& topology,
                                         const std::vector<NodeId>& roots,
                                         const PolicyWeights& weights,
                                         const RolloutOptions& options,
                                         uint32_t nMiddles,
                                         uint64_t searchEffort = 0);

/**
 * @ingroup allreduce
 * Plan what is left of an AllReduce: mirrored, all reduces before the first broadcast; then on the
 * flow-trees of that plan forwards, reduces and broadcasts together. The shorter plan is taken. For
 * groups it is the first.
 *
 * @param state any state in which no workload is in flight
 * @param weights of the policies
 * @param options how to choose
 * @return the rounds that are left
 * @throws InputError if servers are cut off
 */
std::vector<WorkloadList> PlanRemainderByPolicies(const AllReduceState& state,
                                                  const PolicyWeights& weights,
                                                  const RolloutOptions& options);

/// @ingroup allreduce
/// Ask the two policies for one round.
/// @param state any state in which no workload is in flight and something is left to do
/// @param outline of a plan made before, usable for the state @param weights of the policies
/// @param options how to choose @return the round @throws InputError if servers are cut off
WorkloadList ChooseRound(const AllReduceState& state,
                         const PlanOutline& outline,
                         const PolicyWeights& weights,
                         RolloutOptions options);

/// @ingroup allreduce
/// Ask the two policies for one round after the other, as if nothing unforeseen happened.
/// @param state where to begin; no workload is in flight
/// @param outline of a plan made before, usable for the state @param weights of the policies
/// @param options how to choose @return all rounds @throws InputError if servers are cut off
std::vector<WorkloadList> ChooseAllRounds(AllReduceState state,
                                          const PlanOutline& outline,
                                          const PolicyWeights& weights,
                                          const RolloutOptions& options);

/// @ingroup allreduce
/// Find out how to choose by trying it: with several seeds, with the upper policy and without it,
/// fewer where that would take long. @param state where to begin; no workload is in flight
/// @param outline of a plan made before, usable for the state @param weights of the policies
/// @param options how to choose, and the first seed
/// @return the same options with the seed and the upper mode that took the fewest rounds
RolloutOptions Rehearse(const AllReduceState& state,
                        const PlanOutline& outline,
                        const PolicyWeights& weights,
                        const RolloutOptions& options);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HRL_PLANNER_H */
