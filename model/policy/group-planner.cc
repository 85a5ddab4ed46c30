/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "group-planner.h"

#include "planning-limits.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/forest-scheduler.h"
#include "ns3/forest-timetable.h"
#include "ns3/remainder-planner.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Tries are made until so many transfers have been planned: some seconds.
constexpr std::size_t MOST_TRANSFERS_OF_GROUPS = 100'000;

/// Keeps the shortest of several plans.
class ShortestPlan
{
  public:
    explicit ShortestPlan(const AllReduceState& state)
        : m_state(state),
          m_bound(ComputeLowerBounds(state.GetTopology(), state.GetCollective()).GetBest().rounds)
    {
    }

    /// @return whether the bound is not yet reached
    bool CanImprove() const
    {
        return m_best.empty() || m_best.size() > m_bound;
    }

    /// Push a plan together, and keep it if it is the shortest. @param plan the plan
    void Offer(std::vector<WorkloadList> plan)
    {
        if (plan.size() > m_bound)
        {
            ForestTimetable timetable(m_state.GetTopology(), m_state.GetCollective(), plan);
            if (timetable.IsQuickToMatch())
            {
                timetable.MatchLinks();
            }
            timetable.Shorten(m_bound);
            plan = timetable.GetNRounds() < plan.size() ? timetable.MakeRounds() : std::move(plan);
        }
        if (m_best.empty() || plan.size() < m_best.size())
        {
            m_best = std::move(plan);
        }
    }

    /// @return the shortest, to be taken away
    std::vector<WorkloadList>& Get()
    {
        return m_best;
    }

  private:
    const AllReduceState& m_state;    //!< the beginning
    const uint64_t m_bound;           //!< no plan has fewer rounds
    std::vector<WorkloadList> m_best; //!< the shortest so far
};

} // namespace

std::vector<WorkloadList>
PlanGroupsByPolicies(const AllReduceState& state,
                     const PolicyWeights& weights,
                     const RolloutOptions& options,
                     uint32_t mostTries)
{
    const std::size_t nTransfers =
        CountLeastWorkloads(state.GetCollective(), state.GetTopology().GetNServers());
    const uint32_t nTries =
        std::clamp<std::size_t>(MOST_TRANSFERS_OF_GROUPS / nTransfers, 1, std::max(1U, mostTries));
    ShortestPlan shortest(state);
    shortest.Offer(PlanRemainderGreedily(state, options.seed, 1));
    if (shortest.CanImprove() && nTransfers <= MOST_TRANSFERS_FOREST)
    {
        const uint32_t nForests =
            std::clamp<std::size_t>(MOST_TRANSFERS_FORESTS / nTransfers, 1, MOST_FORESTS);
        shortest.Offer(PlanForest(state.GetTopology(),
                                  state.GetCollective(),
                                  options.seed,
                                  nForests,
                                  options.progress.GetPart("try", 0, nTries + 1)));
    }
    for (uint32_t i = 0; i < nTries && shortest.CanImprove(); ++i)
    {
        RolloutOptions choice = options;
        choice.seed += i;
        choice.progress = options.progress.GetPart("try", i + 1, nTries + 1);
        if (i % 2 == 1 && options.mode == RolloutMode::BEST)
        {
            choice.mode = RolloutMode::SAMPLE;
            choice.temperature = LOOSE;
        }
        shortest.Offer(PlanByMirroring(state, [&](const BroadcastProblem& broadcast) {
            return RunRolloutWithEndings(MakeBroadcast(broadcast),
                                         weights,
                                         choice,
                                         std::min(MOST_ENDINGS, nTries + 1));
        }));
    }
    return std::move(shortest.Get());
}

} // namespace ns3::allreduce
