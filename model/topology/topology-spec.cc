/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-spec.h"

#include "allreduce-error.h"
#include "allreduce-units.h"
#include "topology-file.h"
#include "topology-generators.h"
#include "topology-modifiers.h"

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <fstream>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

const char* const TOPOLOGY_GRAMMAR =
    "bcube:N,K | dcell:N,K | jellyfish:SWITCHES,DEGREE,SERVERS_PER_SWITCH[,SEED] | fattree:K | "
    "torus:AxB[xC] | file:PATH";

namespace
{

std::vector<std::string>
Split(const std::string& text, const char* separator)
{
    std::vector<std::string> parts;
    boost::split(parts, text, boost::is_any_of(separator));
    return parts;
}

/// The parameters of a topology, as they stand in its text.
class Parameters
{
  public:
    /**
     * @param spec the whole text
     * @param form what was expected, for the message
     * @param text the part after the colon
     * @param separator what stands between parameters
     * @param least at least so many
     * @param most at most so many
     */
    Parameters(const std::string& spec,
               const char* form,
               const std::string& text,
               const char* separator,
               std::size_t least,
               std::size_t most)
    {
        const std::vector<std::string> parts = Split(text, separator);
        if (parts.size() < least || parts.size() > most)
        {
            FailInput("topology ", Quote(spec), ": expected ", form);
        }
        for (const std::string& part : parts)
        {
            m_values.push_back(ParseNumber(part, "topology " + Quote(spec) + ": parameter"));
        }
    }

    /// @return the number of parameters
    std::size_t GetSize() const
    {
        return m_values.size();
    }

    /// @return parameter i, as it is
    uint64_t GetLong(std::size_t i) const
    {
        return m_values[i];
    }

    /// @return parameter i; one that is too large stays too large for every generator
    uint32_t Get(std::size_t i) const
    {
        return std::min<uint64_t>(m_values[i], std::numeric_limits<uint32_t>::max());
    }

  private:
    std::vector<uint64_t> m_values; //!< the parameters
};

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

Topology
ParseTopology(const std::string& spec)
{
    const std::size_t colon = spec.find(':');
    const std::string family = spec.substr(0, colon);
    const std::string rest = colon == std::string::npos ? "" : spec.substr(colon + 1);
    if (family == "bcube")
    {
        const Parameters p(spec, "bcube:N,K", rest, ",", 2, 2);
        return MakeBCube(p.Get(0), p.Get(1));
    }
    if (family == "dcell")
    {
        const Parameters p(spec, "dcell:N,K", rest, ",", 2, 2);
        return MakeDCell(p.Get(0), p.Get(1));
    }
    if (family == "jellyfish")
    {
        const Parameters p(spec,
                           "jellyfish:SWITCHES,DEGREE,SERVERS_PER_SWITCH[,SEED]",
                           rest,
                           ",",
                           3,
                           4);
        return MakeJellyfish(p.Get(0), p.Get(1), p.Get(2), p.GetSize() == 4 ? p.GetLong(3) : 1);
    }
    if (family == "fattree")
    {
        const Parameters p(spec, "fattree:K", rest, ",", 1, 1);
        return MakeFatTree(p.Get(0));
    }
    if (family == "torus")
    {
        const Parameters p(spec, "torus:AxB[xC]", rest, "x", 1, 3);
        std::vector<uint32_t> sides;
        for (std::size_t i = 0; i < p.GetSize(); ++i)
        {
            sides.push_back(p.Get(i));
        }
        return MakeTorus(sides);
    }
    if (family == "file" && !rest.empty())
    {
        return ReadTopologyFile(rest);
    }
    const bool isFile = std::ifstream(spec).good();
    FailInput("topology ",
              Quote(spec),
              ": expected ",
              TOPOLOGY_GRAMMAR,
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
