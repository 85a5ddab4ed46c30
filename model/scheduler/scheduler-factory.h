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

/**
 * @ingroup allreduce
 *
 * What a user would write to get such a scheduler: CreateScheduler the other way round.
 *
 * @param scheduler a scheduler
 * @return its short name, if it has one, or else the name of its TypeId
 */
std::string GetSchedulerName(const AllReduceScheduler& scheduler);

/**
 * @ingroup allreduce
 *
 * @param name a name that no other type and no other scheduler has
 * @return a new type of this name, for a scheduler
 */
TypeId MakeSchedulerType(const std::string& name);

/**
 * @ingroup allreduce
 *
 * Make a class known by a name, which is then that of its TypeId. For classes without a GetTypeId
 * of their own; if they have one, NS_OBJECT_ENSURE_REGISTERED does the same.
 *
 * @tparam T an AllReduceScheduler with a default constructor
 * @param name a name that no other type and no other scheduler has
 * @return the type
 */
template <typename T>
TypeId
RegisterScheduler(const std::string& name)
{
    return MakeSchedulerType(name).AddConstructor<T>();
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULER_FACTORY_H */
