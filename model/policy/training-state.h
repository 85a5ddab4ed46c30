/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_STATE_H
#define ALLREDUCE_TRAINING_STATE_H

#include "policy-network.h"
#include "policy-weights.h"
#include "training-config.h"
#include "training-group.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <torch/torch.h>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * @brief All that an iteration of training changes, and so all that is needed to go on later.
 *
 * Only sources of model/policy may include this header.
 */
struct TrainingState
{
    /// The state before the first iteration. @param trainingConfig how to train
    explicit TrainingState(const TrainingConfig& trainingConfig);

    /// @return the present weights
    PolicyWeights GetWeights() const;

    /// @param weights replace the present ones
    void SetWeights(const PolicyWeights& weights);

    /// @return the state as LibTorch's archive
    std::string Serialize() const;

    /// @param path a file with what Serialize wrote
    /// @throws InputError if it is not such a file, or of another configuration
    void Load(const std::string& path);

    /// Take over the weights of rank 0, from which those of other processors may differ in the last
    /// digit. @param group who trains
    void FollowWeights(const TrainingGroup& group);

    /// Take over all that rank 0 has. @param group who trains
    void Follow(const TrainingGroup& group);

    const TrainingConfig config;
    uint32_t iteration{0};                                       //!< iterations done
    uint64_t nDecisions{0};                                      //!< made so far
    std::vector<Perceptron> networks;                            //!< by PolicyHead
    std::vector<std::unique_ptr<torch::optim::Adam>> optimizers; //!< by PolicyHead
    PolicyWeights averaged;                                      //!< over iterations
    PolicyWeights best;                                          //!< by validation
    double bestValidation{std::numeric_limits<double>::infinity()};

  private:
    void Read(torch::serialize::InputArchive& archive, const std::string& name);
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_STATE_H */
