/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ADVANTAGE_ESTIMATE_H
#define ALLREDUCE_ADVANTAGE_ESTIMATE_H

#include "policy-rollout.h"
#include "policy-weights.h"
#include "training-config.h"

#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What the rollouts of an iteration were worth.
struct AdvantageEstimate
{
    std::vector<std::vector<float>> ofDecisions; //!< [episode][decision], normalized by policy
    std::vector<float> returns;                  //!< of all rounds, episode after episode
    std::vector<float> values;                   //!< what the critic had said about them
};

/**
 * @ingroup allreduce
 *
 * Generalized advantage estimation over rounds (gamma 1), with the mean length of the rollouts of
 * the same problem as a second baseline. A pick has its round's advantage and what it and, with a
 * discount, the picks after it in the round earned by themselves. Advantages are then normalized,
 * for each of the two policies, and clipped.
 *
 * @param episodes those of a problem one after another
 * @param weights with which they were made
 * @param config says how to weigh
 * @return the estimate
 */
AdvantageEstimate EstimateAdvantages(const std::vector<Episode>& episodes,
                                     const PolicyWeights& weights,
                                     const TrainingConfig& config);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ADVANTAGE_ESTIMATE_H */
