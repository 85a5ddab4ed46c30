/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "model-catalogue.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cctype>

namespace ns3::allreduce
{

namespace
{

/// @return the letters and digits of a name, in lower case
std::string
Simplify(std::string_view name)
{
    std::string simple;
    for (const unsigned char c : name)
    {
        if (c != '-' && c != '_')
        {
            simple.push_back(std::tolower(c));
        }
    }
    return simple;
}

} // namespace

uint64_t
TrainingModel::GetGradientBytes() const
{
    constexpr uint64_t BYTES = 4;
    return BYTES * parameters;
}

double
TrainingModel::GetStepSeconds(uint32_t batch) const
{
    std::vector<std::string> batches;
    for (const StepTime& step : steps)
    {
        if (step.batch == batch)
        {
            return step.seconds;
        }
        batches.push_back(std::to_string(step.batch));
    }
    FailInput("batch size ",
              batch,
              " of ",
              name,
              ": expected ",
              batches.empty() ? "none, its steps were not measured"
                              : boost::algorithm::join(batches, ", "));
}

const std::vector<TrainingModel>&
GetModelCatalogue()
{
    static const std::vector<TrainingModel> models = {
        {"a3c", 600'000, {{0, 0.1394}}},
        {"alexnet", 61'100'840, {}},
        {"bert-base", 110'000'000, {}},
        {"bert-large", 340'000'000, {}},
        {"cyclegan", 28'286'000, {{0, 0.2259}}},
        {"googlenet", 6'624'904, {}},
        {"gpt-2", 1'542'000'000, {}},
        {"inception-3", 23'834'568, {}},
        {"inception-4", 42'679'816, {}},
        {"lm",
         13'960'000,
         {{5, 0.00916}, {10, 0.01225}, {20, 0.01545}, {40, 0.02211}, {80, 0.03541}}},
        {"recommendation",
         8'060'000,
         {{512, 0.04289}, {1024, 0.07529}, {2048, 0.1339}, {4096, 0.256}, {8192, 0.3519}}},
        {"resnet-18",
         11'689'512,
         {{16, 0.03091}, {32, 0.03339}, {64, 0.04151}, {128, 0.05557}, {256, 0.09708}}},
        {"resnet-50", 25'557'032, {{16, 0.08775}, {32, 0.1284}, {64, 0.2275}, {128, 0.4005}}},
        {"resnet-101", 44'549'160, {}},
        {"resnet-152", 60'192'808, {}},
        {"transformer",
         65'000'000,
         {{16, 0.09038}, {32, 0.09415}, {64, 0.116}, {128, 0.1836}, {256, 0.6269}}},
        {"vgg-11", 132'863'336, {}},
        {"vgg-16", 138'357'544, {}},
        {"vgg-19", 143'667'240, {}},
    };
    return models;
}

const TrainingModel&
FindModel(std::string_view name)
{
    const std::string simple = Simplify(name);
    std::vector<std::string> names;
    for (const TrainingModel& model : GetModelCatalogue())
    {
        if (Simplify(model.name) == simple)
        {
            return model;
        }
        names.push_back(model.name);
    }
    FailInput("model ",
              Quote(std::string(name)),
              ": expected ",
              boost::algorithm::join(names, ", "));
}

} // namespace ns3::allreduce
