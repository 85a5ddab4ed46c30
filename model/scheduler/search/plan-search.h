/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_SEARCH_H
#define ALLREDUCE_PLAN_SEARCH_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/planning-progress.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// What a search does unless told otherwise: about a second.
constexpr uint64_t DEFAULT_SEARCH_EFFORT = 60'000'000;

/// @ingroup allreduce
/// Half a year of searching; the effort of a large plan, a share of this, is computed in 64 bits.
constexpr uint64_t MOST_SEARCH_EFFORT = 1'000'000'000'000'000;

/**
 * @ingroup allreduce
 *
 * Look for a shorter plan in the neighbourhood of a plan.
 *
 * Two searches take turns. AnnealingSearch makes other plans of the same length, and shorter ones
 * where time is lost because workloads wait for each other. EjectionSearch takes a round out of
 * what it is given, and finds room for what was in it where links are wide or paths are many.
 *
 * The effort is what counts, not the time that it takes, so the same seed gives the same plan.
 * Large plans get less: they would be changed too little for their cost.
 *
 * @param topology the network
 * @param roots the root of each chunk
 * @param rounds a plan for all of an AllReduce
 * @param enough no fewer rounds are needed: a lower bound
 * @param effort about how many places for a workload may be looked at
 * @param seed random seed
 * @param progress where it is said how much of the effort is spent
 * @return the plan or a shorter one; the plan itself if it relays partial sums
 */
std::vector<WorkloadList> ShortenBySearch(const Topology& topology,
                                          const std::vector<NodeId>& roots,
                                          std::vector<WorkloadList> rounds,
                                          uint32_t enough,
                                          uint64_t effort = DEFAULT_SEARCH_EFFORT,
                                          uint64_t seed = 1,
                                          const PlanningProgress& progress = {});

/**
 * @ingroup allreduce
 *
 * @param nWorkloads workloads of a plan
 * @param effort what is asked for
 * @return what ShortenBySearch spends at most
 */
uint64_t GetSearchEffort(std::size_t nWorkloads, uint64_t effort);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_SEARCH_H */
