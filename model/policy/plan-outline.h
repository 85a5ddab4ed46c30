/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_OUTLINE_H
#define ALLREDUCE_PLAN_OUTLINE_H

#include "planning-problem.h"

#include "ns3/allreduce-state.h"
#include "ns3/link-prices.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What the policies keep of a plan when they choose every round anew: the flow-trees of the
/// partial sums, and when each sum was to be final. All else is theirs to decide.
struct PlanOutline
{
    /// By chunk and server: where the server sends its partial sum; the root's own is the root;
    /// NO_SERVER if it is to have none.
    std::vector<std::vector<NodeId>> parents;
    std::vector<uint32_t> due;      //!< by chunk: the round after which its sum is to be final
    uint32_t nRounds{0};            //!< of the AllReduce, those before the plan among them
    std::vector<uint32_t> capacity; //!< by directed link: what the plan was made for
    PriceBound prices;              //!< of the network
};

/// @ingroup allreduce
/// @param state where the plan begins @param rounds a plan of what is left @return its outline
PlanOutline MakeOutline(const AllReduceState& state, const std::vector<WorkloadList>& rounds);

/// @ingroup allreduce
/// @param outline an outline @param state any later state of the AllReduce
/// @return whether the links are what they were and all partial sums lie on the flow-trees
bool IsUsable(const PlanOutline& outline, const AllReduceState& state);

/// @ingroup allreduce
/// @param state any state in which no workload is in flight; its network must outlive the problem
/// @param outline is usable for the state
/// @return what is left of the AllReduce, to be planned forwards
PlanningProblem MakeForward(const AllReduceState& state, const PlanOutline& outline);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_OUTLINE_H */
