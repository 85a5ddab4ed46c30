/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_IMITATION_H
#define ALLREDUCE_PLAN_IMITATION_H

#include "policy-rollout.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Follow a plan and write down the decisions that lead to it, for a policy to learn from. The
 * workloads of a round are picked in random order. The upper policy's part is to select the trees
 * that the round works on.
 *
 * @param environment what was planned; at its beginning
 * @param plan its rounds
 * @param weights say what is decided; not how
 * @param seed where chance comes from
 * @return the decisions; where the plan does what the environment does not offer, that is left out
 */
EpisodeRecord RecordPlan(PlanningEnvironment& environment,
                         const std::vector<WorkloadList>& plan,
                         const PolicyWeights& weights,
                         uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_IMITATION_H */
