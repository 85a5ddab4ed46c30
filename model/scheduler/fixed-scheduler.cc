/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "fixed-scheduler.h"

#include "ns3/allreduce-error.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(FixedScheduler);

TypeId
FixedScheduler::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::FixedScheduler")
                            .SetParent<PlannedScheduler>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<FixedScheduler>();
    return tid;
}

void
FixedScheduler::SetSchedule(AllReduceSchedule schedule)
{
    m_schedule = std::move(schedule);
    ForgetPlan();
}

bool
FixedScheduler::PlansGroups() const
{
    return true;
}

std::vector<WorkloadList>
FixedScheduler::PlanAll(const AllReduceState& state)
{
    if (!(state.GetCollective() == m_schedule.collective))
    {
        FailInput("the schedule is for ",
                  m_schedule.collective.GetNChunks(),
                  " chunks with roots and servers of its own, expected those of the collective, "
                  "which has ",
                  state.GetNChunks());
    }
    return m_schedule.rounds;
}

} // namespace ns3::allreduce
