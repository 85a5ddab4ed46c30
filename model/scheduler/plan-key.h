/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_KEY_H
#define ALLREDUCE_PLAN_KEY_H

#include "ns3/allreduce-state.h"
#include "ns3/object-base.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a plan from the beginning was made for; for the same key it need not be made again.
 *
 * The parts are kept and compared as they are, so that no two keys are equal by chance.
 */
struct PlanKey
{
    uint32_t nServers{0};                //!< number of servers
    uint32_t nSwitches{0};               //!< number of switches
    std::vector<Link> links;             //!< all links
    Collective collective;               //!< what is to be summed where
    std::vector<std::string> attributes; //!< "Name=value" of all that can be read
};

/// @return whether the two keys are equal in every part
bool operator==(const PlanKey& x, const PlanKey& y);

/**
 * @ingroup allreduce
 *
 * @param planner who plans
 * @param state the beginning of an AllReduce
 * @return the key of what it will plan for this
 */
PlanKey MakePlanKey(const ObjectBase& planner, const AllReduceState& state);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_KEY_H */
