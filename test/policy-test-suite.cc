/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/broadcast-environment.h"
#include "ns3/cut-servers.h"
#include "ns3/plan-imitation.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-rollout.h"
#include "ns3/run-experiment.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/training-problems.h"
#include "ns3/uinteger.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return weights that are random
PolicyWeights
MakeRandomWeights(PlanMode mode, uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 0.3F);
    PolicyWeights weights(mode);
    for (PerceptronWeights& head : weights.heads)
    {
        for (float& value : head.values)
        {
            value = normal(random);
        }
    }
    return weights;
}

/// Networks of all kinds, whole and damaged.
std::vector<Topology>
MakeTopologies()
{
    std::vector<Topology> topologies;
    for (const char* spec :
         {"bcube:2,1", "bcube:4,1", "dcell:3,1", "jellyfish:6,3,2", "torus:3x3", "fattree:4"})
    {
        topologies.push_back(ParseTopology(spec));
        topologies.push_back(Degrade(ParseTopology(spec), 0.1, 2));
        topologies.push_back(MixCapacity(ParseTopology(spec), 0.3, 3));
    }
    return topologies;
}

/// An independent look at a plan.
class PlanChecker
{
  public:
    PlanChecker(const BroadcastProblem& problem, const BroadcastLimits& limits)
        : m_problem(problem),
          m_limits(limits),
          m_held(problem.holders)
    {
    }

    /// @return what is wrong, or ""
    std::string Check(const BroadcastPlan& plan)
    {
        for (std::size_t number = 0; number < plan.size(); ++number)
        {
            const WorkloadList& round = plan[number];
            const BitMatrix before = m_held;
            std::vector<uint32_t> used(m_problem.capacity.size(), 0);
            if (number < m_limits.taken.size())
            {
                used = m_limits.taken[number];
            }
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const Workload workload = round.Get(i);
                if (!m_limits.firstRounds.empty() && number < m_limits.firstRounds[workload.chunk])
                {
                    return "the chunk is sent too early";
                }
                if (!before.Test(workload.GetSource(), workload.chunk))
                {
                    return "the sender does not hold the chunk";
                }
                if (m_held.Test(workload.GetTarget(), workload.chunk))
                {
                    return "the receiver has the chunk";
                }
                m_held.Set(workload.GetTarget(), workload.chunk);
                for (const NodeId* node = workload.path.begin(); node + 1 != workload.path.end();
                     ++node)
                {
                    const auto link = m_problem.topology->FindDirectedLink(*node, *(node + 1));
                    if (!link || ++used[*link] > m_problem.capacity[*link])
                    {
                        return "no link, or no room on it";
                    }
                }
            }
        }
        return FindUnmetWant();
    }

  private:
    std::string FindUnmetWant() const
    {
        for (NodeId server = 0; server < m_problem.topology->GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < m_problem.nChunks; ++chunk)
            {
                if (m_problem.wants.Test(server, chunk) && !m_held.Test(server, chunk))
                {
                    return "a wanted chunk does not arrive";
                }
            }
        }
        return "";
    }

    const BroadcastProblem& m_problem; //!< what was to be planned
    const BroadcastLimits& m_limits;   //!< what was to be left to others
    BitMatrix m_held;                  //!< who holds what
};

/// @return what a rollout of some mode plans
std::vector<WorkloadList>
PlanWithRandomWeights(const TrainingProblem& problem, PlanMode planMode, RolloutMode mode)
{
    RolloutOptions options;
    options.mode = mode;
    options.seed = 7;
    return RunRollout(*problem.MakeEnvironment(), MakeRandomWeights(planMode, 5), options);
}

/// Whatever the policies choose, the plan is valid.
class MaskTestCase : public TestCase
{
  public:
    MaskTestCase()
        : TestCase("Whatever is chosen from what the masks allow is legal, on both levels")
    {
    }

