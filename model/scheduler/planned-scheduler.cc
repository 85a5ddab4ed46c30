/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planned-scheduler.h"

#include "scheduler-factory.h"

#include "ns3/allreduce-error.h"
#include "ns3/log.h"
#include "ns3/remainder-planner.h"
#include "ns3/uinteger.h"

#include <utility>

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

WorkloadList
PlannedScheduler::NextRound(const AllReduceState& state)
{
    std::vector<WorkloadList> rounds = PlanRounds(state);
    return rounds.empty() ? WorkloadList() : std::move(rounds.front());
}

bool
PlannedScheduler::ChoosesByRound() const
{
    return false;
}

std::vector<WorkloadList>
PlannedScheduler::PlanRounds(const AllReduceState& start)
{
    m_planner.clear();
    if (start.IsDone())
    {
        return {};
    }
    if (!start.GetCollective().IsOfAll() && !PlansGroups())
    {
        FailInput(GetSchedulerName(*this),
                  " plans AllReduces of all servers; for other collectives and for groups expected "
                  "greedy, forest or hrl");
    }
    std::vector<WorkloadList> rounds = start.IsFresh() ? PlanAll(start) : PlanRest(start);
    NS_LOG_INFO(GetInstanceTypeId().GetName() << " plans " << rounds.size() << " rounds"
                                              << (start.IsFresh() ? "" : " of what is left"));
    return rounds;
}

std::string
PlannedScheduler::GetPlanner() const
{
    return m_planner;
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
