/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How good the policies are, next to their controls: the tables of policies/README.md. Every plan
 * that is counted has been verified.
 */

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-program-options.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/broadcast-environment.h"
#include "ns3/forward-environment.h"
#include "ns3/greedy-planner.h"
#include "ns3/plan-options.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-rollout.h"
#include "ns3/rest-planner.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/staggered-plan.h"
#include "ns3/string.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// The reference instances.
const std::vector<std::string> REFERENCE = {
    "bcube:3,1",
    "bcube:4,1",
    "bcube:5,1",
    "bcube:6,1",
    "bcube:3,2",
    "bcube:4,2",
    "dcell:3,1",
    "dcell:4,1",
    "dcell:5,1",
    "dcell:6,1",
    "dcell:2,2",
    "jellyfish:10,3,2",
    "jellyfish:16,4,2",
    "jellyfish:20,4,1",
    "jellyfish:20,5,3",
    "jellyfish:32,6,4",
};

/// What is degraded, mixed and broken; each five times.
const std::vector<std::string> SMALLER = {
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
constexpr uint32_t N_SEEDS = 5;

/// What was asked for.
struct Options
{
    std::vector<std::string> parts{"rounds", "auto", "changed", "failure", "forward"};
    std::string checkpoint;        //!< for mirrored plans; empty: the shipped one
    std::string forwardCheckpoint; //!< for forward plans; empty: the shipped one
};

using Plans = std::vector<WorkloadList>;                     //!< rounds
using Planner = std::function<Plans(const AllReduceState&)>; //!< plans an AllReduce

/// Someone who plans.
struct Contender
{
    std::string name; //!< what the table calls it
    Planner plan;     //!< how it plans
};

/// @return a scheduler behind the hook
Contender
MakeContender(const std::string& title,
              const std::string& scheduler,
              const std::vector<std::pair<std::string, Ptr<AttributeValue>>>& attributes)
{
    return {title, [=](const AllReduceState& state) {
                const Ptr<AllReduceScheduler> planner = CreateScheduler(scheduler);
                for (const auto& [name, value] : attributes)
                {
                    planner->SetAttribute(name, *value);
                }
                return Plan(*planner, state).rounds;
            }};
}

/// @return the policies' scheduler
Contender
MakeHrl(const std::string& title,
        const std::string& checkpoint,
        uint32_t samples,
        bool isForward,
        bool usesUpper = true)
{
    return MakeContender(title,
                         "hrl",
                         {{"Checkpoint", Create<StringValue>(checkpoint)},
                          {"Samples", Create<UintegerValue>(samples)},
                          {"Forward", Create<BooleanValue>(isForward)},
                          {"Upper", Create<BooleanValue>(usesUpper)}});
}

/// @return rollouts with given weights, mirrored or forwards
Contender
MakeRollout(const std::string& title, const PolicyWeights& weights, RolloutMode mode)
{
    RolloutOptions options;
    options.mode = mode;
    options.usesUpper = mode != RolloutMode::RANDOM;
    return {title, [=](const AllReduceState& state) {
                if (weights.mode == PlanMode::FORWARD)
                {
                    ForwardEnvironment environment(state);
                    return RunRollout(environment, weights, options);
                }
                return PlanByMirroring(state, [&](const BroadcastProblem& problem) {
                    BroadcastEnvironment environment(problem);
                    return RunRollout(environment, weights, options);
                });
            }};
}

/// @return the lower policy alone: mirrored plans, and such that overlap without being staggered
Contender
MakeAllAtOnce(const PolicyWeights& weights)
{
    RolloutOptions options;
    options.usesUpper = false;
    return {"all trees at once", [=](const AllReduceState& state) {
                Plans overlapping = PlanStaggered(state, weights, options);
                Plans mirrored = PlanByMirroring(state, [&](const BroadcastProblem& problem) {
                    BroadcastEnvironment environment(problem);
                    return RunRollout(environment, weights, options);
                });
                return overlapping.size() < mirrored.size() ? overlapping : mirrored;
            }};
}

/// @return the rounds of a plan for a whole AllReduce; verified
std::size_t
CountRounds(const Contender& contender, const Topology& topology, uint32_t chunksPerServer)
{
    const AllReduceState state(topology, MakeRoots(topology.GetNServers(), chunksPerServer));
    const Plans plan = contender.plan(state);
    const Verdict verdict = Verify(topology, {state.GetRoots(), plan});
    if (!verdict.reason.empty())
    {
        FailInput(contender.name, " on ", topology.GetName(), ": ", verdict.reason);
    }
    return plan.size();
}

/// @return rounds that a broadcast takes at least: what the neediest server wants, by its ports
uint32_t
BoundBroadcast(const BroadcastProblem& problem)
{
    uint32_t rounds = 0;
    for (NodeId server = 0; server < problem.topology->GetNServers(); ++server)
    {
        uint32_t nWanted = 0;
        uint32_t capacity = 0;
        for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
        {
            nWanted += problem.wants.Test(server, chunk) && !problem.holders.Test(server, chunk);
        }
        for (const Topology::Port& port : problem.topology->GetPorts(server))
        {
            capacity += problem.capacity[Reverse(port.out)];
        }
        rounds = std::max(rounds, capacity > 0 ? (nWanted + capacity - 1) / capacity : 0);
    }
    return rounds;
}

/// @return rounds that an AllReduce takes at least if all reduces end before the first broadcast
uint32_t
BoundWithoutOverlap(const Topology& topology, uint32_t chunksPerServer)
{
    uint32_t rounds = 0;
    const uint32_t nChunks = (topology.GetNServers() - 1) * chunksPerServer;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        uint32_t capacity = 0;
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            capacity += topology.GetCapacity(port.out);
        }
        rounds = std::max(rounds, (nChunks + capacity - 1) / capacity);
    }
    return 2 * rounds;
}

