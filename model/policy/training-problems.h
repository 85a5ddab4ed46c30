/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_PROBLEMS_H
#define ALLREDUCE_TRAINING_PROBLEMS_H

#include "planning-environment.h"
#include "policy-weights.h"
#include "training-config.h"

#include "ns3/allreduce-state.h"
#include "ns3/broadcast-problem.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <variant>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Something to be planned, together with the network that it is on.
struct TrainingProblem
{
    std::shared_ptr<const Topology> topology;             //!< the network
    std::variant<BroadcastProblem, AllReduceState> start; //!< what to plan on it
    BroadcastLimits limits;                               //!< of a broadcast
    std::optional<Stagger> stagger;                       //!< of the trees of a broadcast
    uint32_t nChunks{0};                                  //!< number of chunks

    /// @return the problem as the policies see it; the problem must outlive it
    std::unique_ptr<PlanningEnvironment> MakeEnvironment() const;
};

/**
 * @ingroup allreduce
 *
 * All of an AllReduce, or the broadcast half of it.
 *
 * @param mode forward: all of it
 * @param topology the network
 * @param chunksPerServer how many chunks each server is the root of
 * @return the problem
 */
TrainingProblem MakeFullProblem(PlanMode mode, Topology topology, uint32_t chunksPerServer);

/**
 * @ingroup allreduce
 *
 * Draw a problem to train on.
 *
 * @param config what there is to draw from
 * @param seed the same seed draws the same problem
 * @return the problem
 */
TrainingProblem DrawTrainingProblem(const TrainingConfig& config, uint64_t seed);

/**
 * @ingroup allreduce
 *
 * Draw one half of an AllReduce whose halves overlap: either a broadcast whose trees begin by some
 * rule, or one beside a reduce that was planned with such a rule.
 *
 * @param config what there is to draw from
 * @param seed the same seed draws the same problem
 * @param weights plan the reduce
 * @return the problem
 */
TrainingProblem DrawHalf(const TrainingConfig& config, uint64_t seed, const PolicyWeights& weights);

/**
 * @ingroup allreduce
 *
 * Draw an AllReduce whose trees are to be staggered.
 *
 * @param config what there is to draw from
 * @param seed the same seed draws the same problem
 * @return the problem: all of an AllReduce
 */
TrainingProblem DrawStaggeredProblem(const TrainingConfig& config, uint64_t seed);

/**
 * @ingroup allreduce
 *
 * Go some rounds into a problem, as if what follows had to be planned anew.
 *
 * @param problem what was planned; what is left of it remains
 * @param plan the plan
 * @param nRounds how many rounds of it
 */
void PlayBeginning(TrainingProblem& problem,
                   const std::vector<WorkloadList>& plan,
                   std::size_t nRounds);

/**
 * @ingroup allreduce
 *
 * @param problem what to plan
 * @param seed where chance comes from
 * @return a plan by the greedy planner, mirrored where it is for all of an AllReduce
 */
std::vector<WorkloadList> PlanGreedily(const TrainingProblem& problem, uint64_t seed);

/**
 * @ingroup allreduce
 *
 * One of the problems that training is validated on: the named networks first, each several times,
 * then drawn ones. They are the same whatever the seed of the training is.
 *
 * @param config what there is to validate on
 * @param index less than CountValidationProblems
 * @return the problem
 */
TrainingProblem MakeValidationProblem(const TrainingConfig& config, uint32_t index);

/**
 * @ingroup allreduce
 *
 * One of the AllReduces that the upper policy is validated on.
 *
 * @param config what there is to validate on
 * @param index less than validation_staggered
 * @return the problem
 */
TrainingProblem MakeStaggeredValidationProblem(const TrainingConfig& config, uint32_t index);

/**
 * @ingroup allreduce
 *
 * @param config what there is to validate on
 * @return how many problems there are
 */
uint32_t CountValidationProblems(const TrainingConfig& config);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_PROBLEMS_H */
