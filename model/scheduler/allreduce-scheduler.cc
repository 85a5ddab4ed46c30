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

/// A scheduler has handed out nothing, or too much.
[[noreturn]] void
FailEndless(const std::string& name, std::size_t round, const AllReduceState& state)
{
    FailInput(name,
              " does not come to an end: in round ",
              round,
              " ",
              state.GetNMissing(),
              " sums are still missing");
}

} // namespace

TypeId
AllReduceScheduler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::AllReduceScheduler").SetParent<Object>().SetGroupName("AllReduce");
    return tid;
}

std::vector<WorkloadList>
AllReduceScheduler::PlanRounds(const AllReduceState& start)
{
    AllReduceState state = start;
    const std::string name = GetInstanceTypeId().GetName();
    // Moving one contribution or copy a round, each at most once over every server, would end.
    const uint64_t nServers = state.GetTopology().GetNServers();
    const uint64_t mostRounds = 2 * nServers * nServers * state.GetNChunks() + 1;
    const double nSums = static_cast<double>(nServers) * state.GetNChunks();
    std::vector<WorkloadList> rounds;
    while (!state.IsDone())
    {
        WorkloadList round = NextRound(state);
        if (round.IsEmpty() || rounds.size() == mostRounds)
        {
            FailEndless(name, rounds.size(), state);
        }
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            if (!state.TryStart(workload))
            {
                FailInput(name,
                          ", round ",
                          rounds.size(),
                          ": ",
                          Describe(workload),
                          ": ",
                          state.FindFault(workload));
            }
        }
        state.EndRound();
        rounds.push_back(std::move(round));
        m_progress.ShowRound(state.GetRound(), 1 - state.GetNMissing() / nSums);
    }
    return rounds;
}

bool
AllReduceScheduler::ChoosesByRound() const
{
    return true;
}

bool
AllReduceScheduler::ChoosesByTransfer() const
{
    return false;
}

void
AllReduceScheduler::BeginTransfers(const LiveView& view)
{
}

void
AllReduceScheduler::NotifySurprise(const LiveView& view)
{
}

std::optional<ChosenTransfer>
AllReduceScheduler::NextTransfer(const LiveView& view, DirectedLinkId port)
{
    return std::nullopt;
}

void
AllReduceScheduler::NotifyArrived(const LiveView& view, const Workload& transfer)
{
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
Plan(AllReduceScheduler& scheduler, const AllReduceState& state, const PlanningProgress& progress)
{
    CheckGroupsConnected(state.GetTopology(), state.GetCollective());
    const ProgressGuard guard(scheduler, progress);
    AllReduceSchedule schedule{state.GetCollective(), scheduler.PlanRounds(state)};
    if (schedule.rounds.empty() && !state.IsDone())
    {
        FailEndless(scheduler.GetInstanceTypeId().GetName(), 0, state);
    }
    return schedule;
}

} // namespace ns3::allreduce