  private:
    void DoRun() override
    {
        for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
        {
            for (const Topology& topology : MakeTopologies())
            {
                for (const uint32_t chunksPerServer : {1, 2})
                {
                    CheckModes(MakeFullProblem(mode, topology, chunksPerServer),
                               mode,
                               topology.GetName());
                }
            }
            CheckPartial(mode);
        }
        CheckHalves();
    }

    void CheckPartial(PlanMode mode)
    {
        TrainingConfig config;
        config.mode = GetPlanModeName(mode);
        config.partial = 1;
        for (uint64_t seed = 1; seed <= 30; ++seed)
        {
            CheckModes(DrawTrainingProblem(config, seed), mode, "partial " + std::to_string(seed));
        }
    }

    void CheckHalves()
    {
        const PolicyWeights weights = PolicyWeights::MakeInitial(PlanMode::MIRRORED, 1);
        uint32_t nStaggered = 0;
        constexpr uint32_t N_HALVES = 30;
        for (uint64_t seed = 1; seed <= N_HALVES; ++seed)
        {
            const TrainingProblem half = DrawHalf({}, seed, weights);
            CheckModes(half, PlanMode::MIRRORED, "half " + std::to_string(seed));
            nStaggered += half.stagger.has_value();
            NS_TEST_ASSERT_MSG_EQ(half.limits.taken.empty(), half.stagger.has_value(), "either");
        }
        NS_TEST_ASSERT_MSG_GT(nStaggered, N_HALVES / 4, "reduces");
        NS_TEST_ASSERT_MSG_LT(nStaggered, N_HALVES * 3 / 4, "broadcasts");
    }

    void CheckModes(const TrainingProblem& problem, PlanMode planMode, const std::string& name)
    {
        for (const RolloutMode mode : {RolloutMode::BEST, RolloutMode::SAMPLE, RolloutMode::RANDOM})
        {
            const auto plan = PlanWithRandomWeights(problem, planMode, mode);
            NS_TEST_ASSERT_MSG_EQ(FindFault(problem, plan), "", name);
        }
    }

    /// @return what is wrong with a plan, or ""
    std::string FindFault(const TrainingProblem& problem, const std::vector<WorkloadList>& plan)
    {
        if (const auto* broadcast = std::get_if<BroadcastProblem>(&problem.start))
        {
            return PlanChecker(*broadcast, problem.limits).Check(plan);
        }
        const auto& state = std::get<AllReduceState>(problem.start);
        if (state.IsFresh())
        {
            return Verify(*problem.topology, {state.GetRoots(), plan}).reason;
        }
        AllReduceState played = state;
        for (const WorkloadList& round : plan)
        {
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const std::string fault = played.FindFault(round.Get(i));
                if (!fault.empty())
                {
                    return fault;
                }
                played.Start(round.Get(i));
            }
            played.EndRound();
        }
        return played.IsDone() ? "" : "sums are missing in the end";
    }
};

