/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULER_FACTORY_H
#define ALLREDUCE_SCHEDULER_FACTORY_H

#include "allreduce-scheduler.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @return the short names of the schedulers that this build has
 */
std::vector<std::string> GetSchedulerNames();

/**
 * @ingroup allreduce
 *
 * Make a scheduler.
 *
 * @param name a short name such as "ring-aware", or the TypeId name of any AllReduceScheduler
 * @return the scheduler
 * @throws InputError that names what there is
 */
Ptr<AllReduceScheduler> CreateScheduler(const std::string& name);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULER_FACTORY_H */
