/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_ROLLOUT_H
#define ALLREDUCE_POLICY_ROLLOUT_H

#include "planning-environment.h"
#include "policy-features.h"
#include "policy-weights.h"

#include <array>
#include <cstdint>
#include <optional>
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
/// How to roll out the policies.
struct RolloutOptions
{
    RolloutMode mode{RolloutMode::BEST}; //!< how to choose
    float temperature{1};                //!< divides scores where choices are sampled
    bool usesUpper{true};                //!< ask the upper policy; else all trees are selected
    bool samplesTrees{false};            //!< trees by their probabilities, whatever the mode
    bool recordsTrees{false};            //!< record the selection of trees, whatever the mode
    float treeShift{0};                  //!< added to the scores of trees
    std::optional<Stagger> stagger;      //!< instead of the upper policy
    uint64_t seed{1};                    //!< where chance comes from
    uint32_t mostRounds{0};              //!< give up when there are so many; 0: never
};

/// @ingroup allreduce
/// One choice that a policy made.
struct Decision
{
    PolicyHead head;      //!< who chose
    uint32_t nRows;       //!< among how many; a tree is a choice between no and yes with one row
    uint32_t choice;      //!< which one
    uint32_t round;       //!< in which round, counted from 0
    std::size_t firstRow; //!< its features: index of the first row in EpisodeRecord::rows
    float logProbability; //!< of the choice
    float reward;         //!< what this choice earned by itself
};

/// @ingroup allreduce
/// All that training needs to know of a rollout.
struct EpisodeRecord
{
    std::array<std::vector<float>, N_POLICY_HEADS> rows; //!< by head: features; VALUE: by round
    std::vector<Decision> decisions;                     //!< in order
    std::vector<float> rewards;                          //!< by round
    uint32_t nRounds{0};                                 //!< rounds that the plan took
    uint32_t nRoundsNeeded{0};                           //!< rounds that it takes at least
    double lead{0};          //!< rounds fewer than the mean of the rollouts of the same problem
    double selectedShare{0}; //!< of trees that the upper policy selected
    bool isHalf{false};      //!< a half of a plan whose halves overlap

    /**
     * Write down a decision.
     *
     * @param decision what was decided; firstRow is filled in
     * @param features of its rows
     * @param nFeatures features of a row
     */
    void Add(Decision decision, const float* features, std::size_t nFeatures);

    /**
     * Write down what a round earned.
     *
     * @param before what the outcome of the last round was
     * @param after what the outcome of this one is
     */
    void AddReward(const PlanningEnvironment::RoundOutcome& before,
                   const PlanningEnvironment::RoundOutcome& after);
};

/**
 * @ingroup allreduce
 *
 * Plan with the two policies.
 *
 * @param environment what to plan; at its beginning
 * @param weights of the policies
 * @param options how to choose
 * @param [out] record what training needs to know; may be null
 * @return the plan; empty if it was given up
 * @throws InputError if some server cannot be reached
 */
std::vector<WorkloadList> RunRollout(PlanningEnvironment& environment,
                                     const PolicyWeights& weights,
                                     const RolloutOptions& options,
                                     EpisodeRecord* record = nullptr);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_ROLLOUT_H */