/// The environment's counts stay what they would be if taken anew.
class EnvironmentTestCase : public TestCase
{
  public:
    EnvironmentTestCase()
        : TestCase("Open ports and senders, kept up to date, are what a new look would find")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:3,1", "dcell:3,1", "jellyfish:6,3,2", "torus:3x3"})
        {
            const TrainingProblem owned =
                MakeFullProblem(PlanMode::MIRRORED, ParseTopology(spec), 1);
            Walk(std::get<BroadcastProblem>(owned.start), spec);
        }
    }

    /// Make random picks and compare the masks with brute force.
    void Walk(const BroadcastProblem& problem, const std::string& name)
    {
        BroadcastEnvironment environment(problem);
        std::mt19937_64 random(3);
        std::vector<uint32_t> items;
        BitMatrix held = problem.holders;
        while (environment.GetNTransfersLeft() > 0)
        {
            environment.BeginRound();
            const BitMatrix before = held;
            std::vector<uint32_t> free = problem.capacity;
            while (!environment.GetOpenPorts().empty())
            {
                CheckOpenPorts(environment, problem, before, held, free, name);
                const auto& open = environment.GetOpenPorts();
                const uint32_t port = open[random() % open.size()];
                const auto& senders = environment.GetSenders(port);
                const auto sender = senders[random() % senders.size()];
                environment.FindItems(port, sender, 1000, items);
                WorkloadList picked;
                environment.Pick(port, sender, items[random() % items.size()], picked);
                const Workload workload = picked.Get(0);
                held.Set(workload.GetTarget(), workload.chunk);
                for (const NodeId* node = workload.path.begin(); node + 1 != workload.path.end();
                     ++node)
                {
                    --free[*problem.topology->FindDirectedLink(*node, *(node + 1))];
                }
            }
            CheckOpenPorts(environment, problem, before, held, free, name);
            environment.EndRound();
        }
    }

    /// A port is open if and only if some server behind free links has something for it.
    void CheckOpenPorts(const BroadcastEnvironment& environment,
                        const BroadcastProblem& problem,
                        const BitMatrix& before,
                        const BitMatrix& held,
                        const std::vector<uint32_t>& free,
                        const std::string& name)
    {
        const PortNeighborhoods around(*problem.topology, problem.capacity);
        const std::set<uint32_t> open(environment.GetOpenPorts().begin(),
                                      environment.GetOpenPorts().end());
        for (uint32_t port = 0; port < around.ports.size(); ++port)
        {
            const bool expected = CanReceive(around.ports[port], problem, before, held, free);
            NS_TEST_ASSERT_MSG_EQ((open.count(port) == 1), expected, name << ": port " << port);
        }
    }

    bool CanReceive(const InPort& port,
                    const BroadcastProblem& problem,
                    const BitMatrix& before,
                    const BitMatrix& held,
                    const std::vector<uint32_t>& free)
    {
        if (free[port.link] == 0)
        {
            return false;
        }
        const Topology& topology = *problem.topology;
        std::vector<NodeId> queue{topology.GetSource(port.link)};
        std::set<NodeId> seen{queue[0], port.server};
        for (std::size_t i = 0; i < queue.size(); ++i)
        {
            if (topology.IsServer(queue[i]))
            {
                for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
                {
                    if (before.Test(queue[i], chunk) && !held.Test(port.server, chunk))
                    {
                        return true;
                    }
                }
                continue;
            }
            for (const Topology::Port& next : topology.GetPorts(queue[i]))
            {
                if (free[Reverse(next.out)] > 0 && seen.insert(next.neighbor).second)
                {
                    queue.push_back(next.neighbor);
                }
            }
        }
        return false;
    }
};

/// Servers that must stay, so that the others can still be merged.
class CutServersTestCase : public TestCase
{
  public:
    CutServersTestCase()
        : TestCase("Cut servers are those without which the others of a set are not joined")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937_64 random(11);
        for (uint32_t trial = 0; trial < 300; ++trial)
        {
            const uint32_t nServers = 2 + random() % 80;
            BitMatrix joined(nServers, nServers);
            for (uint32_t i = 0; i < nServers + random() % nServers; ++i)
            {
                const NodeId x = random() % nServers;
                const NodeId y = random() % nServers;
                if (x != y)
                {
                    joined.Set(x, y);
                    joined.Set(y, x);
                }
            }
            CheckSet(joined, nServers, random);
        }
    }

    void CheckSet(const BitMatrix& joined, uint32_t nServers, std::mt19937_64& random)
    {
        BitMatrix members(1, nServers);
        for (NodeId server = 0; server < nServers; ++server)
        {
            if (random() % 4 > 0)
            {
                members.Set(0, server);
            }
        }
        const NodeId first = random() % nServers;
        members.Set(0, first);
        CutServers cutServers(joined);
        const auto& cuts = cutServers.Find(members.GetRow(0), first);
        const uint32_t nParts = CountParts(joined, members, nServers);
        for (NodeId server = 0; server < nServers; ++server)
        {
            if (server == first || !members.Test(0, server))
            {
                continue;
            }
            BitMatrix others = members;
            others.Clear(0, server);
            const bool isCut = CountParts(joined, others, nServers) > nParts;
            NS_TEST_ASSERT_MSG_EQ((cuts[server / 64] >> server % 64 & 1), isCut, server);
        }
    }

    /// @return how many parts a set falls into, by brute force
    uint32_t CountParts(const BitMatrix& joined, const BitMatrix& members, uint32_t nServers)
    {
        std::set<NodeId> left;
        for (NodeId server = 0; server < nServers; ++server)
        {
            if (members.Test(0, server))
            {
                left.insert(server);
            }
        }
        uint32_t nParts = 0;
        for (; !left.empty(); ++nParts)
        {
            std::vector<NodeId> queue{*left.begin()};
            left.erase(left.begin());
            for (std::size_t i = 0; i < queue.size(); ++i)
            {
                for (auto next = left.begin(); next != left.end();)
                {
                    const bool isNeighbor = joined.Test(queue[i], *next);
                    if (isNeighbor)
                    {
                        queue.push_back(*next);
                    }
                    next = isNeighbor ? left.erase(next) : std::next(next);
                }
            }
        }
        return nParts;
    }
};

