/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "greedy-scheduler.h"

#include "rest-planner.h"

#include "ns3/uinteger.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(GreedyScheduler);

TypeId
GreedyScheduler::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::GreedyScheduler")
                            .SetParent<PlannedScheduler>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<GreedyScheduler>()
                            .AddAttribute("Samples",
                                          "Of so many plans the shortest is taken.",
                                          UintegerValue(1),
                                          MakeUintegerAccessor(&GreedyScheduler::m_samples),
                                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

std::vector<WorkloadList>
GreedyScheduler::PlanAll(const AllReduceState& state)
{
    return PlanRest(state);
}

std::vector<WorkloadList>
GreedyScheduler::PlanRest(const AllReduceState& state)
{
    return PlanRestGreedily(state, GetSeed(), m_samples, GetProgress());
}

} // namespace ns3::allreduce
