/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/broadcast-environment.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/policy-rollout.h"
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
MakeRandomWeights(uint64_t seed)
{
    std::mt19937_64 random(seed);
    std::normal_distribution<float> normal(0, 0.3F);
    PolicyWeights weights;
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
    explicit PlanChecker(const BroadcastProblem& problem)
        : m_problem(problem),
          m_held(problem.holders)
    {
    }

    /// @return what is wrong, or ""
    std::string Check(const BroadcastPlan& plan)
    {
        for (const WorkloadList& round : plan)
        {
            const BitMatrix before = m_held;
            std::vector<uint32_t> used(m_problem.capacity.size(), 0);
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const Workload workload = round.Get(i);
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
    BitMatrix m_held;                  //!< who holds what
};

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
        for (const Topology& topology : MakeTopologies())
        {
            for (const uint32_t chunksPerServer : {1, 2})
            {
                CheckModes(MakeFullProblem(topology, chunksPerServer), topology.GetName());
            }
        }
        TrainingConfig config;
        config.partial = 1;
        for (uint64_t seed = 1; seed <= 30; ++seed)
        {
            CheckModes(DrawTrainingProblem(config, seed), "partial " + std::to_string(seed));
        }
    }

    void CheckModes(const OwnedProblem& owned, const std::string& name)
    {
        for (const RolloutMode mode : {RolloutMode::BEST, RolloutMode::SAMPLE, RolloutMode::RANDOM})
        {
            RolloutOptions options;
            options.mode = mode;
            options.seed = 7;
            const BroadcastPlan plan = RunRollout(owned.problem, MakeRandomWeights(5), options);
            NS_TEST_ASSERT_MSG_EQ(PlanChecker(owned.problem).Check(plan), "", name);
        }
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
            const OwnedProblem owned = MakeFullProblem(ParseTopology(spec), 1);
            Walk(owned.problem, spec);
        }
    }

    /// Make random picks and compare the masks with brute force.
    void Walk(const BroadcastProblem& problem, const std::string& name)
    {
        BroadcastEnvironment environment(problem);
        std::mt19937_64 random(3);
        std::vector<ChunkId> chunks;
        Path path;
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
                environment.FindChunks(port, sender, 1000, chunks);
                const ChunkId chunk = chunks[random() % chunks.size()];
                environment.Pick(port, sender, chunk, path);
                held.Set(path.back(), chunk);
                for (std::size_t i = 0; i + 1 < path.size(); ++i)
                {
                    --free[*problem.topology->FindDirectedLink(path[i], path[i + 1])];
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
        const PortNeighborhoods around(problem);
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
        const PolicyWeights weights = MakeRandomWeights(9);
        const OwnedProblem owned = MakeFullProblem(ParseTopology("dcell:3,1"), 1);
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        EpisodeRecord record;
        const BroadcastPlan plan = RunRollout(owned.problem, weights, options, &record);
        NS_TEST_ASSERT_MSG_EQ(record.nRounds, plan.size(), "rounds");
        NS_TEST_ASSERT_MSG_EQ(record.rewards.size(), plan.size(), "a reward for each round");
        NS_TEST_ASSERT_MSG_GT(record.decisions.size(), 100, "decisions");
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
        const PolicyWeights weights = MakeRandomWeights(2);
        WriteCheckpoint(m_path, weights, TrainingConfig(), {{"iterations", 1}});
        const PolicyWeights again = ReadCheckpoint(m_path);
        for (std::size_t head = 0; head < N_POLICY_HEADS; ++head)
        {
            NS_TEST_ASSERT_MSG_EQ((again.heads[head].values == weights.heads[head].values),
                                  true,
                                  "weights");
        }
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
            "network \"chunk\" has 1664 weights, expected 1665");
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
        WriteCheckpoint(m_path, MakeRandomWeights(4), TrainingConfig(), {});
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

    AllReduceSchedule MakePlan(const Topology& topology, uint64_t seed, uint32_t samples)
    {
        const Ptr<AllReduceScheduler> scheduler = CreateScheduler("hrl");
        scheduler->SetAttribute("Checkpoint", StringValue(m_path));
        scheduler->SetAttribute("Seed", UintegerValue(seed));
        scheduler->SetAttribute("Samples", UintegerValue(samples));
        return Plan(*scheduler, AllReduceState(topology, MakeRoots(topology.GetNServers(), 1)));
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

    std::string m_path; //!< a checkpoint
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
        AddTestCase(new RecordTestCase);
        AddTestCase(new CheckpointTestCase);
        AddTestCase(new HrlSchedulerTestCase);
    }
};

PolicyTestSuite g_policyTestSuite; //!< registers the suite

} // namespace