/// Forward policies begin by following mirrored plans.
class ImitationTestCase : public TestCase
{
  public:
    ImitationTestCase()
        : TestCase("A mirrored plan can be followed to its end, every pick being one on offer")
    {
    }

  private:
    void DoRun() override
    {
        for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
        {
            for (const char* spec : {"bcube:4,1", "dcell:3,1", "bcube:2,2"})
            {
                const TrainingProblem problem = MakeFullProblem(mode, ParseTopology(spec), 2);
                const std::vector<WorkloadList> plan = PlanGreedily(problem, 3);
                std::size_t nWorkloads = 0;
                for (const WorkloadList& round : plan)
                {
                    nWorkloads += round.GetSize();
                }
                const auto environment = problem.MakeEnvironment();
                const EpisodeRecord record = RecordPlan(*environment, plan, PolicyWeights(mode), 5);
                std::size_t nPicks = 0;
                for (const Decision& decision : record.decisions)
                {
                    nPicks += decision.head == PolicyHead::CHUNK;
                }
                NS_TEST_ASSERT_MSG_EQ(environment->GetNTransfersLeft(), 0, spec);
                NS_TEST_ASSERT_MSG_EQ(record.nRounds, plan.size(), spec);
                NS_TEST_ASSERT_MSG_EQ(nPicks, nWorkloads, spec);
            }
        }
    }
};

/// What is recorded for training is what was decided.
class RecordTestCase : public TestCase
{
  public:
    RecordTestCase()
        : TestCase("Recorded probabilities are those of the recorded features, and sum to one")
    {
    }

  private:
    void DoRun() override
    {
        for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
        {
            CheckRollout(mode);
        }
    }

    void CheckRollout(PlanMode mode)
    {
        const PolicyWeights weights = MakeRandomWeights(mode, 9);
        const TrainingProblem problem = MakeFullProblem(mode, ParseTopology("dcell:3,1"), 1);
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        EpisodeRecord record;
        std::unique_ptr<PlanningEnvironment> environment = problem.MakeEnvironment();
        if (const auto* broadcast = std::get_if<BroadcastProblem>(&problem.start))
        {
            // Only then the upper policy has something to decide.
            environment =
                std::make_unique<BroadcastEnvironment>(*broadcast, BroadcastLimits(), true);
        }
        const auto plan = RunRollout(*environment, weights, options, &record);
        NS_TEST_ASSERT_MSG_EQ(record.nRounds, plan.size(), "rounds");
        NS_TEST_ASSERT_MSG_EQ(record.rewards.size(), plan.size(), "a reward for each round");
        NS_TEST_ASSERT_MSG_GT(record.decisions.size(), 100, "decisions");
        NS_TEST_ASSERT_MSG_EQ(record.rows[static_cast<std::size_t>(PolicyHead::TREE)].empty(),
                              false,
                              "decisions of the upper policy");
        for (const Decision& decision : record.decisions)
        {
            CheckDecision(decision, record, weights);
        }
    }

