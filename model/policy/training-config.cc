/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-config.h"

#include "ns3/allreduce-error.h"
#include "ns3/json-input.h"
#include "ns3/topology-spec.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// What a number may be.
struct Range
{
    double least; //!< allowed
    double most;  //!< allowed
};

constexpr Range SHARE{0, 1};
constexpr Range COUNT{1, 1e9};
constexpr Range SLICES{1, 1e4};
constexpr Range COUNT_OR_NONE{0, 1e9};
constexpr Range POSITIVE{1e-12, 1e9};
constexpr Range WEIGHT{0, 1e9};
constexpr Range ANY{0, 1.8e19};

/// The table of keys.
/// @param config a TrainingConfig, const or not
/// @param visit called with the key, its member, its range and what it means
template <typename Config, typename Visit>
void
ForEachKey(Config& config, const Visit& visit)
{
    visit("topologies",
          config.topologies,
          ANY,
          "networks to train on, as likely as they stand here often; * draws another seed");
    visit("validation", config.validation, ANY, "networks to validate on");
    visit("validation_seeds", config.validation_seeds, COUNT, "problems on each of these");
    visit("validation_drawn", config.validation_drawn, COUNT_OR_NONE, "problems drawn to validate");
    visit("validation_every", config.validation_every, COUNT, "iterations");
    visit("validation_from", config.validation_from, COUNT_OR_NONE, "iterations before the first");
    visit("several_chunks", config.several_chunks, SHARE, "problems with m > 1");
    visit("degraded", config.degraded, SHARE, "problems on networks that lost links");
    visit("mixed", config.mixed, SHARE, "problems on networks with wider links");
    visit("forward", config.forward, SHARE, "problems that begin with nothing reduced");
    visit("most_chunks", config.most_chunks, COUNT, "chunks of a problem, unless m = 1");
    visit("seed", config.seed, ANY, "random seed");
    visit("iterations", config.iterations, COUNT_OR_NONE, "of rollouts and updates");
    visit("problems", config.problems, COUNT, "in an iteration");
    visit("rollouts", config.rollouts, COUNT, "of each problem");
    visit("epochs", config.epochs, COUNT, "over the rollouts of an iteration");
    visit("minibatches", config.minibatches, COUNT, "in an epoch");
    visit("slices", config.slices, SLICES, "parts of a minibatch, shared out among processes");
    visit("clip", config.clip, POSITIVE, "PPO's limit on the ratio of probabilities");
    visit("lambda", config.lambda, SHARE, "of generalized advantage estimation, over rounds");
    visit("pick_lambda", config.pick_lambda, SHARE, "discount of what later picks of a round earn");
    visit("learning_rate", config.learning_rate, POSITIVE, "at the beginning");
    visit("learning_rate_end", config.learning_rate_end, POSITIVE, "at the end");
    visit("entropy", config.entropy, WEIGHT, "weight at the beginning; none at the end");
    visit("gradient_norm", config.gradient_norm, POSITIVE, "longer gradients are cut");
    visit("group_weight", config.group_weight, WEIGHT, "of the baseline of a problem's rollouts");
    visit("upper_rate", config.upper_rate, POSITIVE, "steps of the upper policy, times");
    visit("critic_rate", config.critic_rate, POSITIVE, "steps of the critic, times");
    visit("most_advantage", config.most_advantage, POSITIVE, "normalized ones beyond are cut");
    visit("port_share", config.port_share, SHARE, "of choices among more than 8 ports to use");
    visit("averaging", config.averaging, SHARE, "of the weights over iterations");
    visit("reward_lost_round", config.reward.lostRound, WEIGHT, "for each round lost");
    visit("reward_lost_mean_round", config.reward.lostMeanRound, WEIGHT, "for the mean server");
    visit("reward_idle_ports", config.reward.idlePorts, WEIGHT, "for the share of idle ports");
    visit("reward_lost_option", config.reward.lostOption, WEIGHT, "for ports left without options");
}

void
ReadValue(const nlohmann::json& json,
          std::vector<std::string>& member,
          const Range&,
          const std::string& what)
{
    if (!json.is_array() || json.empty())
    {
        FailInput(what, " is ", Shorten(json), ", expected a list of networks");
    }
    member.clear();
    for (const auto& item : json)
    {
        if (!item.is_string() || item.get<std::string>().empty())
        {
            FailInput(what, " has ", Shorten(item), ", expected a network such as \"bcube:4,1\"");
        }
        member.push_back(item.get<std::string>());
    }
}

template <typename Number>
void
ReadValue(const nlohmann::json& json, Number& member, const Range& range, const std::string& what)
{
    const bool isRight = std::is_integral_v<Number> ? json.is_number_integer() : json.is_number();
    const double value = isRight ? json.get<double>() : NAN;
    if (!(value >= range.least && value <= range.most) ||
        (std::is_integral_v<Number> && value > double(std::numeric_limits<Number>::max())))
    {
        FailInput(what,
                  " is ",
                  Shorten(json),
                  std::is_integral_v<Number> ? ", expected a whole number from "
                                             : ", expected a number from ",
                  range.least,
                  " to ",
                  range.most);
    }
    json.get_to(member);
}

} // namespace

nlohmann::ordered_json
TrainingConfig::ToJson() const
{
    nlohmann::ordered_json json;
    ForEachKey(*this, [&](const char* key, const auto& member, const Range&, const char*) {
        json[key] = member;
    });
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
    std::vector<std::string> known;
    ForEachKey(config, [&](const char* key, auto& member, const Range& range, const char*) {
        known.emplace_back(key);
        const auto value = json.find(key);
        if (value != json.end())
        {
            ReadValue(*value, member, range, source + ": \"" + key + "\"");
        }
    });
    CheckKeys(json, known, source);
    return config;
}

std::string
TrainingConfig::DescribeKeys()
{
    std::ostringstream text;
    const TrainingConfig defaults;
    ForEachKey(defaults,
               [&](const char* key, const auto& member, const Range& range, const char* meaning) {
                   text << key << ": " << meaning << "; default " << nlohmann::json(member).dump();
                   if constexpr (std::is_arithmetic_v<std::decay_t<decltype(member)>>)
                   {
                       text << ", " << range.least << " to " << range.most;
                   }
                   text << "\n";
               });
    return text.str();
}

} // namespace ns3::allreduce
