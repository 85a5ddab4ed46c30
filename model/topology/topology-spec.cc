/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-spec.h"

#include "allreduce-error.h"
#include "allreduce-units.h"
#include "topology-file.h"
#include "topology-generators.h"
#include "topology-modifiers.h"

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <fstream>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// The parameters of a topology, as they stand in its text.
using Parameters = std::vector<uint64_t>;

/// A family of topologies as users write them: NAME:PARAMETERS.
struct Family
{
    const char* name;                    //!< what stands before the colon
    const char* form;                    //!< the parameters, for messages
    const char* example;                 //!< a small one, as users write it
    const char* separator;               //!< what stands between them
    std::size_t least;                   //!< at least so many
    std::size_t most;                    //!< at most so many
    Topology (*make)(const Parameters&); //!< makes the network
};

/// @return a parameter; one that is too large stays too large for every generator
uint32_t
Cap(uint64_t parameter)
{
    return std::min<uint64_t>(parameter, std::numeric_limits<uint32_t>::max());
}

const Family FAMILIES[] = {
    {"bcube",
     "N,K",
     "bcube:3,1",
     ",",
     2,
     2,
     [](const auto& p) { return MakeBCube(Cap(p[0]), Cap(p[1])); }},
    {"dcell",
     "N,K",
     "dcell:3,1",
     ",",
     2,
     2,
     [](const auto& p) { return MakeDCell(Cap(p[0]), Cap(p[1])); }},
    {"jellyfish",
     "SWITCHES,DEGREE,SERVERS[,SEED]",
     "jellyfish:6,3,2",
     ",",
     3,
     4,
     [](const auto& p) {
         return MakeJellyfish(Cap(p[0]), Cap(p[1]), Cap(p[2]), p.size() == 4 ? p[3] : 1);
     }},
    {"fattree", "K", "fattree:4", ",", 1, 1, [](const auto& p) { return MakeFatTree(Cap(p[0])); }},
    {"torus",
     "AxB[xC]",
     "torus:3x3",
     "x",
     1,
     3,
     [](const auto& p) {
         std::vector<uint32_t> sides(p.size());
         std::transform(p.begin(), p.end(), sides.begin(), Cap);
         return MakeTorus(sides);
     }},
};

std::vector<std::string>
Split(const std::string& text, const char* separator)
{
    std::vector<std::string> parts;
    boost::split(parts, text, boost::is_any_of(separator));
    return parts;
}

/// @param spec the whole text @param text the part after the colon
Parameters
ParseParameters(const Family& family, const std::string& spec, const std::string& text)
{
    const std::vector<std::string> parts = Split(text, family.separator);
    if (parts.size() < family.least || parts.size() > family.most)
    {
        FailInput("topology ", Quote(spec), ": expected ", family.name, ":", family.form);
    }
    Parameters parameters;
    for (const std::string& part : parts)
    {
        parameters.push_back(ParseNumber(part, "topology " + Quote(spec) + ": parameter"));
    }
    return parameters;
}

/// "FRACTION[,SEED]", as --degrade and --mixed take it.
struct FractionAndSeed
{
    double fraction;  //!< a share of the links
    uint64_t seed{1}; //!< which ones
};

FractionAndSeed
ParseFractionAndSeed(const std::string& option, const std::string& spec)
{
    const std::vector<std::string> parts = Split(spec, ",");
    if (parts.size() > 2)
    {
        FailInput(option, " ", Quote(spec), ": expected FRACTION[,SEED]");
    }
    FractionAndSeed result{ParseFraction(parts[0], option)};
    if (parts.size() == 2)
    {
        result.seed = ParseNumber(parts[1], option + " seed");
    }
    return result;
}

} // namespace

std::string
GetTopologyGrammar()
{
    std::string grammar;
    for (const Family& family : FAMILIES)
    {
        grammar += std::string(family.name) + ":" + family.form + " | ";
    }
    return grammar + "file:PATH";
}

std::vector<std::string>
GetTopologyExamples()
{
    std::vector<std::string> examples;
    for (const Family& family : FAMILIES)
    {
        examples.emplace_back(family.example);
    }
    return examples;
}

Topology
ParseTopology(const std::string& spec)
{
    const std::size_t colon = spec.find(':');
    const std::string name = spec.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
    for (const Family& family : FAMILIES)
    {
        if (name == family.name)
        {
            return family.make(ParseParameters(family, spec, rest));
        }
    }
    if (name == "file" && !rest.empty())
    {
        return ReadTopologyFile(rest);
    }
    const bool isFile = std::ifstream(spec).good();
    FailInput("topology ",
              Quote(spec),
              ": expected ",
              GetTopologyGrammar(),
              isFile ? "; there is a file of this name, perhaps file:" + Shorten(spec)
                     : std::string());
}

Topology
ParseDegrade(const Topology& topology, const std::string& spec)
{
    const auto [fraction, seed] = ParseFractionAndSeed("degrade", spec);
    return Degrade(topology, fraction, seed);
}

Topology
ParseMixed(const Topology& topology, const std::string& spec)
{
    const auto [fraction, seed] = ParseFractionAndSeed("mixed", spec);
    return MixCapacity(topology, fraction, seed);
}

} // namespace ns3::allreduce
