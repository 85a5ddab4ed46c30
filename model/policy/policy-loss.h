/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_LOSS_H
#define ALLREDUCE_POLICY_LOSS_H

#include "decision-batch.h"

#include <torch/torch.h>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief PPO's loss of some decisions. All numbers are sums over them, so that what parts of a
 * minibatch give can be added up.
 */
struct PolicyLoss
{
    torch::Tensor loss;   //!< to be made small
    double entropy{0};    //!< of the choices
    double kl{0};         //!< how far the policy has moved, approximately
    double nDecisions{0}; //!< how many
    double nClipped{0};   //!< those that PPO clipped
};

/**
 * @ingroup allreduce
 *
 * @param scores by row of the batch
 * @param batch decisions of one head
 * @param isUpper each is a yes or no with one row instead of a choice among rows
 * @param clip PPO's limit on the ratio of probabilities
 * @param entropyWeight how much entropy is worth
 * @return the loss
 */
PolicyLoss ComputePolicyLoss(const torch::Tensor& scores,
                             const DecisionBatch& batch,
                             bool isUpper,
                             double clip,
                             double entropyWeight);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_LOSS_H */
