/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "evaluation-networks.h"

#include "ns3/allreduce-error.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <optional>
#include <random>
#include <string>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t N_SEEDS = 5; //!< ways in which a network is changed

const char* const REFERENCE[] = {
    "bcube:3,1",        "bcube:4,1",        "bcube:5,1",        "bcube:6,1",
    "bcube:3,2",        "bcube:4,2",        "dcell:3,1",        "dcell:4,1",
    "dcell:5,1",        "dcell:6,1",        "dcell:2,2",        "jellyfish:10,3,2",
    "jellyfish:16,4,2", "jellyfish:20,4,1", "jellyfish:20,5,3", "jellyfish:32,6,4",
    "fattree:4",        "fattree:6",        "fattree:8",
};

/// What is degraded, mixed and broken.
const char* const SMALLER[] = {
    "bcube:3,1",
    "bcube:4,1",
    "bcube:5,1",
    "bcube:3,2",
    "dcell:3,1",
    "dcell:4,1",
    "dcell:5,1",
    "dcell:2,2",
    "jellyfish:10,3,2",
    "jellyfish:16,4,2",
    "jellyfish:20,4,1",
    "jellyfish:20,5,3",
};

/// Draws one network after another.
class NetworkDrawer
{
  public:
    Topology Draw()
    {
        while (true)
        {
            const std::optional<Topology> network = TryFamily();
            if (network && network->GetNServers() >= 2 && network->GetNServers() <= MOST_SERVERS)
            {
                return Change(*network);
            }
        }
    }

  private:
    static constexpr uint32_t MOST_SERVERS = 40;

    /// @return a network, unless there is none with the parameters that were drawn
    std::optional<Topology> TryFamily()
    {
        const std::string spec = DrawSpec();
        try
        {
            return ParseTopology(spec);
        }
        catch (const InputError&)
        {
            return std::nullopt;
        }
    }

    std::string DrawSpec()
    {
        switch (DrawNumber(0, 4))
        {
        case 0:
            return "bcube:" + DrawText(2, 6) + "," + DrawText(0, 2);
        case 1:
            return "dcell:" + DrawText(2, 6) + "," + DrawText(0, 2);
        case 2:
            return "jellyfish:" + DrawText(3, 16) + "," + DrawText(2, 6) + "," + DrawText(1, 3) +
                   "," + DrawText(1, 1'000'000);
        case 3:
            return "torus:" + DrawText(2, 6) + (DrawNumber(0, 1) ? "x" + DrawText(2, 6) : "");
        default:
            return DrawNumber(0, 1) ? "fattree:4" : "fattree:2";
        }
    }

    Topology Change(const Topology& network)
    {
        const uint32_t kind = DrawNumber(0, 3);
        const double lost = DrawNumber(1, 20) / 100.0;
        const double wider = DrawNumber(10, 50) / 100.0;
        const uint32_t seed = DrawNumber(1, 1'000'000);
        const Topology degraded = kind & 1 ? Degrade(network, lost, seed) : network;
        return kind & 2 ? MixCapacity(degraded, wider, seed) : degraded;
    }

    std::string DrawText(uint32_t least, uint32_t most)
    {
        return std::to_string(DrawNumber(least, most));
    }

    /// The same numbers on every machine, which distributions of the library do not promise.
    uint32_t DrawNumber(uint32_t least, uint32_t most)
    {
        return least + m_random() % (most - least + 1);
    }

    std::mt19937_64 m_random{20261116}; //!< random numbers
};

EvaluationCase
MakeCase(const std::string& spec, uint32_t chunksPerPort)
{
    Topology topology = ParseTopology(spec);
    const uint32_t chunksPerServer = chunksPerPort * ComputeMeanPorts(topology);
    return {std::move(topology), chunksPerServer};
}

/// @return the smaller networks, each changed in several ways @param change by a seed
template <typename Change>
std::vector<EvaluationCase>
ChangeAll(uint32_t chunksPerPort, const Change& change)
{
    std::vector<EvaluationCase> cases;
    for (const char* spec : SMALLER)
    {
        for (uint32_t seed = 1; seed <= N_SEEDS; ++seed)
        {
            cases.push_back(MakeCase(spec, chunksPerPort));
            cases.back().topology = change(cases.back().topology, seed);
        }
    }
    return cases;
}

} // namespace

std::vector<EvaluationCase>
MakeReferenceCases()
{
    std::vector<EvaluationCase> cases;
    for (const char* spec : REFERENCE)
    {
        cases.push_back(MakeCase(spec, 1));
    }
    return cases;
}

std::vector<EvaluationCase>
MakeDegradedCases(uint32_t chunksPerPort)
{
    return ChangeAll(chunksPerPort, [](const Topology& topology, uint32_t seed) {
        return Degrade(topology, seed % 2 == 1 ? 0.05 : 0.1, seed);
    });
}

std::vector<EvaluationCase>
MakeMixedCases(uint32_t chunksPerPort)
{
    return ChangeAll(chunksPerPort, [](const Topology& topology, uint32_t seed) {
        return MixCapacity(topology, 0.3, seed);
    });
}

std::vector<EvaluationCase>
MakeNamedCases()
{
    std::vector<EvaluationCase> cases;
    for (const char* spec : {"bcube:3,1", "dcell:3,1", "bcube:4,1", "dcell:4,1"})
    {
        cases.push_back({Degrade(ParseTopology(spec), 0.05, 3), 2});
    }
    return cases;
}

std::vector<EvaluationCase>
DrawUnseenCases(uint32_t chunksPerPort)
{
    constexpr uint32_t N_CASES = 100;
    NetworkDrawer drawer;
    std::vector<EvaluationCase> cases;
    while (cases.size() < N_CASES)
    {
        Topology topology = drawer.Draw();
        const uint32_t chunksPerServer = chunksPerPort * ComputeMeanPorts(topology);
        cases.push_back({std::move(topology), chunksPerServer});
    }
    return cases;
}

std::vector<EvaluationCase>
MakeBreakableCases()
{
    std::vector<EvaluationCase> cases;
    for (const char* spec : SMALLER)
    {
        for (uint32_t seed = 1; seed <= N_SEEDS; ++seed)
        {
            cases.push_back(MakeCase(spec, 1));
        }
    }
    return cases;
}

std::vector<EvaluationCase>
MakeLargeCases()
{
    return {MakeCase("bcube:4,2", 8),
            MakeCase("jellyfish:32,6,4", 1),
            MakeCase("bcube:8,2", 1),
            MakeCase("fattree:16", 1)};
}

} // namespace ns3::allreduce
