/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-problems.h"

#include "plan-outline.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-state.h"
#include "ns3/forest-scheduler.h"
#include "ns3/plan-middle.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// Makes decisions with given probabilities.
class RandomDraws
{
  public:
    explicit RandomDraws(uint64_t seed)
        : m_random(seed)
    {
    }

    bool DrawTrue(double probability)
    {
        return (m_random() >> 11) * 0x1p-53 < probability;
    }

    uint64_t DrawBelow(uint64_t limit)
    {
        return m_random() % limit;
    }

  private:
    std::mt19937_64 m_random;
};

Topology
DrawTopology(const std::vector<std::string>& specs, RandomDraws& random)
{
    std::string spec = specs[random.DrawBelow(specs.size())];
    if (spec.back() == '*')
    {
        spec.pop_back();
        spec += std::to_string(2 + random.DrawBelow(100'000));
    }
    return ParseTopology(spec);
}

/// @return the network without some links, with wider links, or as it is
Topology
Change(const Topology& topology, double degraded, double mixed, RandomDraws& random)
{
    if (random.DrawTrue(degraded))
    {
        return Degrade(topology, random.DrawTrue(0.5) ? 0.05 : 0.1, random.DrawBelow(1'000'000));
    }
    if (random.DrawTrue(mixed / std::max(1e-9, 1 - degraded)))
    {
        return MixCapacity(topology, 0.3, random.DrawBelow(1'000'000));
    }
    return topology;
}

/// @return m: the number of ports, or as often one more or two or three times as many
uint32_t
DrawChunksPerServer(const Topology& topology, const TrainingConfig& config, RandomDraws& random)
{
    const uint32_t nPorts = ComputeMeanPorts(topology);
    const uint32_t most = std::max(1U, config.most_chunks / topology.GetNServers());
    if (!random.DrawTrue(config.several_chunks))
    {
        return 1;
    }
    return std::min<uint32_t>(most, nPorts * (1 + random.DrawBelow(3)) + random.DrawBelow(2));
}

/// @return what the middle of a plan, or its beginning, leaves to be planned
TrainingProblem
MakeProblem(Topology network, uint32_t chunksPerServer, bool isForward, RandomDraws& random)
{
    TrainingProblem owned;
    owned.topology = std::make_shared<const Topology>(std::move(network));
    const Topology& topology = *owned.topology;
    const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), chunksPerServer);
    if (isForward)
    {
        const AllReduceState state(topology, roots);
        const auto plan = PlanForest(topology, roots, random.DrawBelow(1'000'000), 1);
        owned.problem = MakeForward(state, MakeOutline(state, plan));
        return owned;
    }
    const LowerBounds bounds = ComputeLowerBounds(topology, roots);
    const uint32_t bound = bounds.GetBest().rounds;
    const uint32_t nRounds = bound + random.DrawBelow(2 + bound / 4);
    PlanMiddle middle = ChooseMiddle(topology, roots, nRounds, random.DrawBelow(1'000'000));
    if (!middle.isSymmetric && random.DrawTrue(0.5))
    {
        middle = Mirror(middle);
    }
    owned.problem = MakeHalf(topology, roots, middle, (nRounds + 1) / 2, bounds.prices);
    owned.problem.mayCoresShrink = !middle.isSymmetric && random.DrawTrue(0.5);
    return owned;
}

/// @return a seed that no seed of a training makes
uint64_t
MakeValidationSeed(uint32_t index)
{
    return 0x5eed'0000'0000'0000 + index;
}

/// A network, and how many chunks each of its servers is to have.
struct DrawnNetwork
{
    Topology topology;
    uint32_t chunksPerServer; //!< m
};

DrawnNetwork
DrawNetwork(const TrainingConfig& config, RandomDraws& random)
{
    const Topology whole = DrawTopology(config.topologies, random);
    const uint32_t chunksPerServer = DrawChunksPerServer(whole, config, random);
    return {Change(whole, config.degraded, config.mixed, random), chunksPerServer};
}

/// All of a problem but its network, and what it wants: in training all servers want all chunks.
template <typename Problem, typename Visit>
void
ForEachMember(Problem& problem, const Visit& visit)
{
    visit("capacity", problem.capacity);
    visit("roots", problem.roots);
    visit("isOpen", problem.isOpen);
    visit("parents", problem.parents);
    visit("partners", problem.partners);
    visit("mayCoresShrink", problem.mayCoresShrink);
    visit("prices", problem.prices);
    visit("partOf", problem.partOf);
    visit("nParts", problem.nParts);
    visit("due", problem.due);
    visit("nRoundsDone", problem.nRoundsDone);
    visit("nRounds", problem.nRounds);
}

} // namespace

uint64_t
MakeTrainingSeed(uint64_t seed, uint64_t iteration, uint64_t what)
{
    std::seed_seq sequence{seed, iteration, what};
    std::array<uint32_t, 2> words{};
    sequence.generate(words.begin(), words.end());
    return uint64_t{words[0]} << 32 | words[1];
}

uint32_t
GetMostTrainingRounds(const PlanningProblem& problem)
{
    return 3 * problem.GetNChunks() + 20;
}

TrainingProblem
DrawTrainingProblem(const TrainingConfig& config, uint64_t seed)
{
    RandomDraws random(seed);
    DrawnNetwork drawn = DrawNetwork(config, random);
    return MakeProblem(std::move(drawn.topology),
                       drawn.chunksPerServer,
                       random.DrawTrue(config.forward),
                       random);
}

std::string
WriteTrainingProblem(const TrainingProblem& drawn)
{
    nlohmann::json json;
    ForEachMember(drawn.problem,
                  [&](const char* name, const auto& member) { json[name] = member; });
    return json.dump();
}

TrainingProblem
ReadTrainingProblem(const TrainingConfig& config, uint64_t seed, const std::string& text)
{
    RandomDraws random(seed);
    TrainingProblem owned;
    owned.topology = std::make_shared<const Topology>(DrawNetwork(config, random).topology);
    owned.problem.topology = owned.topology.get();
    const auto json = nlohmann::json::parse(text);
    ForEachMember(owned.problem,
                  [&](const char* name, auto& member) { json.at(name).get_to(member); });
    return owned;
}

uint32_t
CountValidationProblems(const TrainingConfig& config)
{
    return config.validation.size() * config.validation_seeds + config.validation_drawn;
}

TrainingProblem
MakeValidationProblem(const TrainingConfig& config, uint32_t index)
{
    const std::size_t nNamed = config.validation.size();
    if (index >= nNamed * config.validation_seeds)
    {
        return DrawTrainingProblem(config, MakeValidationSeed(index));
    }
    RandomDraws random(MakeValidationSeed(index));
    Topology topology = ParseTopology(config.validation[index % nNamed]);
    const uint32_t chunksPerServer = index / nNamed % 2 == 1 ? 1 : ComputeMeanPorts(topology);
    return MakeProblem(std::move(topology), chunksPerServer, false, random);
}

} // namespace ns3::allreduce
