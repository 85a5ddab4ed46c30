/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-checkpoint.h"

#include "ns3/allreduce-error.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

// Set by CMake: the shipped policy in the source tree, and where it is installed.
#ifndef ALLREDUCE_SOURCE_POLICY
#define ALLREDUCE_SOURCE_POLICY "contrib/allreduce/policies/hrl.json"
#endif
#ifndef ALLREDUCE_INSTALLED_POLICY
#define ALLREDUCE_INSTALLED_POLICY "/usr/share/allreduce/policies/hrl.json"
#endif

namespace ns3::allreduce
{

namespace
{

const char* const FORMAT = "allreduce-policy";
constexpr int VERSION = 1;

nlohmann::json
ParseFile(const std::string& path)
{
    std::ifstream in(path);
    if (!in)
    {
        FailInput("policy ", path, ": cannot be opened");
    }
    nlohmann::json json = nlohmann::json::parse(in, nullptr, false);
    if (json.is_discarded())
    {
        in.clear();
        in.seekg(0);
        FailInput("policy ",
                  path,
                  in.get() == '{' ? ": the file is cut short or damaged"
                                  : ": not a policy, expected JSON");
    }
    if (!json.is_object() || json.value("format", "") != FORMAT)
    {
        FailInput("policy ", path, ": not a policy, expected the format ", FORMAT);
    }
    if (json.value("version", 0) != VERSION)
    {
        FailInput("policy ", path, ": version ", json.value("version", 0), ", expected ", VERSION);
    }
    return json;
}

PerceptronWeights
ReadHead(const nlohmann::json& json, PolicyHead head, const std::string& path)
{
    const std::string name = GetPolicyHeadName(head);
    const auto& features = GetPolicyFeatures(head);
    const auto part = json.find(name);
    if (part == json.end() || !part->contains("features") || !part->contains("weights"))
    {
        FailInput("policy ", path, ": no network \"", name, "\"");
    }
    if ((*part)["features"] != nlohmann::json(features))
    {
        FailInput("policy ",
                  path,
                  ": network \"",
                  name,
                  "\" has another layout of features than this module");
    }
    PerceptronWeights weights(features.size());
    const auto& values = (*part)["weights"];
    if (!values.is_array() || values.size() != weights.values.size())
    {
        FailInput("policy ",
                  path,
                  ": network \"",
                  name,
                  "\" has ",
                  values.size(),
                  " weights, expected ",
                  weights.values.size());
    }
    for (std::size_t i = 0; i < values.size(); ++i)
    {
        if (!values[i].is_number())
        {
            FailInput("policy ",
                      path,
                      ": network \"",
                      name,
                      "\", weight ",
                      i,
                      " is ",
                      values[i].dump(),
                      ", expected a number");
        }
        weights.values[i] = values[i].get<float>();
    }
    return weights;
}

} // namespace

void
WriteFileAtomically(const std::string& path, const std::string& text)
{
    const std::string part = path + ".part";
    std::ofstream out(part, std::ios::trunc);
    out << text;
    out.close();
    if (!out || std::rename(part.c_str(), path.c_str()) != 0)
    {
        FailInput("file ", path, ": cannot be written");
    }
}

void
WriteCheckpoint(const std::string& path,
                const PolicyWeights& weights,
                const TrainingConfig& config,
                const nlohmann::ordered_json& record)
{
    nlohmann::ordered_json json = {{"format", FORMAT},
                                   {"version", VERSION},
                                   {"config", config.ToJson()},
                                   {"training", record}};
    for (const PolicyHead head : POLICY_HEADS)
    {
        json["networks"][GetPolicyHeadName(head)] = {{"features", GetPolicyFeatures(head)},
                                                     {"hidden", PerceptronWeights::HIDDEN},
                                                     {"weights", weights.Get(head).values}};
    }
    WriteFileAtomically(path, json.dump() + "\n");
}

PolicyWeights
ReadCheckpoint(const std::string& path)
{
    const nlohmann::json json = ParseFile(path);
    if (!json.contains("networks"))
    {
        FailInput("policy ", path, ": no \"networks\"");
    }
    PolicyWeights weights;
    for (const PolicyHead head : POLICY_HEADS)
    {
        weights.Get(head) = ReadHead(json["networks"], head, path);
    }
    return weights;
}

std::string
FindShippedCheckpoint()
{
    if (const char* path = std::getenv("ALLREDUCE_POLICY"))
    {
        return path;
    }
    for (const std::string path : {ALLREDUCE_SOURCE_POLICY, ALLREDUCE_INSTALLED_POLICY})
    {
        if (std::ifstream(path))
        {
            return path;
        }
    }
    FailInput("policy: neither ",
              ALLREDUCE_SOURCE_POLICY,
              " nor ",
              ALLREDUCE_INSTALLED_POLICY,
              " is there; name one with the attribute Checkpoint or with ALLREDUCE_POLICY");
}

} // namespace ns3::allreduce