/// @return what --chunks-per-server=auto is
uint32_t
GetAutoChunks(const Topology& topology)
{
    return MakeRoots(topology, PlanOptions()).size() / topology.GetNServers();
}

uint32_t
GetOneChunk(const Topology& /* topology */)
{
    return 1;
}

uint64_t
BoundAnySchedule(const Topology& topology, uint32_t chunksPerServer)
{
    return ComputeLowerBounds(topology, MakeRoots(topology.GetNServers(), chunksPerServer))
        .GetBest()
        .rounds;
}

void
PrintHeader(const std::string& first, const std::vector<Contender>& contenders)
{
    std::cout << "\n| " << first << " |";
    for (const Contender& contender : contenders)
    {
        std::cout << " " << contender.name << " |";
    }
    std::cout << "\n|---|";
    for (std::size_t i = 0; i < contenders.size() + 1; ++i)
    {
        std::cout << "---|";
    }
    std::cout << std::endl;
}

/// A table of rounds on the reference instances, with how many are at the bound.
void
PrintRounds(const std::vector<Contender>& contenders,
            const std::function<uint32_t(const Topology&)>& getChunks,
            const std::function<uint64_t(const Topology&, uint32_t)>& getBound)
{
    PrintHeader("network | bound", contenders);
    std::vector<uint32_t> nAtBound(contenders.size(), 0);
    std::vector<double> sumOfRatios(contenders.size(), 0);
    for (const std::string& spec : REFERENCE)
    {
        const Topology topology = ParseTopology(spec);
        const uint32_t chunks = getChunks(topology);
        const uint64_t bound = getBound(topology, chunks);
        std::cout << "| " << spec << " | " << bound << " |" << std::flush;
        for (std::size_t i = 0; i < contenders.size(); ++i)
        {
            const std::size_t rounds = CountRounds(contenders[i], topology, chunks);
            nAtBound[i] += rounds <= bound;
            sumOfRatios[i] += static_cast<double>(rounds) / bound / REFERENCE.size();
            std::cout << " " << rounds << " |" << std::flush;
        }
        std::cout << std::endl;
    }
    std::cout << "| at the bound | " << REFERENCE.size() << " |";
    for (const uint32_t n : nAtBound)
    {
        std::cout << " " << n << " |";
    }
    std::cout << "\n| mean ratio | 1.000 |" << std::fixed << std::setprecision(3);
    for (const double ratio : sumOfRatios)
    {
        std::cout << " " << ratio << " |";
    }
    std::cout << std::endl;
}

/// Mean and worst ratio to a bound.
struct Ratios
{
    double sum{0};     //!< of the ratios
    double worst{0};   //!< the largest
    uint32_t count{0}; //!< how many

    void Add(double ratio)
    {
        sum += ratio;
        worst = std::max(worst, ratio);
        ++count;
    }
};

void
PrintRatios(const std::string& title, const std::vector<Ratios>& ratios)
{
    std::cout << "| " << title << " | " << ratios[0].count << " |" << std::fixed
              << std::setprecision(4);
    for (const Ratios& r : ratios)
    {
        std::cout << " " << r.sum / r.count << " (" << r.worst << ") |";
    }
    std::cout << std::endl;
}

