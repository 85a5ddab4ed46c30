/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-loss.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

namespace
{

/// What a loss is made of.
struct PolicyOutput
{
    torch::Tensor logProbability; //!< by decision: of the choice
    torch::Tensor entropy;        //!< sum
};

/// @return by decision: the largest score of its rows, to be subtracted for precision
torch::Tensor
FindLargest(const torch::Tensor& scores, const DecisionBatch& batch)
{
    torch::Tensor largest = torch::full({batch.nDecisions}, -std::numeric_limits<float>::max());
    const float* score = scores.data_ptr<float>();
    const int64_t* decision = batch.decisionOfRow.data_ptr<int64_t>();
    float* result = largest.data_ptr<float>();
    for (int64_t row = 0; row < scores.numel(); ++row)
    {
        result[decision[row]] = std::max(result[decision[row]], score[row]);
    }
    return largest;
}

/// The lower policy: a softmax over each decision's rows.
PolicyOutput
ApplySoftmax(const torch::Tensor& scores, const DecisionBatch& batch)
{
    const torch::Tensor shifted =
        scores - FindLargest(scores.detach(), batch).index_select(0, batch.decisionOfRow);
    const torch::Tensor sums =
        torch::zeros({batch.nDecisions}).index_add(0, batch.decisionOfRow, shifted.exp()).log();
    const torch::Tensor logProbabilities = shifted - sums.index_select(0, batch.decisionOfRow);
    return {logProbabilities.index_select(0, batch.chosenRow),
            -(logProbabilities.exp() * logProbabilities).sum()};
}

/// The upper policy: a yes or no for each tree.
PolicyOutput
ApplyBernoulli(const torch::Tensor& scores, const DecisionBatch& batch)
{
    const torch::Tensor logYes = torch::log_sigmoid(scores);
    const torch::Tensor logNo = torch::log_sigmoid(-scores);
    return {batch.choice * logYes + (1 - batch.choice) * logNo,
            -(logYes.exp() * logYes + logNo.exp() * logNo).sum()};
}

} // namespace

PolicyLoss
ComputePolicyLoss(const torch::Tensor& scores,
                  const DecisionBatch& batch,
                  bool isUpper,
                  double clip,
                  double entropyWeight)
{
    const PolicyOutput output =
        isUpper ? ApplyBernoulli(scores, batch) : ApplySoftmax(scores, batch);
    const torch::Tensor logRatio = output.logProbability - batch.logProbability;
    const torch::Tensor ratio = logRatio.exp();
    const torch::Tensor clipped = ratio.clamp(1 - clip, 1 + clip);
    PolicyLoss result;
    result.loss = -torch::min(ratio * batch.advantage, clipped * batch.advantage).sum() -
                  entropyWeight * output.entropy;
    const torch::NoGradGuard noGradient;
    result.entropy = output.entropy.item<double>();
    result.kl = (ratio - 1 - logRatio).sum().item<double>();
    result.nDecisions = batch.nDecisions;
    result.nClipped = ((ratio - 1).abs() > clip).sum().item<double>();
    return result;
}

} // namespace ns3::allreduce
