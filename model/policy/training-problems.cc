/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "training-problems.h"

#include "broadcast-environment.h"
#include "forward-environment.h"
#include "policy-rollout.h"

#include "ns3/greedy-planner.h"
#include "ns3/rest-planner.h"
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

uint32_t
DrawChunksPerServer(const Topology& topology, double severalChunks, Chance& chance)
{
    const uint32_t nPorts = topology.GetPorts(0).size();
    const uint32_t most = MOST_CHUNKS / topology.GetNServers();
    if (!chance.Happens(severalChunks) || most < 2)
    {
        return 1;
    }
    return std::min(most, nPorts == 1 || chance.Happens(0.33) ? 2 : nPorts);
}

/// @return what random choices would do
std::vector<WorkloadList>
PlanAtRandom(const TrainingProblem& problem, Chance& chance)
{
    RolloutOptions options;
    options.mode = RolloutMode::RANDOM;
    options.usesUpper = false;
    options.seed = chance.Below(1'000'000);
    return RunRollout(*problem.MakeEnvironment(), PolicyWeights(), options);
}

/**
 * Leave only what a broadcast cut short would have brought: the reduce that is left after a
 * failure, read backwards, looks like this.
 */
void
DropSomeWants(TrainingProblem& owned, Chance& chance)
{
    const std::vector<WorkloadList> plan = PlanAtRandom(owned, chance);
    const uint32_t nRounds =
        std::max<uint32_t>(2, plan.size() / 4 + chance.Below(plan.size() / 2 + 1));
    auto& problem = std::get<BroadcastProblem>(owned.start);
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

/// @return whether all servers can receive the same
bool
AreServersAlike(const Topology& topology)
{
    const auto capacity = [&](NodeId server) {
        uint32_t sum = 0;
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            sum += topology.GetCapacity(port.out);
        }
        return sum;
    };
    for (NodeId server = 1; server < topology.GetNServers(); ++server)
    {
        if (capacity(server) != capacity(0))
        {
            return false;
        }
    }
    return true;
}

/// @return a rule such as an upper policy might follow
Stagger
DrawStagger(Chance& chance)
{
    const auto between = [&](float low, float high) {
        return low + (high - low) * chance.Below(100) / 100;
    };
    if (chance.Happens(0.5))
    {
        return {between(0.05F, 0.4F), between(0.6F, 1.2F)};
    }
    return {between(0.5F, 1), 1, between(0.3F, 0.7F)};
}

BroadcastProblem
MakeBroadcast(const Topology& topology, uint32_t chunksPerServer)
{
    const uint32_t nServers = topology.GetNServers();
    BroadcastProblem problem;
    problem.topology = &topology;
    problem.nChunks = nServers * chunksPerServer;
    problem.holders = BitMatrix(nServers, problem.nChunks);
    problem.wants = BitMatrix(nServers, problem.nChunks);
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        problem.capacity.push_back(topology.GetCapacity(link));
    }
    for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
    {
        for (NodeId server = 0; server < nServers; ++server)
        {
            const bool isRoot = server == chunk / chunksPerServer;
            (isRoot ? problem.holders : problem.wants).Set(server, chunk);
        }
    }
    return problem;
}

/// @return a seed that no seed of a training makes
uint64_t
MakeValidationSeed(uint32_t index)
{
    return 0x5eed'0000'0000'0000 + index;
}

} // namespace

std::unique_ptr<PlanningEnvironment>
TrainingProblem::MakeEnvironment() const
{
    if (const auto* state = std::get_if<AllReduceState>(&start))
    {
        return std::make_unique<ForwardEnvironment>(*state);
    }
    return std::make_unique<BroadcastEnvironment>(std::get<BroadcastProblem>(start),
                                                  limits,
                                                  stagger.has_value());
}

TrainingProblem
MakeFullProblem(PlanMode mode, Topology topology, uint32_t chunksPerServer)
{
    TrainingProblem owned;
    owned.topology = std::make_shared<const Topology>(std::move(topology));
    owned.nChunks = owned.topology->GetNServers() * chunksPerServer;
    if (mode == PlanMode::FORWARD)
    {
        owned.start = AllReduceState(*owned.topology,
                                     MakeRoots(owned.topology->GetNServers(), chunksPerServer));
    }
    else
    {
        owned.start = MakeBroadcast(*owned.topology, chunksPerServer);
    }
    return owned;
}