/// Mean and worst ratio on networks that have been changed, to the bound of plans without overlap
/// and to that of any plan.
void
PrintChanged(const std::string& title,
             const std::vector<Contender>& contenders,
             const std::function<uint32_t(const Topology&)>& getChunks,
             const std::function<Topology(const std::string&, uint32_t)>& change)
{
    std::vector<Ratios> ratios(contenders.size());
    std::vector<Ratios> ratiosToAny(contenders.size());
    for (const std::string& spec : SMALLER)
    {
        for (uint32_t seed = 1; seed <= N_SEEDS; ++seed)
        {
            const Topology topology = change(spec, seed);
            const uint32_t chunks = getChunks(ParseTopology(spec));
            const double bound = BoundWithoutOverlap(topology, chunks);
            const double boundOfAny = BoundAnySchedule(topology, chunks);
            for (std::size_t i = 0; i < contenders.size(); ++i)
            {
                const std::size_t rounds = CountRounds(contenders[i], topology, chunks);
                ratios[i].Add(rounds / bound);
                ratiosToAny[i].Add(rounds / boundOfAny);
            }
        }
    }
    PrintRatios(title, ratios);
    PrintRatios(title + ", to the bound of any plan", ratiosToAny);
}

bool
AreServersConnected(const Topology& topology)
{
    const std::vector<uint32_t> distances = ComputeDistances(topology, 0);
    return std::find(distances.begin(), distances.begin() + topology.GetNServers(), UNREACHABLE) ==
           distances.begin() + topology.GetNServers();
}

/// @return a state in the middle of the reduce, with a link that has just failed
AllReduceState
BreakInReduce(const Topology& topology, const Contender& contender, uint64_t seed)
{
    std::mt19937_64 random(seed);
    AllReduceState state(topology, MakeRoots(topology.GetNServers(), 1));
    const Plans plan = contender.plan(state);
    const std::size_t nRounds = 1 + random() % (plan.size() / 2 - 1);
    for (std::size_t round = 0; round < nRounds; ++round)
    {
        for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
        {
            state.Start(plan[round].Get(i));
        }
        state.EndRound();
    }
    while (true)
    {
        const LinkId link = random() % topology.GetNLinks();
        std::vector<Link> left = topology.GetLinks();
        left.erase(left.begin() + link);
        if (AreServersConnected(topology.WithLinks(topology.GetName(), left)))
        {
            state.SetLinkUp(link, false);
            return state;
        }
    }
}

/// @return rounds that a rest takes at least if all reduces end before the first broadcast
uint32_t
BoundRest(const AllReduceState& state)
{
    uint32_t bound = 0;
    PlanByMirroring(state, [&](const BroadcastProblem& problem) {
        bound += BoundBroadcast(problem);
        return PlanGreedyBroadcast(problem, 1);
    });
    return bound;
}

/// @return rounds that the rest takes; played to its end
std::size_t
CountRestRounds(const Contender& contender, AllReduceState state)
{
    const Plans plan = contender.plan(state);
    for (const WorkloadList& round : plan)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            state.Start(round.Get(i));
        }
        state.EndRound();
    }
    if (!state.IsDone())
    {
        FailInput("a rest on ", state.GetTopology().GetName(), " leaves sums missing");
    }
    return plan.size();
}

/// Rest after a failure in mid-reduce; the first contender made the plan that failed.
void
PrintFailures(const std::vector<Contender>& contenders)
{
    std::vector<Ratios> ratios(contenders.size());
    for (const std::string& spec : SMALLER)
    {
        const Topology topology = ParseTopology(spec);
        for (uint32_t seed = 1; seed <= N_SEEDS; ++seed)
        {
            const AllReduceState state = BreakInReduce(topology, contenders[0], seed);
            const double bound = BoundRest(state);
            for (std::size_t i = 0; i < contenders.size(); ++i)
            {
                ratios[i].Add(CountRestRounds(contenders[i], state) / bound);
            }
        }
    }
    PrintRatios("rest after a failure in mid-reduce", ratios);
}

/// @return where the policies for some plans are
std::string
GetPath(const std::string& asked, PlanMode mode)
{
    return asked.empty() ? FindShippedCheckpoint(mode) : asked;
}

Contender
MakeRandomPicks(PlanMode mode)
{
    return MakeRollout("random picks", PolicyWeights(mode), RolloutMode::RANDOM);
}

void
PrintReference(const std::string& path)
{
    std::vector<Contender> contenders = {
        MakeHrl("hrl", path, 1, false),
        MakeHrl("hrl, best of 16", path, 16, false),
        MakeContender("greedy", "greedy", {}),
        MakeHrl("upper off", path, 1, false, false),
        MakeRollout("untrained",
                    PolicyWeights::MakeInitial(PlanMode::MIRRORED, 1),
                    RolloutMode::BEST),
        MakeRandomPicks(PlanMode::MIRRORED)};
    for (const char* name :
         {"ps", "ps-merge", "ring", "ring-aware", "halving-doubling", "double-tree", "forest"})
    {
        contenders.push_back(MakeContender(name, name, {}));
    }
    std::cout << "\nRounds, m = 1; the bound is the unoverlapped one:" << std::endl;
    PrintRounds(contenders, GetOneChunk, BoundWithoutOverlap);
}

