/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-scheduler.h"

#include "ns3/allreduce-error.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(AllReduceScheduler);

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

AllReduceSchedule
Plan(AllReduceScheduler& scheduler, AllReduceState state, const PlanProgress& progress)
{
    const std::string name = scheduler.GetInstanceTypeId().GetName();
    // Moving one contribution or copy a round, each at most once over every server, would end.
    const uint64_t nServers = state.GetTopology().GetNServers();
    const uint64_t mostRounds = 2 * nServers * nServers * state.GetNChunks() + 1;
    AllReduceSchedule schedule;
    schedule.roots = state.GetRoots();
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
            const Workload workload = round.Get(i);
            if (!state.IsLegal(workload))
            {
                FailInput(name,
                          ", round ",
                          schedule.rounds.size(),
                          ": ",
                          Describe(workload),
                          ": ",
                          state.FindFault(workload));
            }
            state.Start(workload);
        }
        state.EndRound();
        schedule.rounds.push_back(std::move(round));
        if (progress)
        {
            progress(state);
        }
    }
    return schedule;
}

} // namespace ns3::allreduce
