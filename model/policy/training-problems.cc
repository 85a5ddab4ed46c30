/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-problems.h"

#include "policy-rollout.h"

#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// A problem gets no more chunks than this in training.
constexpr uint32_t MOST_CHUNKS = 56;

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
DrawTopology(const TrainingConfig& config, Chance& chance)
{
    std::string spec = config.topologies[chance.Below(config.topologies.size())];
    if (spec.back() == '*')
    {
        spec.pop_back();
        spec += std::to_string(2 + chance.Below(100'000));
    }
    return ParseTopology(spec);
}

uint32_t
DrawChunksPerServer(const Topology& topology, const TrainingConfig& config, Chance& chance)
{
    const uint32_t nPorts = topology.GetPorts(0).size();
    const uint32_t most = MOST_CHUNKS / topology.GetNServers();
    if (!chance.Happens(config.several_chunks) || most < 2)
    {
        return 1;
    }
    return std::min(most, nPorts == 1 || chance.Happens(0.33) ? 2 : nPorts);
}

/**
 * Leave only what a broadcast cut short would have brought: the reduce that is left after a
 * failure, read backwards, looks like this.
 */
void
DropSomeWants(BroadcastProblem& problem, Chance& chance)
{
    RolloutOptions options;
    options.mode = RolloutMode::RANDOM;
    options.usesUpper = false;
    options.seed = chance.Below(1'000'000);
    const BroadcastPlan plan = RunRollout(problem, PolicyWeights(), options);
    const uint32_t nRounds =
        std::max<uint32_t>(2, plan.size() / 4 + chance.Below(plan.size() / 2 + 1));
    BitMatrix wants(problem.topology->GetNServers(), problem.nChunks);
    for (uint32_t round = 0; round < std::min<uint32_t>(nRounds, plan.size()); ++round)
    {
        for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
        {
            wants.Set(plan[round].Get(i).GetTarget(), plan[round].Get(i).chunk);
        }
    }
    problem.wants = std::move(wants);
}

} // namespace

OwnedProblem
MakeFullProblem(Topology topology, uint32_t chunksPerServer)
{
    OwnedProblem owned;
    owned.topology = std::make_shared<const Topology>(std::move(topology));
    const uint32_t nServers = owned.topology->GetNServers();
    BroadcastProblem& problem = owned.problem;
    problem.topology = owned.topology.get();
    problem.nChunks = nServers * chunksPerServer;
    problem.holders = BitMatrix(nServers, problem.nChunks);
    problem.wants = BitMatrix(nServers, problem.nChunks);
    for (DirectedLinkId link = 0; link < owned.topology->GetNDirectedLinks(); ++link)
    {
        problem.capacity.push_back(owned.topology->GetCapacity(link));
    }
    for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
    {
        for (NodeId server = 0; server < nServers; ++server)
        {
            const bool isRoot = server == chunk / chunksPerServer;
            (isRoot ? problem.holders : problem.wants).Set(server, chunk);
        }
    }
    return owned;
}

OwnedProblem
DrawTrainingProblem(const TrainingConfig& config, uint64_t seed)
{
    Chance chance(seed);
    Topology topology = DrawTopology(config, chance);
    const uint32_t chunksPerServer = DrawChunksPerServer(topology, config, chance);
    if (chance.Happens(config.degraded))
    {
        topology = Degrade(topology, chance.Happens(0.5) ? 0.05 : 0.1, chance.Below(1'000'000));
    }
    else if (chance.Happens(config.mixed / std::max(1e-9, 1 - config.degraded)))
    {
        topology = MixCapacity(topology, 0.3, chance.Below(1'000'000));
    }
    OwnedProblem owned = MakeFullProblem(std::move(topology), chunksPerServer);
    if (chance.Happens(config.partial))
    {
        DropSomeWants(owned.problem, chance);
    }
    return owned;
}

} // namespace ns3::allreduce
