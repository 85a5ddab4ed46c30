/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_TEST_UTILS_H
#define ALLREDUCE_POLICY_TEST_UTILS_H

#include "allreduce-test-utils.h"

#include "ns3/allreduce-state.h"
#include "ns3/planning-problem.h"
#include "ns3/policy-rollout.h"

#include <cstdint>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// What may choose flow-trees.
inline constexpr UpperMode UPPER_MODES[] = {UpperMode::POLICY, UpperMode::ALL, UpperMode::RULE};

/**
 * @ingroup allreduce-tests
 *
 * @param topology the network
 * @param chunksPerServer number of chunks for each server
 * @param seed random seed
 * @return a half of a plan from a middle with cores
 */
PlanningProblem MakeSomeHalf(const Topology& topology, uint32_t chunksPerServer, uint64_t seed);

/**
 * @ingroup allreduce-tests
 *
 * @param topology the network
 * @param random random numbers
 * @return the middle of an AllReduce: some rounds of some plan, of which workloads were lost, and
 * links that have failed
 */
AllReduceState DrawState(const Topology& topology, TestRandom& random);

/**
 * @ingroup allreduce-tests
 *
 * @param state how far an AllReduce has come
 * @param seed random seed
 * @return what is left, with the outline of a greedy plan
 */
PlanningProblem MakeRest(const AllReduceState& state, uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_TEST_UTILS_H */
