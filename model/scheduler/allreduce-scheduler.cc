/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-scheduler.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(AllReduceScheduler);

namespace
{

/// How many workloads ahead memory is fetched.
constexpr std::size_t LOOK_AHEAD = 8;

/// Lets a scheduler say how far it has come, as long as somebody listens.
class ProgressGuard
{
  public:
    ProgressGuard(AllReduceScheduler& scheduler, const PlanningProgress& progress)
        : m_scheduler(scheduler)
    {
        m_scheduler.SetProgress(progress);
    }

    ~ProgressGuard()
    {
        m_scheduler.SetProgress({});
    }

    ProgressGuard(const ProgressGuard&) = delete;
    ProgressGuard& operator=(const ProgressGuard&) = delete;

  private:
    AllReduceScheduler& m_scheduler; //!< whose progress it is
};

} // namespace

TypeId
AllReduceScheduler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::AllReduceScheduler").SetParent<Object>().SetGroupName("AllReduce");
    return tid;
}

RoundRange
AllReduceScheduler::GetPlan() const
{
    return {};
}

std::string
AllReduceScheduler::GetPlanner() const
{
    return "";
}

std::string
AllReduceScheduler::GetRemark() const
{
    return "";
}

void
AllReduceScheduler::SetProgress(PlanningProgress progress)
{
    m_progress = std::move(progress);
}

const PlanningProgress&
AllReduceScheduler::GetProgress() const
{
    return m_progress;
}

AllReduceSchedule
Plan(AllReduceScheduler& scheduler, AllReduceState state, const PlanningProgress& progress)
{
    CheckGroupsConnected(state.GetTopology(), state.GetCollective());
    const ProgressGuard guard(scheduler, progress);
    const std::string name = scheduler.GetInstanceTypeId().GetName();
    // Moving one contribution or copy a round, each at most once over every server, would end.
    const uint64_t nServers = state.GetTopology().GetNServers();
    const uint64_t mostRounds = 2 * nServers * nServers * state.GetNChunks() + 1;
    const double nSums = static_cast<double>(nServers) * state.GetNChunks();
    AllReduceSchedule schedule;
    schedule.collective = state.GetCollective();
    while (!state.IsDone())
    {
        WorkloadList round = scheduler.NextRound(state);
        if (round.IsEmpty() || schedule.rounds.size() == mostRounds)
        {
            FailInput(name,
                      " does not come to an end: in round ",
                      schedule.rounds.size(),
                      " ",
                      state.GetNMissing(),
                      " sums are still missing");
        }
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            if (i + LOOK_AHEAD < round.GetSize())
            {
                state.Prefetch(round.Get(i + LOOK_AHEAD));
            }
            const Workload workload = round.Get(i);
            if (!state.TryStart(workload))
            {
                FailInput(name,
                          ", round ",
                          schedule.rounds.size(),
                          ": ",
                          Describe(workload),
                          ": ",
                          state.FindFault(workload));
            }
        }
        state.EndRound();
        schedule.rounds.push_back(std::move(round));
        if (scheduler.GetPlan().empty())
        {
            progress.ShowRound(state.GetRound(), 1 - state.GetNMissing() / nSums);
        }
    }
    return schedule;
}

} // namespace ns3::allreduce
