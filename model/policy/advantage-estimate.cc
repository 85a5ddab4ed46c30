/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "advantage-estimate.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace ns3::allreduce
{

namespace
{

/// Collects numbers for their mean and deviation.
struct Moments
{
    double sum{0};     //!< of the numbers
    double squares{0}; //!< of their squares
    uint64_t count{0}; //!< of the numbers

    void Add(double x)
    {
        sum += x;
        squares += x * x;
        ++count;
    }

    double Normalize(double x) const
    {
        const double mean = sum / count;
        return (x - mean) / (std::sqrt(std::max(1e-8, squares / count - mean * mean)) + 1e-4);
    }
};

/// @return the mean length of the rollouts of an episode's problem
double
FindMeanLength(const std::vector<Episode>& episodes, std::size_t index, uint32_t nRollouts)
{
    const std::size_t first = index / nRollouts * nRollouts;
    double sum = 0;
    for (std::size_t i = first; i < first + nRollouts; ++i)
    {
        sum += episodes[i].nRounds;
    }
    return sum / nRollouts;
}

/// @return by round: its advantage; its return and value go into the estimate
std::vector<double>
EstimateRounds(const Episode& episode,
               const PolicyWeights& weights,
               double lambda,
               AdvantageEstimate& estimate)
{
    const std::size_t nRounds = episode.rewards.size();
    std::vector<float> values(nRounds + 1, 0);
    weights.Get(PolicyHead::VALUE)
        .Score(episode.rows[static_cast<std::size_t>(PolicyHead::VALUE)].data(),
               nRounds,
               values.data());
    values[nRounds] = 0;
    std::vector<double> advantages(nRounds);
    double advantage = 0;
    for (std::size_t round = nRounds; round-- > 0;)
    {
        const double tdError = episode.rewards[round] + values[round + 1] - values[round];
        advantage = tdError + lambda * advantage;
        advantages[round] = advantage;
    }
    for (std::size_t round = 0; round < nRounds; ++round)
    {
        estimate.returns.push_back(advantages[round] + values[round]);
        estimate.values.push_back(values[round]);
    }
    return advantages;
}

/// @return by decision: its advantage
std::vector<float>
EstimateDecisions(const Episode& episode,
                  const std::vector<double>& roundAdvantages,
                  double pickLambda)
{
    std::vector<float> advantages(episode.decisions.size());
    double earned = 0;
    uint32_t earnedIn = ~0U;
    for (std::size_t i = episode.decisions.size(); i-- > 0;)
    {
        const Decision& decision = episode.decisions[i];
        advantages[i] = roundAdvantages[decision.round];
        if (decision.head != PolicyHead::TREE)
        {
            earned = decision.round == earnedIn ? pickLambda * earned : 0;
            earnedIn = decision.round;
            earned += decision.reward;
            advantages[i] += earned;
        }
    }
    return advantages;
}

void
Normalize(const std::vector<Episode>& episodes, double most, AdvantageEstimate& estimate)
{
    std::array<Moments, 2> moments; // of the lower policy, of the upper one
    const auto isUpper = [&](std::size_t episode, std::size_t decision) {
        return episodes[episode].decisions[decision].head == PolicyHead::TREE;
    };
    for (std::size_t i = 0; i < episodes.size(); ++i)
    {
        for (std::size_t k = 0; k < estimate.ofDecisions[i].size(); ++k)
        {
            moments[isUpper(i, k)].Add(estimate.ofDecisions[i][k]);
        }
    }
    for (std::size_t i = 0; i < episodes.size(); ++i)
    {
        for (std::size_t k = 0; k < estimate.ofDecisions[i].size(); ++k)
        {
            float& advantage = estimate.ofDecisions[i][k];
            advantage = std::clamp(moments[isUpper(i, k)].Normalize(advantage), -most, most);
        }
    }
}

} // namespace

AdvantageEstimate
EstimateAdvantages(const std::vector<Episode>& episodes,
                   const PolicyWeights& weights,
                   const TrainingConfig& config)
{
    AdvantageEstimate estimate;
    for (std::size_t i = 0; i < episodes.size(); ++i)
    {
        std::vector<double> rounds = EstimateRounds(episodes[i], weights, config.lambda, estimate);
        const double lead = FindMeanLength(episodes, i, config.rollouts) - episodes[i].nRounds;
        for (double& advantage : rounds)
        {
            advantage += config.group_weight * lead;
        }
        estimate.ofDecisions.push_back(EstimateDecisions(episodes[i], rounds, config.pick_lambda));
    }
    Normalize(episodes, config.most_advantage, estimate);
    return estimate;
}

} // namespace ns3::allreduce
