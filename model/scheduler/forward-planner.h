/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FORWARD_PLANNER_H
#define ALLREDUCE_FORWARD_PLANNER_H

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Plan greedily forwards in time: in every round reduces and broadcasts are chosen together for
 * the state at hand, without a look at what comes after.
 *
 * @param state any state in which no workload is in flight
 * @param seed where chance comes from
 * @param samples the shortest of so many plans is taken
 * @return the rounds that are left
 * @throws InputError if servers are cut off
 */
std::vector<WorkloadList> PlanForwards(const AllReduceState& state,
                                       uint64_t seed,
                                       uint32_t samples);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FORWARD_PLANNER_H */
