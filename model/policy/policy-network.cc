/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-network.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Appends a layer as PerceptronWeights has it: weights by input, then biases.
void
AppendLayer(const torch::nn::Linear& layer, std::vector<float>& values)
{
    // PerceptronWeights wants [input][output], LibTorch has [output][input].
    const torch::Tensor weight = layer->weight.detach().t().contiguous();
    const torch::Tensor bias = layer->bias.detach().contiguous();
    values.insert(values.end(),
                  weight.data_ptr<float>(),
                  weight.data_ptr<float>() + weight.numel());
    values.insert(values.end(), bias.data_ptr<float>(), bias.data_ptr<float>() + bias.numel());
}

/// Takes a layer from where AppendLayer put it. @return what comes after it
const float*
TakeLayer(torch::nn::Linear& layer, const float* values)
{
    const torch::NoGradGuard noGradient;
    const int64_t nOutputs = layer->weight.size(0);
    const int64_t nInputs = layer->weight.size(1);
    const auto options = torch::TensorOptions().dtype(torch::kFloat32);
    auto* data = const_cast<float*>(values);
    layer->weight.copy_(torch::from_blob(data, {nInputs, nOutputs}, options).t());
    layer->bias.copy_(torch::from_blob(data + nInputs * nOutputs, {nOutputs}, options));
    return values + (nInputs + 1) * nOutputs;
}

} // namespace

PerceptronImpl::PerceptronImpl(int64_t nInputs)
    : m_first(register_module("first", torch::nn::Linear(nInputs, HIDDEN))),
      m_second(register_module("second", torch::nn::Linear(HIDDEN, HIDDEN))),
      m_last(register_module("last", torch::nn::Linear(HIDDEN, 1)))
{
}

torch::Tensor
PerceptronImpl::forward(const torch::Tensor& rows)
{
    const torch::Tensor hidden = torch::leaky_relu(m_first(rows), PerceptronWeights::LEAK);
    return m_last(torch::leaky_relu(m_second(hidden), PerceptronWeights::LEAK)).squeeze(-1);
}

std::size_t
PerceptronImpl::CountWeights() const
{
    return PerceptronWeights::CountValues(m_first->weight.size(1));
}

double*
PerceptronImpl::WriteGradient(const torch::Tensor& loss, double* row) const
{
    for (const torch::Tensor& gradient : torch::autograd::grad({loss}, parameters()))
    {
        const torch::Tensor flat = gradient.contiguous();
        row = std::copy_n(flat.data_ptr<float>(), flat.numel(), row);
    }
    return row;
}

void
PerceptronImpl::SetGradient(const double* gradient, double factor)
{
    for (torch::Tensor& parameter : parameters())
    {
        torch::Tensor own = torch::empty_like(parameter);
        float* values = own.data_ptr<float>();
        for (int64_t i = 0; i < own.numel(); ++i)
        {
            values[i] = *gradient++ * factor;
        }
        parameter.mutable_grad() = own;
    }
}

PerceptronWeights
PerceptronImpl::Export() const
{
    PerceptronWeights weights(m_first->weight.size(1));
    weights.values.clear();
    AppendLayer(m_first, weights.values);
    AppendLayer(m_second, weights.values);
    AppendLayer(m_last, weights.values);
    return weights;
}

void
PerceptronImpl::Import(const PerceptronWeights& weights)
{
    const float* values = weights.values.data();
    values = TakeLayer(m_first, values);
    values = TakeLayer(m_second, values);
    TakeLayer(m_last, values);
}

} // namespace ns3::allreduce
