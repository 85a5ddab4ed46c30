/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planned-scheduler.h"

#include "plan-key.h"
#include "scheduler-factory.h"

#include "ns3/allreduce-error.h"
#include "ns3/log.h"
#include "ns3/remainder-planner.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReducePlannedScheduler");
NS_OBJECT_ENSURE_REGISTERED(PlannedScheduler);

TypeId
PlannedScheduler::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::PlannedScheduler")
                            .SetParent<AllReduceScheduler>()
                            .SetGroupName("AllReduce")
                            .AddAttribute("Seed",
                                          "Random seed; the same seed gives the same plan.",
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
    if (!state.GetCollective().IsOfAll() && !PlansGroups())
    {
        FailInput(GetSchedulerName(*this),
                  " plans AllReduces of all servers; for other collectives and for groups expected "
                  "greedy, forest or hrl");
    }
    if (state.IsFresh())
    {
        BeginWhole(state);
    }
    else if (m_next == GetRounds().size() || state.GetFingerprint() != m_expectedFingerprint)
    {
        BeginRest(state);
    }
    if (m_next == GetRounds().size())
    {
        return {};
    }
    const WorkloadList& round = GetRounds()[m_next++];
    m_expectedFingerprint = state.GetFingerprint();
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        m_expectedFingerprint += AllReduceState::GetFingerprint(round.Get(i));
    }
    return round;
}

void
PlannedScheduler::BeginWhole(const AllReduceState& state)
{
    PlanKey key = MakePlanKey(*this, state);
    if (!m_key || !(*m_key == key))
    {
        ForgetPlan();
        m_whole = PlanAll(state);
        NS_LOG_INFO(GetInstanceTypeId().GetName() << " plans " << m_whole.size() << " rounds");
        m_key = std::make_shared<const PlanKey>(std::move(key));
    }
    m_rest.clear();
    m_isRest = false;
    m_next = 0;
    m_planner.clear();
}

void
PlannedScheduler::BeginRest(const AllReduceState& state)
{
    m_planner.clear();
    m_rest = PlanRest(state);
    NS_LOG_INFO(GetInstanceTypeId().GetName()
                << " plans the rest anew: " << m_rest.size() << " rounds");
    m_isRest = true;
    m_next = 0;
    ++m_nReplans;
}

const std::vector<WorkloadList>&
PlannedScheduler::GetRounds() const
{
    return m_isRest ? m_rest : m_whole;
}

RoundRange
PlannedScheduler::GetPlan() const
{
    return MakeRoundRange(GetRounds(), m_next - std::min<std::size_t>(m_next, 1));
}

std::string
PlannedScheduler::GetPlanner() const
{
    return m_planner;
}

void
PlannedScheduler::ForgetPlan()
{
    m_key.reset();
}

void
PlannedScheduler::HandOver(const std::string& planner)
{
    m_planner = planner;
}

bool
PlannedScheduler::PlansGroups() const
{
    return false;
}

std::vector<WorkloadList>
PlannedScheduler::PlanRest(const AllReduceState& state)
{
    HandOver("greedy");
    return PlanRemainderGreedily(state, m_seed, 1);
}

} // namespace ns3::allreduce
