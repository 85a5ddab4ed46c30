/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-weights.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t HIDDEN = PerceptronWeights::HIDDEN;

/**
 * One layer: a fixed width lets the compiler keep the sums in vector registers.
 *
 * @param weights weights by input, then biases
 * @param inputs what goes in
 * @param nInputs how many
 * @param [out] outputs HIDDEN values
 */
inline void
RunLayer(const float* weights, const float* inputs, uint32_t nInputs, float* outputs)
{
    float sums[HIDDEN];
    std::copy_n(weights + nInputs * HIDDEN, HIDDEN, sums);
    for (uint32_t i = 0; i < nInputs; ++i)
    {
        const float input = inputs[i];
        const float* row = weights + i * HIDDEN;
        for (uint32_t j = 0; j < HIDDEN; ++j)
        {
            sums[j] += input * row[j];
        }
    }
    for (uint32_t j = 0; j < HIDDEN; ++j)
    {
        outputs[j] = sums[j] > 0 ? sums[j] : PerceptronWeights::LEAK * sums[j];
    }
}

} // namespace

PerceptronWeights::PerceptronWeights(uint32_t inputs)
    : nInputs(inputs),
      values(CountValues(inputs), 0)
{
}

std::size_t
PerceptronWeights::CountValues(uint32_t inputs)
{
    return std::size_t{inputs + 1} * HIDDEN + std::size_t{HIDDEN + 1} * HIDDEN + HIDDEN + 1;
}

void
PerceptronWeights::Score(const float* rows, uint32_t nRows, float* scores) const
{
    const float* first = values.data();
    const float* second = first + (nInputs + 1) * HIDDEN;
    const float* last = second + (HIDDEN + 1) * HIDDEN;
    float hidden1[HIDDEN];
    float hidden2[HIDDEN];
    for (uint32_t i = 0; i < nRows; ++i)
    {
        RunLayer(first, rows + std::size_t{i} * nInputs, nInputs, hidden1);
        RunLayer(second, hidden1, HIDDEN, hidden2);
        float sum = last[HIDDEN];
        for (uint32_t j = 0; j < HIDDEN; ++j)
        {
            sum += last[j] * hidden2[j];
        }
        scores[i] = sum;
    }
}

PolicyWeights::PolicyWeights()
{
    for (const PolicyHead head : POLICY_HEADS)
    {
        Get(head) = PerceptronWeights(GetPolicyFeatures(head).size());
    }
}

std::size_t
PolicyWeights::CountValues() const
{
    std::size_t count = 0;
    for (const PerceptronWeights& head : heads)
    {
        count += head.values.size();
    }
    return count;
}

} // namespace ns3::allreduce
