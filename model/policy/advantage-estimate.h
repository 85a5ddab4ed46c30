/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ADVANTAGE_ESTIMATE_H
#define ALLREDUCE_ADVANTAGE_ESTIMATE_H

#include "policy-rollout.h"
#include "policy-weights.h"
#include "training-config.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Advantages, returns and values of some rollouts.
struct AdvantageEstimate
{
    std::vector<std::vector<float>> ofDecisions; //!< [episode][decision]
    std::vector<float> returns;                  //!< of all rounds, episode after episode
    std::vector<float> values;                   //!< what the critic had said about them
};

/// @ingroup allreduce
/// Sums over advantages, for their mean and deviation.
struct AdvantageMoments
{
    double sum{0};     //!< of the advantages
    double squares{0}; //!< of their squares
    double count{0};   //!< of the advantages
};

/// @ingroup allreduce
/// Those of the lower policy and those of the upper one.
using PolicyMoments = std::array<AdvantageMoments, 2>;

/// @ingroup allreduce
/// @param lengths rounds of each plan, those of a problem one after another
/// @param nRollouts plans of each problem
/// @return by plan: how many rounds it is shorter than the mean of its problem's
std::vector<double> ComputeGroupAdvantages(const std::vector<double>& lengths, uint32_t nRollouts);

/// @ingroup allreduce
/// Generalized advantage estimation over rounds (gamma 1), with the mean length of the rollouts of
/// the same problem as a second baseline. A pick has its round's advantage and what it and, with a
/// discount, the picks after it in the round earned by themselves.
/// @param episodes any rollouts of an iteration @param groupAdvantages of these episodes
/// @param weights with which they were made @param config says how to weigh
/// @return the estimate, not normalized
AdvantageEstimate EstimateAdvantages(const std::vector<Episode>& episodes,
                                     const std::vector<double>& groupAdvantages,
                                     const PolicyWeights& weights,
                                     const TrainingConfig& config);

/// @ingroup allreduce
/// @param episodes the rollouts @param estimate what they were worth
/// @return the sums over their decisions
PolicyMoments AddUpAdvantages(const std::vector<Episode>& episodes,
                              const AdvantageEstimate& estimate);

/// @ingroup allreduce
/// Normalize the advantages of each policy to mean 0 and deviation 1, and clip them.
/// @param episodes the rollouts @param moments of all rollouts of the iteration
/// @param most none is further from 0 than this
/// @param [in,out] estimate what the rollouts were worth
void NormalizeAdvantages(const std::vector<Episode>& episodes,
                         const PolicyMoments& moments,
                         double most,
                         AdvantageEstimate& estimate);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ADVANTAGE_ESTIMATE_H */
