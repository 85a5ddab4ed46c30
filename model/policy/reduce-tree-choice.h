/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REDUCE_TREE_CHOICE_H
#define ALLREDUCE_REDUCE_TREE_CHOICE_H

#include "planning-problem.h"

#include "ns3/allreduce-state.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * What is left of an AllReduce: the partial sums of every open chunk get a tree to its root, over
 * servers that relay where that must be, such that the trees share the links evenly.
 *
 * @param state any state in which no workload is in flight; its network must outlive the problem
 * @param seed where chance comes from
 * @return what to plan
 * @throws InputError that names a partial sum that cannot reach its root, or a server that a final
 * sum cannot reach
 */
PlanningProblem MakeRest(const AllReduceState& state, uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REDUCE_TREE_CHOICE_H */
