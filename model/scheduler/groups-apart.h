/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GROUPS_APART_H
#define ALLREDUCE_GROUPS_APART_H

#include "allreduce-scheduler.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"
#include "ns3/collective.h"

#include <functional>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Plan each group of a collective as if it were alone, and send all at the same time, as jobs do
 * that do not know of each other. Where groups want the same link, the workload goes first that is
 * earlier in its own plan. Others follow as soon as data and links allow.
 *
 * @param topology the network
 * @param collective the groups
 * @param makeScheduler makes the scheduler of each group
 * @param progress where they say how far they have come
 * @return the plan of all
 * @throws InputError if a group cannot be planned
 */
AllReduceSchedule PlanApart(const Topology& topology,
                            const Collective& collective,
                            const std::function<Ptr<AllReduceScheduler>()>& makeScheduler,
                            const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GROUPS_APART_H */
