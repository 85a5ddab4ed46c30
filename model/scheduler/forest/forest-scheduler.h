/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_SCHEDULER_H
#define ALLREDUCE_FOREST_SCHEDULER_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/collective.h"
#include "ns3/planning-progress.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Plan by packing flow-trees, as ForestScheduler does.
 *
 * @param topology the network, servers connected
 * @param collective what is to be summed where
 * @param seed breaks ties
 * @param nSamples of so many forests the one with the shortest plan is taken
 * @param progress where it is said how far planning has come
 * @return the plan
 */
std::vector<WorkloadList> PlanForest(const Topology& topology,
                                     const Collective& collective,
                                     uint64_t seed,
                                     uint32_t nSamples,
                                     const PlanningProgress& progress = {});

/**
 * @ingroup allreduce
 *
 * Plan what is left of a collective by packing flow-trees: from the servers that hold partial sums
 * to the roots, and from those that have final sums to the servers that lack them. The plan is
 * never longer than PlanRemainderGreedily's, which is pushed together like timetables of forests.
 *
 * @param state any state in which no workload is in flight
 * @param seed breaks ties
 * @param nSamples of so many forests the one with the shortest plan is taken
 * @param progress where it is said how far planning has come
 * @return the rounds that are left
 * @throws InputError if servers are cut off
 */
std::vector<WorkloadList> PlanRemainderByForest(const AllReduceState& state,
                                                uint64_t seed,
                                                uint32_t nSamples,
                                                const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_SCHEDULER_H */
