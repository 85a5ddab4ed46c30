/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "greedy-planner.h"

#include "broadcast-progress.h"
#include "round-planner.h"

#include "ns3/parallel-for.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <mutex>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// The preferences that samples take in turn. The first do best on most networks; the second where
/// links between switches are scarce, so that no chunk should cross one twice.
constexpr std::array<GreedyWeights, 4> SAMPLE_WEIGHTS{{
    {1, 6, 0.5, 0.3},
    {1, 100, 20, 0.3},
    {1, 6, 0.5, 2},
    {1, 12, 0.5, 0.3},
}};

/// @return how many transfers a sample may plan again in search of a shorter plan: small plans many
/// times over, large ones not even once
uint64_t
GetReplanAllowance(uint64_t nTransfers)
{
    return std::min(50 * nTransfers, 20000 + nTransfers / 2);
}

/**
 * One attempt to plan a broadcast.
 *
 * A plan is behind its target when a server could not receive in time what it misses even if all
 * its ports were busy in all rounds left. It then goes back some rounds and tries them again with
 * other random numbers: mostly one round, sometimes more. When it has tried too often, the target
 * moves by a round.
 */
class GreedySample
{
  public:
    GreedySample(const BroadcastProblem& problem,
                 const BitMatrix& receivers,
                 const GreedyWeights& weights,
                 uint64_t seed)
        : m_random(seed),
          m_progress(problem, receivers),
          m_planner(problem, m_progress, weights, m_random),
          m_nTransfers(m_progress.GetNTransfersLeft()),
          m_target(m_planner.GetRoundsNeeded()),
          m_allowance(GetReplanAllowance(m_progress.GetNTransfersLeft())),
          m_allowanceForTarget(m_allowance / 2)
    {
    }

    /**
     * @param canWin tells whether a plan of that many rounds is still of use
     * @return whether there is a plan; else it was given up, because it could not win
     */
    template <typename CanWin>
    bool Run(CanWin canWin)
    {
        while (m_progress.GetNTransfersLeft() > 0)
        {
            if (!canWin(m_target))
            {
                return false;
            }
            m_plan.emplace_back();
            m_planner.Plan(m_plan.back());
            m_plan.back().ShrinkToFit();
            const uint32_t expected = m_plan.size() + m_planner.GetRoundsNeeded();
            if (expected > m_target)
            {
                CatchUp(expected);
            }
        }
        return true;
    }

    /// @return the plan, to be taken away
    BroadcastPlan& GetPlan()
    {
        return m_plan;
    }

    double GetShareDone() const
    {
        return 1 - m_progress.GetNTransfersLeft() / m_nTransfers;
    }

  private:
    /// The plan is behind: go back some rounds, or put up with it.
    /// @param expected how many rounds it will take at least
    void CatchUp(uint32_t expected)
    {
        if (m_allowanceForTarget == 0)
        {
            m_target = expected;
            m_allowanceForTarget = m_allowance / 2;
            m_nRetries = 0;
            return;
        }
        ++m_nRetries;
        const uint32_t ruler = m_nRetries & -m_nRetries; // 1, 2, 1, 4, 1, 2, 1, 8, ...
        const uint64_t spent = GoBack(ruler);
        m_allowanceForTarget -= std::min(m_allowanceForTarget, spent);
        m_allowance -= std::min(m_allowance, spent);
    }

    /// Take back the last rounds. @return how many transfers were in them
    uint64_t GoBack(uint32_t nRounds)
    {
        uint64_t nTransfers = 0;
        for (; nRounds > 0 && !m_plan.empty(); --nRounds)
        {
            nTransfers += m_plan.back().GetSize();
            m_planner.Undo(m_plan.back());
            m_plan.pop_back();
        }
        return nTransfers;
    }

    PlannerRandom m_random;
    BroadcastProgress m_progress;  //!< who holds and misses what
    RoundPlanner m_planner;        //!< plans the rounds
    BroadcastPlan m_plan;          //!< the rounds planned
    const double m_nTransfers;     //!< how many there are
    uint32_t m_target;             //!< how many rounds the plan is to take
    uint64_t m_allowance;          //!< transfers that may be planned again
    uint64_t m_allowanceForTarget; //!< how many of them before the target moves
    uint32_t m_nRetries{0};        //!< how often it went back with this target
};

/**
 * The shortest plan of several samples, which may run at the same time. The lowest sample wins a
 * tie, so that it does not matter which one ends first.
 */
class BestSample
{
  public:
    /// @return whether a plan of so many rounds would be the best so far
    bool CanWin(std::size_t nRounds, uint32_t sample) const
    {
        std::lock_guard lock(m_mutex);
        return std::pair(nRounds, sample) < m_best;
    }

    /// Keep a plan, if it is the best so far.
    void Offer(BroadcastPlan& plan, uint32_t sample)
    {
        std::lock_guard lock(m_mutex);
        if (std::pair(plan.size(), sample) < m_best)
        {
            m_best = {plan.size(), sample};
            m_plan = std::move(plan);
        }
    }

    /// @return the best plan, to be taken away
    BroadcastPlan& GetPlan()
    {
        return m_plan;
    }

  private:
    mutable std::mutex m_mutex; //!< guards the others
    BroadcastPlan m_plan;       //!< the best so far
    /// Its rounds, and the sample that it is from.
    std::pair<std::size_t, uint32_t> m_best{std::numeric_limits<std::size_t>::max(), 0};
};

} // namespace

BroadcastPlan
PlanGreedyBroadcast(const BroadcastProblem& problem,
                    uint64_t seed,
                    uint32_t nSamples,
                    const PlanningProgress& progress)
{
    const BitMatrix receivers = FindReceivers(problem);
    nSamples = std::max(1U, nSamples);
    BestSample best;
    std::atomic<uint32_t> nReady{0};
    RunParallel(nSamples, [&](uint32_t sample) {
        const GreedyWeights& weights = SAMPLE_WEIGHTS[sample % SAMPLE_WEIGHTS.size()];
        GreedySample attempt(problem, receivers, weights, seed + sample);
        const auto canWin = [&](std::size_t nRounds) {
            if (nSamples == 1)
            {
                progress.ShowRound(attempt.GetPlan().size(), attempt.GetShareDone());
            }
            return best.CanWin(nRounds, sample);
        };
        if (attempt.Run(canWin))
        {
            best.Offer(attempt.GetPlan(), sample);
        }
        progress.GetPart("sample", nReady++, nSamples).Show("", 1);
    });
    return std::move(best.GetPlan());
}

} // namespace ns3::allreduce
