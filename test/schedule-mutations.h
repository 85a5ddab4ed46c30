/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_MUTATIONS_H
#define ALLREDUCE_SCHEDULE_MUTATIONS_H

#include "allreduce-test-utils.h"

#include <functional>
#include <map>
#include <string>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// A way to corrupt a schedule; @return false if it does not apply.
using Mutation = std::function<bool(OwnSchedule&, const Topology&, TestRandom&)>;

/// @ingroup allreduce-tests
/// @return the ways to corrupt a schedule, by name
std::map<std::string, Mutation> GetMutations();

/// @ingroup allreduce-tests
/// @return the ways to corrupt what a schedule of groups says of its groups, by name
std::map<std::string, Mutation> GetGroupMutations();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_MUTATIONS_H */
