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
#include <nlohmann/json.hpp>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// Makes decisions with given probabilities.
class Chance
{
  public:
    explicit Chance(uint64_t seed)
        : m_random(seed)
    {
    }

    bool Happens(double probability)
    {
        return (m_random() >> 11) * 0x1p-53 < probability;
    }

    uint64_t Below(uint64_t limit)
    {
        return m_random() % limit;
    }

  private:
    std::mt19937_64 m_random; //!< random numbers
};

Topology
DrawTopology(const std::vector<std::string>& specs, Chance& chance)
{
    std::string spec = specs[chance.Below(specs.size())];
    if (spec.back() == '*')
    {
        spec.pop_back();
        spec += std::to_string(2 + chance.Below(100'000));
    }
    return ParseTopology(spec);
}

/// @return the network without some links, with wider links, or as it is
Topology
Change(const Topology& topology, double degraded, double mixed, Chance& chance)
{
    if (chance.Happens(degraded))
    {
        return Degrade(topology, chance.Happens(0.5) ? 0.05 : 0.1, chance.Below(1'000'000));
    }
    if (chance.Happens(mixed / std::max(1e-9, 1 - degraded)))
    {
        return MixCapacity(topology, 0.3, chance.Below(1'000'000));
    }
    return topology;
}

/// @return m: the number of ports, or as often one more or two or three times as many
uint32_t
DrawChunksPerServer(const Topology& topology, const TrainingConfig& config, Chance& chance)
{
    const uint32_t nPorts = ComputeMeanPorts(topology);
    const uint32_t most = std::max(1U, config.most_chunks / topology.GetNServers());
    if (!chance.Happens(config.several_chunks))
    {
        return 1;
    }
    return std::min<uint32_t>(most, nPorts * (1 + chance.Below(3)) + chance.Below(2));
}

/// @return what the middle of a plan, or its beginning, leaves to be planned
TrainingProblem
MakeProblem(Topology network, uint32_t chunksPerServer, bool isForward, Chance& chance)
{
    TrainingProblem owned;
    owned.topology = std::make_shared<const Topology>(std::move(network));
    const Topology& topology = *owned.topology;
    const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), chunksPerServer);
    if (isForward)
    {
        const AllReduceState state(topology, roots);
        const auto plan = PlanForest(topology, roots, chance.Below(1'000'000), 1);
        owned.problem = MakeForward(state, MakeOutline(state, plan));
        return owned;
    }
    const LowerBounds bounds = ComputeLowerBounds(topology, roots);
    const uint32_t bound = bounds.GetBest().rounds;
    const uint32_t nRounds = bound + chance.Below(2 + bound / 4);
    PlanMiddle middle = ChooseMiddle(topology, roots, nRounds, chance.Below(1'000'000));
    if (!middle.isSymmetric && chance.Happens(0.5))
    {
        middle = Mirror(middle);
    }
    owned.problem = MakeHalf(topology, roots, middle, (nRounds + 1) / 2, bounds.prices);
    owned.problem.mayCoresShrink = !middle.isSymmetric && chance.Happens(0.5);
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
    Topology topology;        //!< the network
    uint32_t chunksPerServer; //!< m
};

DrawnNetwork
DrawNetwork(const TrainingConfig& config, Chance& chance)
{
    const Topology whole = DrawTopology(config.topologies, chance);
    const uint32_t chunksPerServer = DrawChunksPerServer(whole, config, chance);
    return {Change(whole, config.degraded, config.mixed, chance), chunksPerServer};
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

TrainingProblem
DrawTrainingProblem(const TrainingConfig& config, uint64_t seed)
{
    Chance chance(seed);
    DrawnNetwork drawn = DrawNetwork(config, chance);
    return MakeProblem(std::move(drawn.topology),
                       drawn.chunksPerServer,
                       chance.Happens(config.forward),
                       chance);
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
    Chance chance(seed);
    TrainingProblem owned;
    owned.topology = std::make_shared<const Topology>(DrawNetwork(config, chance).topology);
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
    Chance chance(MakeValidationSeed(index));
    Topology topology = ParseTopology(config.validation[index % nNamed]);
    const uint32_t chunksPerServer = index / nNamed % 2 == 1 ? 1 : ComputeMeanPorts(topology);
    return MakeProblem(std::move(topology), chunksPerServer, false, chance);
}

} // namespace ns3::allreduce