    void CheckDecision(const Decision& decision,
                       const EpisodeRecord& record,
                       const PolicyWeights& weights)
    {
        const PerceptronWeights& head = weights.Get(decision.head);
        const float* rows = record.rows[static_cast<std::size_t>(decision.head)].data() +
                            decision.firstRow * head.nInputs;
        std::vector<float> scores(decision.nRows);
        head.Score(rows, decision.nRows, scores.data());
        double probability = 0;
        if (decision.head == PolicyHead::TREE)
        {
            const double yes = 1 / (1 + std::exp(-scores[0]));
            probability = decision.choice == 1 ? yes : 1 - yes;
        }
        else
        {
            double sum = 0;
            for (const float score : scores)
            {
                sum += std::exp(score);
            }
            probability = std::exp(scores[decision.choice]) / sum;
        }
        NS_TEST_ASSERT_MSG_EQ_TOL(std::exp(decision.logProbability), probability, 1e-5, "p");
    }
};

/// Checkpoints are read back as written; other files are refused for what they are.
class CheckpointTestCase : public TestCase
{
  public:
    CheckpointTestCase()
        : TestCase("A checkpoint is read back as written; any other file is refused by name")
    {
    }

  private:
    void DoRun() override
    {
        m_path = CreateTempDirFilename("policy-test.json");
        for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
        {
            CheckRoundTrip(MakeRandomWeights(mode, 2));
        }
        CheckRefusals();
    }

    void CheckRoundTrip(const PolicyWeights& weights)
    {
        WriteCheckpoint(m_path, weights, TrainingConfig(), {{"iterations", 1}});
        const PolicyWeights again = ReadCheckpoint(m_path);
        NS_TEST_ASSERT_MSG_EQ((again.mode == weights.mode), true, "mode");
        for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
        {
            NS_TEST_ASSERT_MSG_EQ((again.heads[head].values == weights.heads[head].values),
                                  true,
                                  "weights");
        }
    }

    void CheckRefusals()
    {
        WriteCheckpoint(m_path,
                        MakeRandomWeights(PlanMode::MIRRORED, 2),
                        TrainingConfig(),
                        {{"iterations", 1}});
        std::ifstream in(m_path);
        std::ostringstream text;
        text << in.rdbuf();
        for (const std::size_t length :
             {std::size_t{1}, text.str().size() / 2, text.str().size() - 3})
        {
            CheckRefused(text.str().substr(0, length), "cut short");
        }
        CheckRefused("", "not a policy");
        CheckRefused("weights", "not a policy, expected JSON");
        CheckRefused("{}", "not a policy, expected the format allreduce-policy");
        CheckRefused("[1]", "not a policy");
        auto json = nlohmann::ordered_json::parse(text.str());
        CheckChanged(
            json,
            [](auto& j) { j["version"] = 9; },
            "version 9, expected 1");
        CheckChanged(
            json,
            [](auto& j) { j["mode"] = "sideways"; },
            "mode \"sideways\", expected mirrored or forward");
        CheckChanged(
            json,
            [](auto& j) { j["mode"] = "forward"; },
            "network \"port\" has another layout of features");
        CheckChanged(
            json,
            [](auto& j) { j.erase("networks"); },
            "no \"networks\"");
        CheckChanged(
            json,
            [](auto& j) { j["networks"].erase("tree"); },
            "no network \"tree\"");
        CheckChanged(
            json,
            [](auto& j) { j["networks"]["port"]["features"][0] = "mood"; },
            "network \"port\" has another layout of features");
        CheckChanged(
            json,
            [](auto& j) { j["networks"]["chunk"]["weights"].erase(0); },
            "network \"chunk\" has 1696 weights, expected 1697");
        CheckChanged(
            json,
            [](auto& j) { j["networks"]["chunk"]["weights"][5] = "x"; },
            "weight 5 is \"x\", expected a number");
        std::remove(m_path.c_str());
        CheckError([this] { ReadCheckpoint(m_path); }, "cannot be opened");
    }

