/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_PROBLEMS_H
#define ALLREDUCE_TRAINING_PROBLEMS_H

#include "planning-problem.h"
#include "training-config.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A problem to plan, which owns its network.
struct TrainingProblem
{
    std::shared_ptr<const Topology> topology; //!< the network
    PlanningProblem problem;                  //!< what to plan on it
};

/// @ingroup allreduce
/// @param seed of the training @param iteration its number
/// @param what number of what the seed is for
/// @return a seed for something in an iteration, such that no two things share one
uint64_t MakeTrainingSeed(uint64_t seed, uint64_t iteration, uint64_t what);

/// @ingroup allreduce
/// @param problem a problem
/// @return after how many rounds a plan of it is so bad that it is given up
uint32_t GetMostTrainingRounds(const PlanningProblem& problem);

/// @ingroup allreduce
/// Draw a problem to train on: half of a plan, or all of it forwards.
/// @param config what there is to draw from @param seed the same seed draws the same problem
/// @return the problem
TrainingProblem DrawTrainingProblem(const TrainingConfig& config, uint64_t seed);

/// @ingroup allreduce
/// @param drawn a problem that was drawn
/// @return what takes long to find of it, for those who want the same problem
std::string WriteTrainingProblem(const TrainingProblem& drawn);

/// @ingroup allreduce
/// @param config what the problem was drawn from @param seed what it was drawn with
/// @param text what WriteTrainingProblem made of it
/// @return the problem that DrawTrainingProblem gives, in less time
TrainingProblem ReadTrainingProblem(const TrainingConfig& config,
                                    uint64_t seed,
                                    const std::string& text);

/// @ingroup allreduce
/// One of the problems that training is validated on: the named networks first, each several times,
/// then drawn ones. They are the same whatever the seed of the training is.
/// @param config what there is to validate on @param index less than CountValidationProblems
/// @return the problem
TrainingProblem MakeValidationProblem(const TrainingConfig& config, uint32_t index);

/// @ingroup allreduce
/// @param config what there is to validate on @return how many problems there are
uint32_t CountValidationProblems(const TrainingConfig& config);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_PROBLEMS_H */
