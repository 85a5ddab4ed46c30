/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-config.h"

#include "policy-features.h"

#include "ns3/allreduce-error.h"

#include <nlohmann/json.hpp>

namespace ns3::allreduce
{

namespace
{

/// Calls with the name and the member of every key.
template <typename Config, typename Call>
void
ForEachKey(Config& config, Call call)
{
    call("mode", config.mode);
    call("topologies", config.topologies);
    call("staggered_topologies", config.staggered_topologies);
    call("validation", config.validation);
    call("validation_seeds", config.validation_seeds);
    call("validation_drawn", config.validation_drawn);
    call("validation_staggered", config.validation_staggered);
    call("validation_every", config.validation_every);
    call("validation_from", config.validation_from);
    call("several_chunks", config.several_chunks);
    call("degraded", config.degraded);
    call("mixed", config.mixed);
    call("partial", config.partial);
    call("seed", config.seed);
    call("iterations", config.iterations);
    call("imitation", config.imitation);
    call("problems", config.problems);
    call("halves", config.halves);
    call("rollouts", config.rollouts);
    call("staggered", config.staggered);
    call("upper_from", config.upper_from);
    call("upper_imitation", config.upper_imitation);
    call("epochs", config.epochs);
    call("minibatches", config.minibatches);
    call("clip", config.clip);
    call("lambda", config.lambda);
    call("learning_rate", config.learning_rate);
    call("learning_rate_end", config.learning_rate_end);
    call("entropy", config.entropy);
    call("gradient_norm", config.gradient_norm);
    call("group_weight", config.group_weight);
    call("upper_weight", config.upper_weight);
    call("upper_rate", config.upper_rate);
    call("port_share", config.port_share);
    call("averaging", config.averaging);
}

/// @return whether a value is of the kind that the member is
bool
IsRight(const nlohmann::json& json, const std::vector<std::string>&)
{
    return json.is_array() && !json.empty() &&
           std::all_of(json.begin(), json.end(), [](const auto& item) { return item.is_string(); });
}

bool
IsRight(const nlohmann::json& json, const std::string&)
{
    return json.is_string();
}

bool
IsRight(const nlohmann::json& json, double)
{
    return json.is_number() && json.get<double>() >= 0;
}

bool
IsRight(const nlohmann::json& json, uint32_t)
{
    return json.is_number_unsigned() && json.get<uint64_t>() > 0 &&
           json.get<uint64_t>() <= std::numeric_limits<uint32_t>::max();
}

bool
IsRight(const nlohmann::json& json, uint64_t)
{
    return json.is_number_unsigned();
}

} // namespace

nlohmann::ordered_json
TrainingConfig::ToJson() const
{
    nlohmann::ordered_json json;
    ForEachKey(*this, [&](const char* key, const auto& member) { json[key] = member; });
    return json;
}

TrainingConfig
TrainingConfig::FromJson(const nlohmann::json& json, const std::string& source)
{
    if (!json.is_object())
    {
        FailInput(source, ": expected a JSON object of training options");
    }
    TrainingConfig config;
    std::size_t nFound = 0;
    std::string known;
    ForEachKey(config, [&](const char* key, auto& member) {
        known += std::string(known.empty() ? "" : ", ") + key;
        const auto value = json.find(key);
        if (value == json.end())
        {
            return;
        }
        ++nFound;
        if (!IsRight(*value, member))
        {
            FailInput(source, ": \"", key, "\" is ", value->dump(), ", which is not possible");
        }
        value->get_to(member);
    });
    ParsePlanMode(config.mode, source);
    if (nFound < json.size())
    {
        for (const auto& item : json.items())
        {
            if (known.find(item.key()) == std::string::npos)
            {
                FailInput(source, ": unknown key \"", item.key(), "\", expected ", known);
            }
        }
    }
    return config;
}

} // namespace ns3::allreduce