    void CheckChanged(nlohmann::ordered_json json,
                      const std::function<void(nlohmann::ordered_json&)>& change,
                      const std::string& why)
    {
        change(json);
        CheckRefused(json.dump(), why);
    }

    void CheckRefused(const std::string& text, const std::string& why)
    {
        std::ofstream(m_path) << text;
        CheckError([this] { ReadCheckpoint(m_path); }, why);
    }

    void CheckError(const std::function<void()>& call, const std::string& why)
    {
        const std::string message = GetError(call);
        NS_TEST_ASSERT_MSG_NE(message.find(why), std::string::npos, why << " in: " << message);
        NS_TEST_ASSERT_MSG_NE(message.find(m_path), std::string::npos, message);
    }

    std::string m_path; //!< the file
};

/// The scheduler behind the hook.
class HrlSchedulerTestCase : public TestCase
{
  public:
    HrlSchedulerTestCase()
        : TestCase("The scheduler hrl plans whole AllReduces, the same for the same seed")
    {
    }

  private:
    void DoRun() override
    {
        m_path = CreateTempDirFilename("policy-test.json");
        for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
        {
            m_isForward = mode == PlanMode::FORWARD;
            WriteCheckpoint(m_path, MakeRandomWeights(mode, 4), TrainingConfig(), {});
            CheckPlans();
            CheckReplannedBy();
        }
        CheckGivenUp();
        // The checkpoint that is there now is for forward plans.
        m_isForward = false;
        const std::string message = GetError([this] { MakePlan(MakeTopologies()[0], 1, 1); });
        NS_TEST_ASSERT_MSG_NE(message.find("made for forward plans, expected one for mirrored"),
                              std::string::npos,
                              message);
    }

    void CheckPlans()
    {
        for (const Topology& topology : MakeTopologies())
        {
            const AllReduceSchedule schedule = MakePlan(topology, 1, 1);
            const Verdict verdict = Verify(topology, schedule);
            NS_TEST_ASSERT_MSG_EQ(verdict.reason, "", topology.GetName());
            const AllReduceSchedule again = MakePlan(topology, 1, 1);
            NS_TEST_ASSERT_MSG_EQ(AreEqual(schedule, again), true, "the same plan again");
            const AllReduceSchedule best = MakePlan(topology, 1, 6);
            NS_TEST_ASSERT_MSG_LT_OR_EQ(best.rounds.size(), schedule.rounds.size(), "best of 6");
            NS_TEST_ASSERT_MSG_EQ(AreEqual(best, MakePlan(topology, 1, 6)), true, "again");
        }
    }

    /// After a failure the policies go on, in ns-3 as well.
    void CheckReplannedBy()
    {
        const Topology bcube = ParseTopology("bcube:2,1");
        const auto scheduler = MakeHrl(1, 1);
        auto plan = PlanVerified(bcube, MakeRoots(4, 1), "hrl", *scheduler);
        RunOptions options;
        options.transport = "raw";
        options.faults.fail = {"0-4@20us"};
        const auto result = RunExperiment({bcube, "hrl", scheduler, plan, 100000}, options);
        NS_TEST_ASSERT_MSG_EQ(result.failure, "", "goes on");
        NS_TEST_ASSERT_MSG_EQ(result.replannedBy, "hrl", "by itself");
        NS_TEST_ASSERT_MSG_EQ(result.isVerified, true, "and its rest is proven");
    }

