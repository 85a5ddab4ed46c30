/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GROUP_PLANNER_H
#define ALLREDUCE_GROUP_PLANNER_H

#include "policy-rollout.h"
#include "policy-weights.h"

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Plan a collective of groups from its beginning, the chunks of all groups together. A greedy plan
/// and, unless there are many transfers, packed trees come first. If they are not at the bound, the
/// two policies plan, in several tries that break ties differently: broadcasts forwards, reduces as
/// broadcasts that are then mirrored, and then the two are pushed together. The shortest plan is
/// taken.
/// @param state the beginning @param weights of the policies @param options how to choose
/// @param mostTries so many tries at most, fewer where that would take long @return the plan
/// @throws InputError if servers are cut off
std::vector<WorkloadList> PlanGroupsByPolicies(const AllReduceState& state,
                                               const PolicyWeights& weights,
                                               const RolloutOptions& options,
                                               uint32_t mostTries);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GROUP_PLANNER_H */