void
PrintAuto(const std::string& path)
{
    std::cout << "\nRounds, m = auto; the bound holds for any schedule:" << std::endl;
    PrintRounds({MakeHrl("hrl", path, 1, false),
                 MakeHrl("hrl, best of 16", path, 16, false),
                 MakeContender("forest", "forest", {}),
                 MakeContender("greedy", "greedy", {})},
                GetAutoChunks,
                BoundAnySchedule);
}

void
PrintChangedNetworks(const std::string& path)
{
    const std::vector<Contender> contenders = {MakeHrl("hrl", path, 1, false),
                                               MakeAllAtOnce(ReadCheckpoint(path)),
                                               MakeHrl("upper off", path, 1, false, false),
                                               MakeContender("forest", "forest", {}),
                                               MakeContender("greedy", "greedy", {}),
                                               MakeRandomPicks(PlanMode::MIRRORED)};
    std::cout << "\nRatio to the unoverlapped bound, one plan each, mean (worst):" << std::endl;
    PrintHeader("networks | cases", contenders);
    for (const bool isAuto : {false, true})
    {
        const std::string chunks = isAuto ? ", m = ports" : ", m = 1";
        const auto getChunks = isAuto ? GetAutoChunks : GetOneChunk;
        PrintChanged("5 or 10 % of the links gone" + chunks,
                     contenders,
                     getChunks,
                     [](const std::string& spec, uint32_t seed) {
                         return Degrade(ParseTopology(spec), seed % 2 == 1 ? 0.05 : 0.1, seed);
                     });
        PrintChanged("30 % of the links with capacity 2" + chunks,
                     contenders,
                     getChunks,
                     [](const std::string& spec, uint32_t seed) {
                         return MixCapacity(ParseTopology(spec), 0.3, seed);
                     });
    }
}

void
PrintRests(const std::string& path)
{
    const std::vector<Contender> contenders = {MakeHrl("hrl", path, 1, false),
                                               MakeHrl("upper off", path, 1, false, false),
                                               MakeContender("forest", "forest", {}),
                                               MakeContender("greedy", "greedy", {}),
                                               MakeRandomPicks(PlanMode::MIRRORED)};
    std::cout << "\nRatio to the unoverlapped bound of what is left, m = 1, mean (worst):"
              << std::endl;
    PrintHeader("states | cases", contenders);
    PrintFailures(contenders);
}

void
PrintForward(const std::string& path)
{
    const std::vector<Contender> contenders = {
        MakeHrl("hrl --forward", path, 1, true),
        MakeHrl("best of 16", path, 16, true),
        MakeHrl("all trees active", path, 1, true, false),
        MakeRollout("untrained",
                    PolicyWeights::MakeInitial(PlanMode::FORWARD, 1),
                    RolloutMode::BEST),
        MakeRandomPicks(PlanMode::FORWARD),
        MakeContender("greedy --forward", "greedy", {{"Forward", Create<BooleanValue>(true)}})};
    std::cout << "\nForward, m = auto; the bound holds for any schedule:" << std::endl;
    PrintRounds(contenders, GetAutoChunks, BoundAnySchedule);
    std::cout << "\nForward, m = 1:" << std::endl;
    PrintRounds(contenders, GetOneChunk, BoundAnySchedule);
}

void
PrintPart(const std::string& part, const Options& options)
{
    const std::map<std::string, void (*)(const std::string&)> printers = {
        {"rounds", PrintReference},
        {"auto", PrintAuto},
        {"changed", PrintChangedNetworks},
        {"failure", PrintRests},
        {"forward", PrintForward},
    };
    const auto printer = printers.find(part);
    if (printer == printers.end())
    {
        FailInput("--parts \"", part, "\": expected rounds, auto, changed, failure or forward");
    }
    printer->second(part == "forward" ? GetPath(options.forwardCheckpoint, PlanMode::FORWARD)
                                      : GetPath(options.checkpoint, PlanMode::MIRRORED));
}

int
Run(int argc, char* argv[])
{
    Options options;
    ProgramOptions parser("allreduce-evaluate-policies",
                          "tables of how good the policies are, next to their controls");
    parser.Add("parts", options.parts, ',', "rounds, auto, changed, failure, forward");
    parser.Add("checkpoint", options.checkpoint, "for mirrored plans; default: the shipped one");
    parser.Add("forward-checkpoint", options.forwardCheckpoint, "for forward plans; likewise");
    if (!parser.Parse(argc, argv))
    {
        return 0;
    }
    for (const std::string& part : options.parts)
    {
        PrintPart(part, options);
    }
    return 0;
}

} // namespace

int
main(int argc, char* argv[])
{
    return RunProgram("allreduce-evaluate-policies", [=] { return Run(argc, argv); });
}
