/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_STAGGERED_PLAN_H
#define ALLREDUCE_STAGGERED_PLAN_H

#include "policy-rollout.h"

#include "ns3/allreduce-state.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Plan an AllReduce whose reduce and broadcast overlap: the upper policy staggers the flow-trees of
 * the reduce (read backwards, it selects when each begins), and every chunk is broadcast as soon as
 * its sum is final. The lower policy picks the workloads of both halves.
 *
 * @param state any state in which no workload is in flight
 * @param weights of the policies, for mirrored plans
 * @param options how to choose
 * @param [out] record what the upper policy decided, and the length of the plan; may be null
 * @return the rounds that are left
 * @throws InputError if servers are cut off
 */
std::vector<WorkloadList> PlanStaggered(const AllReduceState& state,
                                        const PolicyWeights& weights,
                                        const RolloutOptions& options,
                                        EpisodeRecord* record = nullptr);

/**
 * @ingroup allreduce
 *
 * Try what the upper policy would do, what it would do if it were more or less eager, and some
 * fixed rules for when trees begin.
 *
 * @param state any state in which no workload is in flight
 * @param weights of the policies, for mirrored plans
 * @param seed decides ties of the lower policy
 * @return the decisions that made the shortest plan; of equal ones those of the upper policy
 */
EpisodeRecord FindBestStagger(const AllReduceState& state,
                              const PolicyWeights& weights,
                              uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_STAGGERED_PLAN_H */
