/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-rollout.h"

#include "policy-player.h"
#include "round-steps.h"

#include <limits>

namespace ns3::allreduce
{

namespace
{

/// Where plans fail to be as short as they can be, it is mostly in this part of the rounds.
constexpr uint32_t ENDING_SHARE = 5;

/// Rolls out the policies on one problem.
class Rollout
{
  public:
    Rollout(PlanningEnvironment& environment,
            const PolicyWeights& weights,
            const RolloutOptions& options,
            const RewardWeights& rewards,
            Episode* episode)
        : m_environment(environment),
          m_steps(environment),
          m_player(m_steps, weights, options, rewards, episode),
          m_options(options),
          m_rewards(rewards),
          m_episode(episode)
    {
        if (options.mode == RolloutMode::BEST)
        {
            environment.SetRenewal(PlanningEnvironment::Renewal::WHEN_ASKED);
        }
    }

    /// @return the next rounds @param mostRounds no more than so many
    std::vector<WorkloadList> Run(std::size_t mostRounds = std::numeric_limits<std::size_t>::max())
    {
        std::vector<WorkloadList> plan;
        const uint32_t needed = m_environment.GetState().CountRoundsNeeded();
        const double nTransfers = m_environment.GetState().nTransfersLeft;
        RoundOutcome before{needed, static_cast<double>(needed), 0};
        if (m_episode)
        {
            *m_episode = {};
            m_episode->nRoundsNeeded = needed;
        }
        while (m_environment.GetState().nTransfersLeft > 0 && plan.size() < mostRounds)
        {
            if (m_options.mostRounds > 0 && plan.size() == m_options.mostRounds)
            {
                RecordEnd(plan.size());
                return {};
            }
            RoundOutcome after{};
            plan.push_back(MakeRound(after));
            if (m_episode)
            {
                m_episode->rewards.push_back(RewardRound(before, after, m_rewards));
            }
            before = after;
            m_options.progress.ShowRound(m_environment.GetState().round,
                                         1 - m_environment.GetState().nTransfersLeft / nTransfers);
        }
        RecordEnd(plan.size());
        return plan;
    }

    /// @return the next round @param [out] outcome what became of it
    WorkloadList MakeRound(RoundOutcome& outcome)
    {
        m_steps.Begin();
        while (m_steps.GetStage() != RoundSteps::Stage::END)
        {
            m_player.Decide();
        }
        return m_steps.End(outcome);
    }

  private:
    void RecordEnd(std::size_t nRounds)
    {
        if (m_episode)
        {
            m_episode->nRounds = nRounds;
            m_episode->selectedShare = m_player.GetSelectedShare();
        }
    }

    PlanningEnvironment& m_environment;
    RoundSteps m_steps; //!< the decisions that are due
    PolicyPlayer m_player;
    const RolloutOptions& m_options;
    const RewardWeights& m_rewards;
    Episode* m_episode;
};

} // namespace

double
RewardRound(const RoundOutcome& before, const RoundOutcome& after, const RewardWeights& weights)
{
    const double lost = static_cast<double>(after.roundsNeeded) - before.roundsNeeded;
    const double lostMean = after.meanRoundsNeeded - before.meanRoundsNeeded;
    return -weights.lostRound * lost - weights.lostMeanRound * lostMean -
           weights.idlePorts * after.idleShare;
}

std::vector<WorkloadList>
RunRollout(PlanningEnvironment& environment,
           const PolicyWeights& weights,
           const RolloutOptions& options,
           const RewardWeights& rewards,
           Episode* episode)
{
    return Rollout(environment, weights, options, rewards, episode).Run();
}

WorkloadList
RunRound(PlanningEnvironment& environment,
         const PolicyWeights& weights,
         const RolloutOptions& options)
{
    const RewardWeights rewards;
    RoundOutcome outcome{};
    return Rollout(environment, weights, options, rewards, nullptr).MakeRound(outcome);
}

std::vector<WorkloadList>
RunRolloutWithEndings(const PlanningProblem& problem,
                      const PolicyWeights& weights,
                      const RolloutOptions& options,
                      uint32_t nEndings)
{
    PlanningEnvironment paused(problem);
    const uint32_t needed = paused.GetState().CountRoundsNeeded();
    std::vector<WorkloadList> plan =
        Rollout(paused, weights, options, {}, nullptr).Run(needed - needed / ENDING_SHARE);
    if (paused.GetState().CountRoundsNeeded() > needed)
    {
        nEndings = 1; // no ending makes up for that
    }
    std::vector<WorkloadList> best;
    RolloutOptions other = options;
    other.progress = options.progress.GetPart(1 - 1.0 / ENDING_SHARE, 1);
    for (uint32_t i = 0; i < nEndings && (i == 0 || plan.size() + best.size() > needed); ++i)
    {
        other.seed = options.seed + i;
        PlanningEnvironment environment = paused;
        std::vector<WorkloadList> ending = Rollout(environment, weights, other, {}, nullptr).Run();
        if (i == 0 || ending.size() < best.size())
        {
            best = std::move(ending);
        }
    }
    plan.insert(plan.end(), best.begin(), best.end());
    return plan;
}

} // namespace ns3::allreduce
