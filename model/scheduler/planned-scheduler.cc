/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planned-scheduler.h"

#include "rest-planner.h"

#include "ns3/uinteger.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(PlannedScheduler);

TypeId
PlannedScheduler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::PlannedScheduler")
            .SetParent<AllReduceScheduler>()
            .SetGroupName("AllReduce")
            .AddAttribute("Seed",
                          "Where chance comes from; the same seed gives the same plan.",
                          UintegerValue(1),
                          MakeUintegerAccessor(&PlannedScheduler::m_seed),
                          MakeUintegerChecker<uint64_t>());
    return tid;
}

uint64_t
PlannedScheduler::GetSeed() const
{
    return m_seed;
}

uint32_t
PlannedScheduler::GetNReplans() const
{
    return m_nReplans;
}

WorkloadList
PlannedScheduler::NextRound(const AllReduceState& state)
{
    if (state.IsDone())
    {
        return {};
    }
    if (state.IsFresh())
    {
        m_plan = PlanAll(state);
        m_next = 0;
    }
    else if (m_next == m_plan.size() || state.GetFingerprint() != m_expectedFingerprint)
    {
        m_plan = PlanRest(state);
        m_next = 0;
        ++m_nReplans;
    }
    if (m_next == m_plan.size())
    {
        return {};
    }
    WorkloadList round = std::move(m_plan[m_next++]);
    m_expectedFingerprint = state.GetFingerprint();
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        m_expectedFingerprint += AllReduceState::GetFingerprint(round.Get(i));
    }
    return round;
}

std::vector<WorkloadList>
PlannedScheduler::PlanRest(const AllReduceState& state)
{
    return PlanRestGreedily(state, m_seed, 1);
}

} // namespace ns3::allreduce
