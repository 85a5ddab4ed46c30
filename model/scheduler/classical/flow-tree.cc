/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "flow-tree.h"

#include "task-runner.h"

#include "ns3/allreduce-schedule.h"

#include <algorithm>
#include <iterator>

namespace ns3::allreduce
{

namespace
{

/// Tasks that are carried out, again and again in different orders: about a second.
constexpr std::size_t MOST_WORK = 200'000;

/// With more tasks than this the broadcast is planned only, and mirrored.
constexpr std::size_t MOST_BOTH_WAYS = 1'000'000;

/**
 * @param runner carries out the tasks of all trees
 * @param state where to begin
 * @param mostRounds give up when there are so many; 0: never
 * @return the shortest of several schedules, or none if all have too many rounds
 */
std::vector<WorkloadList>
TryOrders(TaskRunner& runner, const AllReduceState& state, std::size_t mostRounds)
{
    const TaskOrder orders[] = {
        {false, true, 2, 0},
        {true, true, 2, 0},
        {false, false, 2, 0},
        {true, true, 0, 1},
        {false, true, 0, 1},
        {true, true, 2, 2},
        {false, true, 2, 3},
        {true, false, 2, 3},
        {true, true, 1, 4},
        {true, true, 2, 5},
        {true, true, 2, 6},
        {true, true, 2, 7},
    };
    std::vector<WorkloadList> best;
    std::size_t work = 0;
    for (const TaskOrder& order : orders)
    {
        std::vector<WorkloadList> rounds = runner.Run(state, order, mostRounds);
        if (!rounds.empty())
        {
            best = std::move(rounds);
            mostRounds = best.size();
        }
        work += runner.GetNTasks();
        if (work > MOST_WORK)
        {
            break;
        }
    }
    return best;
}

} // namespace

std::vector<WorkloadList>
ScheduleFlowTrees(const AllReduceState& state,
                  const std::vector<FlowTree>& trees,
                  const PreferredPaths& preferred)
{
    TaskRunner runner(state, trees, preferred);
    const bool isSymmetric = std::all_of(trees.begin(), trees.end(), [](const FlowTree& tree) {
        return tree.isMerging && tree.reduceTo == tree.broadcastFrom;
    });
    std::vector<WorkloadList> forwards;
    if (!isSymmetric || runner.GetNTasks() <= MOST_BOTH_WAYS)
    {
        forwards = TryOrders(runner, state, 0);
    }
    if (!isSymmetric)
    {
        return forwards;
    }
    // The broadcast along the same trees, mirrored, is a reduce along them. Where there is much to
    // do this is the only attempt: it takes half of the time, and mostly as many rounds.
    const auto reduced = AllReduceState::MakeReduced(state.GetTopology(), state.GetRoots());
    std::vector<WorkloadList> broadcast = TryOrders(runner, reduced, (forwards.size() + 1) / 2);
    if (broadcast.empty())
    {
        return forwards;
    }
    std::vector<WorkloadList> rounds = Mirror(broadcast);
    std::move(broadcast.begin(), broadcast.end(), std::back_inserter(rounds));
    return rounds;
}

} // namespace ns3::allreduce
