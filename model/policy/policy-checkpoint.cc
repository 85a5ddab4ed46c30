/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-checkpoint.h"

#include "policy-weights.h"

#include "ns3/allreduce-error.h"
#include "ns3/input-file.h"
#include "ns3/json-input.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

// Set by CMake: where the shipped policies are in the source tree, and where they are installed.
#ifndef ALLREDUCE_SOURCE_POLICIES
#define ALLREDUCE_SOURCE_POLICIES "contrib/allreduce/policies"
#endif
#ifndef ALLREDUCE_INSTALLED_POLICIES
#define ALLREDUCE_INSTALLED_POLICIES "/usr/share/allreduce/policies"
#endif

namespace ns3::allreduce
{

namespace
{

const char* const FORMAT = "allreduce-policy";
constexpr int VERSION = 2;

/// @return where the policies are if the library has been installed anywhere: share/ is beside lib/
/// or, as on Debian, beside lib/x86_64-linux-gnu/; empty if there is no such folder
std::string
FindInstalledPolicies()
{
    Dl_info library;
    if (dladdr(reinterpret_cast<const void*>(&FindShippedCheckpoint), &library) == 0)
    {
        return "";
    }
    std::error_code error;
    std::filesystem::path folder = std::filesystem::canonical(library.dli_fname, error);
    for (int up = 0; up < 3 && folder.has_relative_path(); ++up)
    {
        folder = folder.parent_path();
        const std::filesystem::path policies = folder / "share/allreduce/policies";
        if (std::filesystem::is_directory(policies, error))
        {
            return policies.string();
        }
    }
    return "";
}

bool
IsFileOrNothing(const std::string& path)
{
    std::error_code error;
    const auto status = std::filesystem::status(path, error);
    return !std::filesystem::exists(status) || std::filesystem::is_regular_file(status);
}

nlohmann::json
Parse(std::istream& in, const std::string& path)
{
    nlohmann::json json = ReadJson(in, "policy " + path);
    if (!json.is_object() || !json.contains("format") || json["format"] != FORMAT)
    {
        FailInput("policy ", path, ": not a policy, expected the format ", FORMAT);
    }
    const nlohmann::json version = json.value("version", nlohmann::json());
    if (version != VERSION)
    {
        FailInput("policy ", path, ": version ", Shorten(version), ", expected ", VERSION);
    }
    return json;
}

/// @return where the features of a checkpoint first differ from those of this module
std::string
DescribeDifference(const nlohmann::json& read, const std::vector<std::string>& expected)
{
    const std::size_t nRead = read.is_array() ? read.size() : 0;
    std::size_t i = 0;
    while (i < std::min(nRead, expected.size()) && read[i] == expected[i])
    {
        ++i;
    }
    return "feature " + std::to_string(i) + " is " + (i < nRead ? Shorten(read[i]) : "missing") +
           ", expected " + (i < expected.size() ? Quote(expected[i]) : "no more");
}

PerceptronWeights
ReadHead(const nlohmann::json& json, PolicyHead head, const std::string& path)
{
    const std::string name = GetPolicyHeadName(head);
    const auto& features = GetPolicyFeatures(head);
    const auto part = json.find(name);
    if (part == json.end() || !part->is_object() || !part->contains("features") ||
        !part->contains("weights"))
    {
        FailInput("policy ", path, ": no network \"", name, "\"");
    }
    const std::string what = "policy " + path + ": network \"" + name + "\"";
    if ((*part)["features"] != nlohmann::json(features))
    {
        FailInput(what,
                  " has another layout of features than this module: ",
                  DescribeDifference((*part)["features"], features),
                  "; train it anew with allreduce-train");
    }
    PerceptronWeights weights(features.size());
    const auto& values = (*part)["weights"];
    if (!values.is_array() || values.size() != weights.values.size())
    {
        FailInput(what, " has ", values.size(), " weights, expected ", weights.values.size());
    }
    for (std::size_t i = 0; i < values.size(); ++i)
    {
        if (!values[i].is_number() ||
            !(std::abs(values[i].get<double>()) <= std::numeric_limits<float>::max()))
        {
            FailInput(what,
                      ", weight ",
                      i,
                      " is ",
                      Shorten(values[i]),
                      ", expected a finite number");
        }
        weights.values[i] = values[i].get<float>();
    }
    return weights;
}

} // namespace

void
WriteFileAtomically(const std::string& path, const std::string& text)
{
    // A device or a pipe is written to; only a file can be replaced.
    const bool isReplaced = IsFileOrNothing(path);
    const std::string part = isReplaced ? path + ".part" : path;
    std::ofstream out(part, std::ios::trunc);
    out << text;
    out.close();
    if (!out || (isReplaced && std::rename(part.c_str(), path.c_str()) != 0))
    {
        FailInput("file ", NamePath(path), ": cannot be written");
    }
}

void
CheckWritable(const std::string& path)
{
    const std::string part = IsFileOrNothing(path) ? path + ".part" : path;
    std::error_code error; // a name that is too long, say: then it cannot be opened either
    const bool isThere = std::filesystem::exists(part, error);
    if (!std::ofstream(part, std::ios::app))
    {
        FailInput("file ", NamePath(path), ": cannot be written");
    }
    if (!isThere)
    {
        std::remove(part.c_str());
    }
}

void
WriteCheckpoint(const std::string& path,
                const PolicyWeights& weights,
                const nlohmann::ordered_json& config,
                const nlohmann::ordered_json& record)
{
    nlohmann::ordered_json json = {{"format", FORMAT},
                                   {"version", VERSION},
                                   {"config", config},
                                   {"training", record}};
    for (const PolicyHead head : POLICY_HEADS)
    {
        json["networks"][GetPolicyHeadName(head)] = {{"features", GetPolicyFeatures(head)},
                                                     {"hidden", HIDDEN},
                                                     {"weights", weights.Get(head).values}};
    }
    WriteFileAtomically(path, json.dump() + "\n");
}

PolicyWeights
ReadCheckpoint(const std::string& path)
{
    InputFile in(path, "policy");
    return ReadCheckpoint(in, NamePath(path));
}

PolicyWeights
ReadCheckpoint(std::istream& in, const std::string& path)
{
    const nlohmann::json json = Parse(in, path);
    if (!json.contains("networks") || !json["networks"].is_object())
    {
        FailInput("policy ", path, ": no \"networks\", expected an object");
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
    const char* path = std::getenv("ALLREDUCE_POLICY");
    if (path && *path != '\0') // who sets it to nothing wants what is there without it
    {
        return path;
    }
    const std::string name = "/hrl.json";
    for (const std::string& folder : {FindInstalledPolicies(),
                                      std::string(ALLREDUCE_SOURCE_POLICIES),
                                      std::string(ALLREDUCE_INSTALLED_POLICIES)})
    {
        if (!folder.empty() && std::ifstream(folder + name))
        {
            return folder + name;
        }
    }
    FailInput("policy: neither " ALLREDUCE_SOURCE_POLICIES
              "/hrl.json nor " ALLREDUCE_INSTALLED_POLICIES "/hrl.json is there; "
              "name one with the attribute Checkpoint or with ALLREDUCE_POLICY");
}

} // namespace ns3::allreduce