    /// Policies that do not come to an end: an error, or, after a failure, somebody else's plan.
    void CheckGivenUp()
    {
        const Topology bcube = ParseTopology("bcube:2,1");
        const auto scheduler = MakeHrl(1, 2);
        AllReduceState state(bcube, MakeRoots(4, 1));
        state.SetLinkUp(0, false);
        Plan(*scheduler, state);
        NS_TEST_ASSERT_MSG_EQ(scheduler->GetPlanner(), "", "the policies plan the rest");
        scheduler->SetAttribute("MostRounds", UintegerValue(2));
        const AllReduceState fresh(bcube, MakeRoots(4, 1));
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { Plan(*scheduler, fresh); }),
                              "policy " + m_path +
                                  ": on bcube:2,1 none of 2 forward plans came to an end within "
                                  "2 rounds",
                              "no other planner takes its place");
        state.SetLinkUp(1, false);
        state.SetLinkUp(0, true);
        const AllReduceSchedule rest = Plan(*scheduler, state);
        NS_TEST_ASSERT_MSG_EQ(scheduler->GetPlanner(), "forward greedy", "handed over by name");
        NS_TEST_ASSERT_MSG_EQ(Verify(bcube, rest).reason, "", "correct");
    }

    Ptr<AllReduceScheduler> MakeHrl(uint64_t seed, uint32_t samples)
    {
        const Ptr<AllReduceScheduler> scheduler = CreateScheduler("hrl");
        scheduler->SetAttribute("Checkpoint", StringValue(m_path));
        scheduler->SetAttribute("Seed", UintegerValue(seed));
        scheduler->SetAttribute("Samples", UintegerValue(samples));
        scheduler->SetAttribute("Forward", BooleanValue(m_isForward));
        return scheduler;
    }

    AllReduceSchedule MakePlan(const Topology& topology, uint64_t seed, uint32_t samples)
    {
        return Plan(*MakeHrl(seed, samples),
                    AllReduceState(topology, MakeRoots(topology.GetNServers(), 1)));
    }

    bool AreEqual(const AllReduceSchedule& x, const AllReduceSchedule& y)
    {
        if (x.rounds.size() != y.rounds.size())
        {
            return false;
        }
        for (std::size_t i = 0; i < x.rounds.size(); ++i)
        {
            for (std::size_t k = 0; k < x.rounds[i].GetSize(); ++k)
            {
                if (k >= y.rounds[i].GetSize() || !(x.rounds[i].Get(k) == y.rounds[i].Get(k)))
                {
                    return false;
                }
            }
        }
        return true;
    }

    std::string m_path;      //!< a checkpoint
    bool m_isForward{false}; //!< how to plan
};

/// Users find in the manual what the policies see.
class ManualTestCase : public TestCase
{
  public:
    ManualTestCase()
        : TestCase("Every feature of every network is in the manual")
    {
    }

  private:
    void DoRun() override
    {
        std::ifstream in(std::string(NS_TEST_SOURCEDIR) + "/../doc/allreduce.rst");
        std::ostringstream manual;
        manual << in.rdbuf();
        for (const PlanMode mode : {PlanMode::MIRRORED, PlanMode::FORWARD})
        {
            for (const PolicyHead head : POLICY_HEADS)
            {
                for (const std::string& feature : GetPolicyFeatures(mode, head))
                {
                    NS_TEST_EXPECT_MSG_NE(manual.str().find("\n" + feature + " "),
                                          std::string::npos,
                                          "not in the manual: " << feature);
                }
            }
        }
    }
};

/// @ingroup allreduce-test
class PolicyTestSuite : public TestSuite
{
  public:
    PolicyTestSuite()
        : TestSuite("allreduce-policy", TestSuite::Type::UNIT)
    {
        AddTestCase(new MaskTestCase);
        AddTestCase(new EnvironmentTestCase);
        AddTestCase(new CutServersTestCase);
        AddTestCase(new ImitationTestCase);
        AddTestCase(new RecordTestCase);
        AddTestCase(new CheckpointTestCase);
        AddTestCase(new HrlSchedulerTestCase);
        AddTestCase(new ManualTestCase);
    }
};

PolicyTestSuite g_policyTestSuite; //!< registers the suite

} // namespace
