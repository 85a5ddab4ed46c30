/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "verified-plan.h"

#include "scheduler-factory.h"

#include "ns3/allreduce-error.h"
#include "ns3/round-hash.h"
#include "ns3/schedule-verifier.h"

#include <utility>

namespace ns3::allreduce
{

VerifiedPlan::VerifiedPlan(const Topology& topology,
                           AllReduceSchedule schedule,
                           std::string planner)
    : m_planner(std::move(planner))
{
    const Verdict verdict = Verify(topology, schedule);
    if (!verdict.isCorrect)
    {
        FailInput(topology.GetName(),
                  ": the plan of ",
                  m_planner,
                  " is not correct: ",
                  verdict.reason);
    }
    m_hash = HashRounds(MakeRoundRange(schedule.rounds));
    m_schedule = std::make_shared<const AllReduceSchedule>(std::move(schedule));
}

const AllReduceSchedule&
VerifiedPlan::GetSchedule() const
{
    return *m_schedule;
}

const std::vector<WorkloadList>&
VerifiedPlan::GetRounds() const
{
    return m_schedule->rounds;
}

const Collective&
VerifiedPlan::GetCollective() const
{
    return m_schedule->collective;
}

uint64_t
VerifiedPlan::GetHash() const
{
    return m_hash;
}

const std::string&
VerifiedPlan::GetPlanner() const
{
    return m_planner;
}

VerifiedPlan
PlanVerified(const Topology& topology,
             const Collective& collective,
             AllReduceScheduler& scheduler,
             const PlanningProgress& progress)
{
    return {topology,
            Plan(scheduler, AllReduceState(topology, collective), progress),
            GetSchedulerName(scheduler)};
}

} // namespace ns3::allreduce
