/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_PROBLEMS_H
#define ALLREDUCE_TRAINING_PROBLEMS_H

#include "training-config.h"

#include "ns3/broadcast-problem.h"

#include <cstdint>
#include <memory>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A broadcast to be planned, together with the network that it is on.
struct OwnedProblem
{
    std::shared_ptr<const Topology> topology; //!< the network
    BroadcastProblem problem;                 //!< what to plan on it
};

/**
 * @ingroup allreduce
 *
 * The broadcast half of an AllReduce: every server wants every chunk.
 *
 * @param topology the network
 * @param chunksPerServer how many chunks each server is the root of
 * @return the problem
 */
OwnedProblem MakeFullProblem(Topology topology, uint32_t chunksPerServer);

/**
 * @ingroup allreduce
 *
 * Draw a problem to train on.
 *
 * @param config what there is to draw from
 * @param seed the same seed draws the same problem
 * @return the problem
 */
OwnedProblem DrawTrainingProblem(const TrainingConfig& config, uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_PROBLEMS_H */
