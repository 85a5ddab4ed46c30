/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_WEIGHTS_H
#define ALLREDUCE_POLICY_WEIGHTS_H

#include "policy-features.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// Width of both hidden layers.
inline constexpr uint32_t HIDDEN = 32;

/**
 * @ingroup allreduce
 * @brief A perceptron with two hidden layers and one output, in plain memory.
 *
 * Small batches, of which planning makes millions, run several times faster here than in LibTorch,
 * where a call costs more than what it computes. Both must give the same.
 */
struct PerceptronWeights
{
    static constexpr float LEAK = 0.01F; //!< slope of the activation below zero

    uint32_t nInputs{0};       //!< features of a row
    std::vector<float> values; //!< layer after layer: weights by input, then biases

    /// @param inputs number of features
    explicit PerceptronWeights(uint32_t inputs = 0);

    /// @param inputs number of features @return how many values a perceptron has
    static std::size_t CountValues(uint32_t inputs);

    /// @param rows features, one row after another @param nRows number of rows
    /// @param [out] scores the output for each row
    void Score(const float* rows, uint32_t nRows, float* scores) const;
};

/// @ingroup allreduce
/// The weights of both policies and the critic.
struct PolicyWeights
{
    std::array<PerceptronWeights, N_POLICY_HEADS> heads; //!< by PolicyHead

    /// Weights that are all zero.
    PolicyWeights();

    /// Weights as training begins with: random, the last layers small, so that all choices begin
    /// alike, and most trees selected, because a policy that selects none learns nothing.
    /// @param seed random seed @return the weights
    static PolicyWeights MakeInitial(uint64_t seed);

    /// @param head one of the networks @return its weights
    const PerceptronWeights& Get(PolicyHead head) const
    {
        return heads[static_cast<std::size_t>(head)];
    }

    /// @copydoc Get
    PerceptronWeights& Get(PolicyHead head)
    {
        return heads[static_cast<std::size_t>(head)];
    }

    /// @return whether all of them are numbers, neither infinite nor undefined
    bool AreFinite() const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_WEIGHTS_H */
