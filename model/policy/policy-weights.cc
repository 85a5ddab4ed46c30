/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-weights.h"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <random>

// Twice as fast where the processor has AVX2. Without fused multiplications, so that the sums are
// the same everywhere.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ALLREDUCE_WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define ALLREDUCE_WIDE_VECTORS
#endif

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
inline __attribute__((always_inline)) void
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

/// Fill in a layer: random weights, no biases. @return what comes after it
float*
DrawLayer(float* values,
          uint32_t nInputs,
          uint32_t nOutputs,
          double deviation,
          std::mt19937_64& random)
{
    boost::random::normal_distribution<double> normal(0, deviation);
    std::generate_n(values, nInputs * nOutputs, [&] { return normal(random); });
    return values + (nInputs + 1) * nOutputs;
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

ALLREDUCE_WIDE_VECTORS void
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

PolicyWeights
PolicyWeights::MakeInitial(uint64_t seed)
{
    PolicyWeights weights;
    std::mt19937_64 random(seed);
    for (PerceptronWeights& head : weights.heads)
    {
        float* next = head.values.data();
        next = DrawLayer(next, head.nInputs, HIDDEN, std::sqrt(2.0 / head.nInputs), random);
        next = DrawLayer(next, HIDDEN, HIDDEN, std::sqrt(2.0 / HIDDEN), random);
        DrawLayer(next, HIDDEN, 1, 0.1 * std::sqrt(1.0 / HIDDEN), random);
    }
    weights.Get(PolicyHead::TREE).values.back() = 1;
    return weights;
}

bool
PolicyWeights::AreFinite() const
{
    return std::all_of(heads.begin(), heads.end(), [](const PerceptronWeights& head) {
        return std::all_of(head.values.begin(), head.values.end(), [](float value) {
            return std::isfinite(value);
        });
    });
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
