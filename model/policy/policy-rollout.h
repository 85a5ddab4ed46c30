/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_ROLLOUT_H
#define ALLREDUCE_POLICY_ROLLOUT_H

#include "planning-environment.h"
#include "policy-features.h"
#include "policy-weights.h"

#include "ns3/planning-progress.h"

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How a rollout chooses.
enum class RolloutMode
{
    BEST,   //!< the highest score; a little seeded noise decides between equal ones
    SAMPLE, //!< by the probabilities that the scores give
    RANDOM  //!< any choice alike, whatever the weights say
};

/// @ingroup allreduce
/// Which flow-trees are worked on first.
enum class UpperMode
{
    POLICY, //!< those that the upper policy selects
    ALL,    //!< all trees at once
    RULE    //!< those of the best fixed rule that is known (see policy-player.cc)
};

/// @ingroup allreduce
/// Scores choices in place of the policies' own networks, so that any model can decide: who asks,
/// the rows of features (see GetPolicyFeatures), how many there are, and where a score for each
/// goes.
using RowScorer =
    std::function<void(PolicyHead head, const float* rows, uint32_t nRows, float* scores)>;

/// @ingroup allreduce
/// How to roll out the policies.
struct RolloutOptions
{
    RolloutMode mode{RolloutMode::BEST}; //!< how to choose
    UpperMode upper{UpperMode::POLICY};  //!< which trees come first
    float temperature{1};                //!< divides scores where choices are sampled
    uint64_t seed{1};                    //!< random seed
    uint32_t mostRounds{0};              //!< give up when there are so many; 0: never
    PlanningProgress progress;           //!< where to say how far planning has come
    RowScorer scorer;                    //!< if set, scores instead of the weights
};

/// @ingroup allreduce
/// How a round is rewarded.
struct RewardWeights
{
    double lostRound{1};       //!< for each round that the plan gets longer
    double lostMeanRound{0.5}; //!< likewise, for the mean server
    double idlePorts{0.4};     //!< for the share of ports that idled though there was work
    double lostOption{0.1};    //!< for each port that a pick leaves without options
};

/// @ingroup allreduce
/// @param before the outcome of the round before @param after the outcome of the round
/// @param weights of the parts of the reward @return the reward of the round
double RewardRound(const RoundOutcome& before,
                   const RoundOutcome& after,
                   const RewardWeights& weights);

/// @ingroup allreduce
/// One choice that a policy made.
struct Decision
{
    PolicyHead head;      //!< who chose
    uint32_t nRows;       //!< among how many; a tree is a choice between no and yes with one row
    uint32_t choice;      //!< which one
    uint32_t round;       //!< in which round, counted from 0
    std::size_t firstRow; //!< its features: index of the first row in Episode::rows
    float logProbability; //!< of the choice
    float reward;         //!< what this choice earned by itself
};

/// @ingroup allreduce
/// All that training needs to know of a rollout.
struct Episode
{
    std::array<std::vector<float>, N_POLICY_HEADS> rows; //!< by head: features; VALUE: by round
    std::vector<Decision> decisions;                     //!< in order
    std::vector<float> rewards;                          //!< by round
    uint32_t nRounds{0};                                 //!< rounds that the plan took
    uint32_t nRoundsNeeded{0};                           //!< rounds that it takes at least
    double selectedShare{0};                             //!< of trees that were selected
};

/// @ingroup allreduce
/// Plan with the two policies.
/// @param environment what to plan; at its beginning @param weights of the policies
/// @param options how to choose @param rewards how rounds are rewarded, if it is recorded
/// @param [out] episode what training needs to know; may be null
/// @return the plan; empty if it was given up @throws InputError if some server cannot be reached
std::vector<WorkloadList> RunRollout(PlanningEnvironment& environment,
                                     const PolicyWeights& weights,
                                     const RolloutOptions& options,
                                     const RewardWeights& rewards = {},
                                     Episode* episode = nullptr);

/// @ingroup allreduce
/// Choose one round with the two policies.
/// @param environment what is left; some transfer is @param weights of the policies
/// @param options how to choose @return the round @throws InputError if nothing can be sent
WorkloadList RunRound(PlanningEnvironment& environment,
                      const PolicyWeights& weights,
                      const RolloutOptions& options);

/// @ingroup allreduce
/// Plan to the end, with ties broken in the best way that several tries at the last rounds find.
/// @param problem what to plan @param weights of the policies @param options how to choose
/// @param nEndings how many endings are tried, until one is as short as possible @return the rounds
std::vector<WorkloadList> RunRolloutWithEndings(const PlanningProblem& problem,
                                                const PolicyWeights& weights,
                                                const RolloutOptions& options,
                                                uint32_t nEndings);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_ROLLOUT_H */
