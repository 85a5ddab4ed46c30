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
 * @return the short names of the schedulers that this build has, and those that RegisterScheduler
 * has given
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
 * @param parent a type of schedulers, whose attributes the new type has, too
 * @return a new type of this name, for a scheduler
 */
TypeId MakeSchedulerType(const std::string& name, TypeId parent);

/**
 * @ingroup allreduce
 *
 * Make a class known by a name, which is then that of its TypeId. For classes without a GetTypeId
 * of their own, which have the attributes of the class that they derive from. A name without "::"
 * is a short name: GetSchedulerNames has it, and so have `--help` and `--scheduler=all`.
 *
 * @tparam T an AllReduceScheduler with a default constructor
 * @param name a name that no other type and no other scheduler has
 * @return the type
 */
template <typename T>
TypeId
RegisterScheduler(const std::string& name)
{
    TypeId type = MakeSchedulerType(name, T::GetTypeId());
    return type.AddConstructor<T>();
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULER_FACTORY_H */
