/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "advantage-estimate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

double
Normalize(double x, const AdvantageMoments& moments)
{
    const double mean = moments.sum / moments.count;
    const double variance = moments.squares / moments.count - mean * mean;
    return (x - mean) / (std::sqrt(std::max(1e-8, variance)) + 1e-4);
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

bool
IsUpper(const Episode& episode, std::size_t decision)
{
    return episode.decisions[decision].head == PolicyHead::TREE;
}

} // namespace

std::vector<double>
ComputeGroupAdvantages(const std::vector<double>& lengths, uint32_t nRollouts)
{
    std::vector<double> groupAdvantages;
    for (auto first = lengths.begin(); first != lengths.end(); first += nRollouts)
    {
        const double mean = std::accumulate(first, first + nRollouts, 0.0) / nRollouts;
        std::transform(first,
                       first + nRollouts,
                       std::back_inserter(groupAdvantages),
                       [=](double length) { return mean - length; });
    }
    return groupAdvantages;
}

AdvantageEstimate
EstimateAdvantages(const std::vector<Episode>& episodes,
                   const std::vector<double>& groupAdvantages,
                   const PolicyWeights& weights,
                   const TrainingConfig& config)
{
    AdvantageEstimate estimate;
    for (std::size_t i = 0; i < episodes.size(); ++i)
    {
        std::vector<double> rounds = EstimateRounds(episodes[i], weights, config.lambda, estimate);
        for (double& advantage : rounds)
        {
            advantage += config.group_weight * groupAdvantages[i];
        }
        estimate.ofDecisions.push_back(EstimateDecisions(episodes[i], rounds, config.pick_lambda));
    }
    return estimate;
}

PolicyMoments
AddUpAdvantages(const std::vector<Episode>& episodes, const AdvantageEstimate& estimate)
{
    PolicyMoments moments;
    for (std::size_t i = 0; i < episodes.size(); ++i)
    {
        for (std::size_t k = 0; k < estimate.ofDecisions[i].size(); ++k)
        {
            const double advantage = estimate.ofDecisions[i][k];
            AdvantageMoments& ofPolicy = moments[IsUpper(episodes[i], k)];
            ofPolicy.sum += advantage;
            ofPolicy.squares += advantage * advantage;
            ++ofPolicy.count;
        }
    }
    return moments;
}

void
NormalizeAdvantages(const std::vector<Episode>& episodes,
                    const PolicyMoments& moments,
                    double most,
                    AdvantageEstimate& estimate)
{
    for (std::size_t i = 0; i < episodes.size(); ++i)
    {
        for (std::size_t k = 0; k < estimate.ofDecisions[i].size(); ++k)
        {
            float& advantage = estimate.ofDecisions[i][k];
            advantage =
                std::clamp(Normalize(advantage, moments[IsUpper(episodes[i], k)]), -most, most);
        }
    }
}

} // namespace ns3::allreduce
