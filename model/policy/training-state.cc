/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-state.h"

#include "policy-prior.h"

#include "ns3/allreduce-error.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

/// Of OpenBLAS, if that is the BLAS of LibTorch, which does not pass its own number on.
extern "C" __attribute__((weak)) void openblas_set_num_threads(int);

namespace ns3::allreduce
{

namespace
{

/// LibTorch computes on the calling thread: sums come out the same, and slices run side by side.
void
UseOneThread()
{
    torch::set_num_threads(1);
    if (openblas_set_num_threads)
    {
        openblas_set_num_threads(1);
    }
}

/// Read as many values as there are. @throws std::length_error if there are others
void
ReadValues(const nlohmann::json& json, std::vector<float>& values)
{
    if (json.size() != values.size())
    {
        throw std::length_error("another number of weights");
    }
    json.get_to(values);
}

} // namespace

TrainingState::TrainingState(const TrainingConfig& trainingConfig)
    : config(trainingConfig),
      averaged(MakePrior(config.seed)),
      best(averaged)
{
    UseOneThread();
    for (const PolicyHead head : POLICY_HEADS)
    {
        networks.emplace_back(GetPolicyFeatures(head).size());
        optimizers.push_back(
            std::make_unique<torch::optim::Adam>(networks.back()->parameters(),
                                                 torch::optim::AdamOptions(config.learning_rate)));
    }
    SetWeights(averaged);
}

PolicyWeights
TrainingState::GetWeights() const
{
    PolicyWeights weights;
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        weights.heads[head] = networks[head]->Export();
    }
    return weights;
}

void
TrainingState::SetWeights(const PolicyWeights& weights)
{
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        networks[head]->Import(weights.heads[head]);
    }
}

std::string
TrainingState::Serialize() const
{
    torch::serialize::OutputArchive archive;
    nlohmann::ordered_json numbers = {{"config", config.ToJson()},
                                      {"features", GetAllPolicyFeatures()},
                                      {"iteration", iteration},
                                      {"decisions", nDecisions}};
    if (std::isfinite(bestValidation))
    {
        numbers["best_validation"] = bestValidation;
    }
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        const std::string name = GetPolicyHeadName(POLICY_HEADS[head]);
        numbers["averaged"][name] = averaged.heads[head].values;
        numbers["best"][name] = best.heads[head].values;
        torch::serialize::OutputArchive network;
        torch::serialize::OutputArchive optimizer;
        networks[head]->save(network);
        optimizers[head]->save(optimizer);
        archive.write("network-" + name, network);
        archive.write("optimizer-" + name, optimizer);
    }
    archive.write("numbers", torch::IValue(numbers.dump()));
    std::ostringstream text;
    archive.save_to(text);
    return text.str();
}

void
TrainingState::Read(torch::serialize::InputArchive& archive, const std::string& name)
{
    torch::IValue value;
    archive.read("numbers", value);
    const nlohmann::json numbers = nlohmann::json::parse(value.toStringRef());
    if (numbers.at("config") != nlohmann::json(config.ToJson()))
    {
        FailInput(name, ": made with another configuration");
    }
    if (numbers.at("features") != nlohmann::json(GetAllPolicyFeatures()))
    {
        FailInput(name, ": made with other features of the networks");
    }
    iteration = numbers.at("iteration");
    nDecisions = numbers.at("decisions");
    bestValidation = numbers.value("best_validation", std::numeric_limits<double>::infinity());
    for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
    {
        const std::string headName = GetPolicyHeadName(POLICY_HEADS[head]);
        ReadValues(numbers.at("averaged").at(headName), averaged.heads[head].values);
        ReadValues(numbers.at("best").at(headName), best.heads[head].values);
        torch::serialize::InputArchive network;
        torch::serialize::InputArchive optimizer;
        archive.read("network-" + headName, network);
        archive.read("optimizer-" + headName, optimizer);
        networks[head]->load(network);
        optimizers[head]->load(optimizer);
    }
}

void
TrainingState::Load(const std::string& path)
{
    const std::string name = "training state " + NamePath(path);
    try
    {
        torch::serialize::InputArchive archive;
        archive.load_from(path);
        Read(archive, name);
    }
    catch (const c10::Error&)
    {
        FailInput(name, ": not there, cut short or not a training state");
    }
    catch (const InputError&)
    {
        throw;
    }
    catch (const std::exception&)
    {
        FailInput(name, ": damaged");
    }
}

void
TrainingState::FollowWeights(const TrainingGroup& group)
{
    PolicyWeights weights = GetWeights();
    for (PerceptronWeights& head : weights.heads)
    {
        std::string bytes(reinterpret_cast<const char*>(head.values.data()),
                          head.values.size() * sizeof(float));
        group.Broadcast(bytes);
        std::memcpy(head.values.data(), bytes.data(), bytes.size());
    }
    SetWeights(weights);
}

void
TrainingState::Follow(const TrainingGroup& group)
{
    std::string text = group.GetRank() == 0 ? Serialize() : "";
    group.Broadcast(text);
    if (group.GetRank() > 0)
    {
        std::istringstream in(text);
        torch::serialize::InputArchive archive;
        archive.load_from(in);
        Read(archive, "training state of rank 0");
    }
}

} // namespace ns3::allreduce