TrainingProblem
DrawTrainingProblem(const TrainingConfig& config, uint64_t seed)
{
    Chance chance(seed);
    Topology topology = DrawTopology(config.topologies, chance);
    const uint32_t chunksPerServer = DrawChunksPerServer(topology, config.several_chunks, chance);
    topology = Change(topology, config.degraded, config.mixed, chance);
    const PlanMode mode = ParsePlanMode(config.mode, "training");
    TrainingProblem owned = MakeFullProblem(mode, std::move(topology), chunksPerServer);
    if (chance.Happens(config.partial))
    {
        if (mode == PlanMode::FORWARD)
        {
            const std::vector<WorkloadList> plan = PlanAtRandom(owned, chance);
            PlayBeginning(owned, plan, 1 + chance.Below(plan.size() / 2));
        }
        else
        {
            DropSomeWants(owned, chance);
        }
    }
    return owned;
}

TrainingProblem
DrawHalf(const TrainingConfig& config, uint64_t seed, const PolicyWeights& weights)
{
    const TrainingProblem whole = DrawStaggeredProblem(config, seed);
    Chance chance(seed + 1);
    TrainingProblem half = MakeFullProblem(PlanMode::MIRRORED,
                                           *whole.topology,
                                           whole.nChunks / whole.topology->GetNServers());
    half.stagger = DrawStagger(chance);
    if (chance.Happens(0.5))
    {
        return half;
    }
    PlanOverlapping(
        std::get<AllReduceState>(whole.start),
        [&](const BroadcastProblem&) {
            RolloutOptions options;
            options.seed = seed;
            options.stagger = half.stagger;
            return RunRollout(*half.MakeEnvironment(), weights, options);
        },
        [&](const BroadcastProblem&, const BroadcastLimits& limits) {
            half.limits = limits;
            return BroadcastPlan();
        });
    half.stagger.reset();
    return half;
}

TrainingProblem
DrawStaggeredProblem(const TrainingConfig& config, uint64_t seed)
{
    Chance chance(seed);
    constexpr double DEGRADED = 0.5;
    constexpr double SEVERAL_CHUNKS = 0.5;
    Topology topology = DrawTopology(config.staggered_topologies, chance);
    const uint32_t chunksPerServer = DrawChunksPerServer(topology, SEVERAL_CHUNKS, chance);
    topology = Change(topology, DEGRADED, 0, chance);
    if (AreServersAlike(topology))
    {
        // As they are, there is nothing to win.
        topology = Change(topology, 0, 1, chance);
    }
    return MakeFullProblem(PlanMode::FORWARD, std::move(topology), chunksPerServer);
}

void
PlayBeginning(TrainingProblem& problem, const std::vector<WorkloadList>& plan, std::size_t nRounds)
{
    for (std::size_t round = 0; round < std::min(nRounds, plan.size()); ++round)
    {
        for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
        {
            const Workload workload = plan[round].Get(i);
            if (auto* state = std::get_if<AllReduceState>(&problem.start))
            {
                state->Start(workload);
                continue;
            }
            auto& broadcast = std::get<BroadcastProblem>(problem.start);
            broadcast.holders.Set(workload.GetTarget(), workload.chunk);
            broadcast.wants.Clear(workload.GetTarget(), workload.chunk);
        }
        if (auto* state = std::get_if<AllReduceState>(&problem.start))
        {
            state->EndRound();
        }
    }
}

std::vector<WorkloadList>
PlanGreedily(const TrainingProblem& problem, uint64_t seed)
{
    if (const auto* state = std::get_if<AllReduceState>(&problem.start))
    {
        return PlanRestGreedily(*state, seed, 1);
    }
    return PlanGreedyBroadcast(std::get<BroadcastProblem>(problem.start), seed);
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
    Topology topology = ParseTopology(config.validation[index % nNamed]);
    const PlanMode mode = ParsePlanMode(config.mode, "training");
    // Forward plans hardly ever meet the bound with one chunk for each server: try both.
    const bool hasMany = mode == PlanMode::FORWARD && index / nNamed % 2 == 1;
    const uint32_t chunksPerServer = hasMany ? topology.GetPorts(0).size() : 1;
    return MakeFullProblem(mode, std::move(topology), chunksPerServer);
}

TrainingProblem
MakeStaggeredValidationProblem(const TrainingConfig& config, uint32_t index)
{
    return DrawStaggeredProblem(config, MakeValidationSeed(1'000'000 + index));
}

} // namespace ns3::allreduce
