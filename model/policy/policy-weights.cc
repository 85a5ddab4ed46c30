/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-weights.h"

#include "wide-vectors.h"

#include <algorithm>
#include <boost/random/normal_distribution.hpp>
#include <cmath>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// As many numbers as fit into a register of AVX2; compilers do not see by themselves that the sums
/// of a layer can stay in registers. Not "using": Clang would forget the alignment.
typedef float Lanes __attribute__((vector_size(32), aligned(sizeof(float)), may_alias));
/// Registers that a layer takes.
constexpr uint32_t N_LANES = HIDDEN * sizeof(float) / sizeof(Lanes);

inline __attribute__((always_inline)) const Lanes*
AsLanes(const float* values)
{
    return reinterpret_cast<const Lanes*>(values);
}

/**
 * One layer.
 *
 * @tparam ROWS how many rows at once; with two, every weight is read for both
 * @param weights weights by input, then biases
 * @param inputs what goes in, row after row
 * @param nInputs how many in a row
 * @param [out] outputs HIDDEN values for each row
 */
template <uint32_t ROWS>
inline __attribute__((always_inline)) void
RunLayer(const float* weights, const float* inputs, uint32_t nInputs, float* outputs)
{
    Lanes sums[ROWS][N_LANES];
    for (uint32_t r = 0; r < ROWS; ++r)
    {
        for (uint32_t k = 0; k < N_LANES; ++k)
        {
            sums[r][k] = AsLanes(weights + nInputs * HIDDEN)[k];
        }
    }
    for (uint32_t i = 0; i < nInputs; ++i)
    {
        for (uint32_t k = 0; k < N_LANES; ++k)
        {
            const Lanes weight = AsLanes(weights + i * HIDDEN)[k];
            for (uint32_t r = 0; r < ROWS; ++r)
            {
                sums[r][k] += inputs[r * nInputs + i] * weight;
            }
        }
    }
    for (uint32_t r = 0; r < ROWS; ++r)
    {
        for (uint32_t k = 0; k < N_LANES; ++k)
        {
            const Lanes sum = sums[r][k];
            reinterpret_cast<Lanes*>(outputs + r * HIDDEN)[k] =
                sum > 0 ? sum : PerceptronWeights::LEAK * sum;
        }
    }
}

/// Score some rows at once. @param weights of the perceptron @param rows their features
/// @param [out] scores the output for each of them
template <uint32_t ROWS>
inline __attribute__((always_inline)) void
ScoreRows(const PerceptronWeights& weights, const float* rows, float* scores)
{
    const float* first = weights.values.data();
    const float* second = first + (weights.nInputs + 1) * HIDDEN;
    const float* last = second + (HIDDEN + 1) * HIDDEN;
    float hidden1[ROWS * HIDDEN];
    float hidden2[ROWS * HIDDEN];
    RunLayer<ROWS>(first, rows, weights.nInputs, hidden1);
    RunLayer<ROWS>(second, hidden1, HIDDEN, hidden2);
    float sums[ROWS];
    std::fill_n(sums, ROWS, last[HIDDEN]);
    for (uint32_t j = 0; j < HIDDEN; ++j)
    {
        for (uint32_t r = 0; r < ROWS; ++r)
        {
            sums[r] += last[j] * hidden2[r * HIDDEN + j];
        }
    }
    std::copy_n(sums, ROWS, scores);
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
    uint32_t i = 0;
    for (; i + 2 <= nRows; i += 2)
    {
        ScoreRows<2>(*this, rows + std::size_t{i} * nInputs, scores + i);
    }
    if (i < nRows)
    {
        ScoreRows<1>(*this, rows + std::size_t{i} * nInputs, scores + i);
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

} // namespace ns3::allreduce
