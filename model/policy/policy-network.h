/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_NETWORK_H
#define ALLREDUCE_POLICY_NETWORK_H

#include "policy-weights.h"

#include <torch/torch.h>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * @brief One of the policies' networks in LibTorch: what PerceptronWeights computes, with
 * gradients.
 *
 * Only sources of model/policy may include this header.
 */
class PerceptronImpl : public torch::nn::Module
{
  public:
    /// @param nInputs number of features
    explicit PerceptronImpl(int64_t nInputs);

    /// @param rows [row][feature] @return the output for each row
    torch::Tensor forward(const torch::Tensor& rows);

    /// @return the number of weights
    std::size_t CountWeights() const;

    /// Compute a gradient, without setting it. @param loss of what forward returned
    /// @param [out] row the gradient @return what comes after it
    double* WriteGradient(const torch::Tensor& loss, double* row) const;

    /// @param gradient what WriteGradient wrote, or a sum of such @param factor multiplies it
    void SetGradient(const double* gradient, double factor);

    /// @return the weights in plain memory
    PerceptronWeights Export() const;

    /// @param weights to be taken over
    void Import(const PerceptronWeights& weights);

  private:
    torch::nn::Linear m_first{nullptr};  //!< features to hidden
    torch::nn::Linear m_second{nullptr}; //!< hidden to hidden
    torch::nn::Linear m_last{nullptr};   //!< hidden to score
};

TORCH_MODULE(Perceptron);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_NETWORK_H */
