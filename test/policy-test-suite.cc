/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "policy-test-utils.h"

#include "ns3/allreduce-state.h"
#include "ns3/hrl-planner.h"
#include "ns3/planning-environment.h"
#include "ns3/policy-features.h"
#include "ns3/policy-rollout.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <cmath>
#include <fstream>
#include <set>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

constexpr RolloutMode ROLLOUT_MODES[] = {RolloutMode::BEST,
                                         RolloutMode::SAMPLE,
                                         RolloutMode::RANDOM};

/// @return what is wrong with a rest, or ""
std::string
FindFaultOfRest(AllReduceState state, const std::vector<WorkloadList>& plan)
{
    for (const WorkloadList& round : plan)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const std::string fault = state.FindFault(round.Get(i));
            if (!fault.empty())
            {
                return fault;
            }
            state.Start(round.Get(i));
        }
        state.EndRound();
    }
    return state.IsDone() ? "" : "sums are missing in the end";
}

/// @brief Rests, planned to their end in every way.
class RestTestCase : public TestCase
{
  public:
    RestTestCase()
        : TestCase("rests of any state with links down end with all sums everywhere")
    {
    }

  private:
    void DoRun() override
    {
        CheckRelay();
        TestRandom random(4);
        const PolicyWeights weights = PolicyWeights::MakeInitial(1);
        for (const Topology& topology : MakeFamiliesAndRandom(random, 150))
        {
            const AllReduceState state = DrawState(topology, random);
            for (const RolloutMode mode : ROLLOUT_MODES)
            {
                RolloutOptions options;
                options.mode = mode;
                options.upper = UPPER_MODES[Draw(random, 3)];
                options.seed = random();
                const auto plan = PlanRemainderByPolicies(state, weights, options);
                NS_TEST_EXPECT_MSG_EQ(FindFaultOfRest(state, plan), "", topology.GetName());
            }
        }
    }

    /// A partial sum that only a server without one can relay to the root.
    void CheckRelay()
    {
        const Topology line = MakeTestLine(3);
        AllReduceState state(line, {0});
        state.Start(OwnWorkload{0, REDUCE, {1, 0}, {}}.Get());
        state.EndRound();
        const auto plan = PlanRemainderByPolicies(state, PolicyWeights::MakeInitial(1), {});
        NS_TEST_EXPECT_MSG_EQ(FindFaultOfRest(state, plan), "", "server 1 relays");
        NS_TEST_EXPECT_MSG_EQ(plan.size(), 4, "there and back");
    }
};

/// @brief The rows of features.
class FeaturesTestCase : public TestCase
{
  public:
    FeaturesTestCase()
        : TestCase("features have names of their own, and values that are finite and stay small")
    {
    }

  private:
    void DoRun() override
    {
        for (const PolicyHead head : POLICY_HEADS)
        {
            const std::vector<std::string>& names = GetPolicyFeatures(head);
            const std::set<std::string> different(names.begin(), names.end());
            NS_TEST_ASSERT_MSG_EQ(different.size(), names.size(), GetPolicyHeadName(head));
            NS_TEST_ASSERT_MSG_EQ(different.count(""), 0, GetPolicyHeadName(head));
        }
        TestRandom random(6);
        for (const Topology& topology : MakeFamiliesAndRandom(random, 40))
        {
            const uint32_t chunksPerServer = 1 + Draw(random, 3); // in an order that compilers keep
            Walk(MakeSomeHalf(topology, chunksPerServer, random()), random);
            const AllReduceState state = DrawState(topology, random);
            Walk(MakeRest(state, random()), random);
        }
    }

    /// Look at all rows while random picks are made.
    void Walk(const PlanningProblem& problem, TestRandom& random)
    {
        PlanningEnvironment environment(problem);
        const PolicyView view(environment);
        while (environment.GetState().nTransfersLeft > 0)
        {
            environment.BeginRound();
            view.WriteTrees(m_rows);
            CheckRows(PolicyHead::TREE, environment.GetSelectableTrees().size());
            m_rows.clear();
            view.AppendValue(m_rows);
            CheckRows(PolicyHead::VALUE, 1);
            WorkloadList round;
            do
            {
                while (!environment.GetOpenPorts().empty())
                {
                    const auto& open = environment.GetOpenPorts();
                    LookAndPick(environment, view, open[Draw(random, open.size())], random, round);
                }
            } while (environment.OfferMore());
            environment.EndRound();
        }
    }

    void LookAndPick(PlanningEnvironment& environment,
                     const PolicyView& view,
                     uint32_t port,
                     TestRandom& random,
                     WorkloadList& round)
    {
        m_rows.clear();
        view.AppendPort(port, m_rows);
        CheckRows(PolicyHead::PORT, 1);
        const auto& senders = environment.GetSenders(port);
        view.WriteSenders(port, m_rows);
        CheckRows(PolicyHead::SENDER, senders.size());
        const auto sender = senders[Draw(random, senders.size())];
        std::vector<uint32_t> items;
        environment.FindItems(port, sender, 64, items);
        view.WriteItems(port, sender, items, m_rows);
        CheckRows(PolicyHead::ITEM, items.size());
        environment.Pick(port, sender, items[Draw(random, items.size())], round);
    }

    void CheckRows(PolicyHead head, std::size_t nRows)
    {
        constexpr float MOST = 20; // a sum over the switches on a way has as many terms
        const std::vector<std::string>& names = GetPolicyFeatures(head);
        NS_TEST_ASSERT_MSG_EQ(m_rows.size(), nRows * names.size(), GetPolicyHeadName(head));
        for (std::size_t i = 0; i < m_rows.size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ((std::abs(m_rows[i]) <= MOST), // not so if it is no number
                                  true,
                                  GetPolicyHeadName(head)
                                      << ": " << names[i % names.size()] << " is " << m_rows[i]);
        }
    }

    std::vector<float> m_rows; //!< features
};

/// @brief Chance comes from the seed alone.
class PolicyDeterminismTestCase : public TestCase
{
  public:
    PolicyDeterminismTestCase()
        : TestCase("a rollout with the same seed makes the same plan, recorded or not")
    {
    }

  private:
    void DoRun() override
    {
        const PolicyWeights weights = PolicyWeights::MakeInitial(3);
        uint32_t nDifferent = 0;
        for (const Topology& topology : MakeFamilies())
        {
            const PlanningProblem problem = MakeSomeHalf(topology, 2, 1);
            for (const RolloutMode mode : ROLLOUT_MODES)
            {
                const auto plan = RollOut(problem, weights, mode, 7, nullptr);
                Episode episode;
                const auto again = RollOut(problem, weights, mode, 7, &episode);
                NS_TEST_ASSERT_MSG_EQ(AreEqual(plan, again), true, topology.GetName());
                const auto other = RollOut(problem, weights, mode, 8, nullptr);
                nDifferent += mode == RolloutMode::RANDOM && !AreEqual(plan, other);
            }
        }
        NS_TEST_ASSERT_MSG_GT(nDifferent, 10, "another seed makes another plan");
    }

    std::vector<WorkloadList> RollOut(const PlanningProblem& problem,
                                      const PolicyWeights& weights,
                                      RolloutMode mode,
                                      uint64_t seed,
                                      Episode* episode)
    {
        PlanningEnvironment environment(problem);
        RolloutOptions options;
        options.mode = mode;
        options.seed = seed;
        return RunRollout(environment, weights, options, {}, episode);
    }
};

/// @brief What training learns of a rollout.
class EpisodeTestCase : public TestCase
{
  public:
    EpisodeTestCase()
        : TestCase("recorded probabilities are those of the recorded features")
    {
    }

  private:
    void DoRun() override
    {
        const PolicyWeights weights = PolicyWeights::MakeInitial(9);
        const Topology topology = Degrade(ParseTopology("dcell:3,1"), 0.1, 1);
        const PlanningProblem problem = MakeSomeHalf(topology, 2, 1);
        PlanningEnvironment environment(problem);
        RolloutOptions options;
        options.mode = RolloutMode::SAMPLE;
        Episode episode;
        const auto plan = RunRollout(environment, weights, options, {}, &episode);
        NS_TEST_ASSERT_MSG_EQ(episode.nRounds, plan.size(), "rounds");
        NS_TEST_ASSERT_MSG_EQ(episode.rewards.size(), plan.size(), "a reward for each round");
        NS_TEST_ASSERT_MSG_EQ(episode.rows[static_cast<std::size_t>(PolicyHead::VALUE)].size(),
                              plan.size() * GetPolicyFeatures(PolicyHead::VALUE).size(),
                              "a row of the critic for each round");
        NS_TEST_ASSERT_MSG_GT(episode.selectedShare, 0, "selected");
        NS_TEST_ASSERT_MSG_LT_OR_EQ(episode.selectedShare, 1, "selected");
        std::set<PolicyHead> heads;
        for (const Decision& decision : episode.decisions)
        {
            heads.insert(decision.head);
            NS_TEST_ASSERT_MSG_LT(decision.round, plan.size(), "round");
            NS_TEST_ASSERT_MSG_EQ_TOL(std::exp(decision.logProbability),
                                      FindProbability(decision, episode, weights),
                                      1e-5,
                                      "probability");
        }
        NS_TEST_ASSERT_MSG_EQ(heads.size(), 4, "decisions of both policies");
        CheckGivenUp(problem, weights);
    }

    double FindProbability(const Decision& decision,
                           const Episode& episode,
                           const PolicyWeights& weights)
    {
        const PerceptronWeights& head = weights.Get(decision.head);
        const float* rows = episode.rows[static_cast<std::size_t>(decision.head)].data() +
                            decision.firstRow * head.nInputs;
        std::vector<float> scores(decision.nRows);
        head.Score(rows, decision.nRows, scores.data());
        if (decision.head == PolicyHead::TREE)
        {
            const double yes = 1 / (1 + std::exp(-scores[0]));
            return decision.choice == 1 ? yes : 1 - yes;
        }
        double sum = 0;
        for (const float score : scores)
        {
            sum += std::exp(score);
        }
        return std::exp(scores[decision.choice]) / sum;
    }

    void CheckGivenUp(const PlanningProblem& problem, const PolicyWeights& weights)
    {
        PlanningEnvironment environment(problem);
        RolloutOptions options;
        options.mostRounds = 3;
        Episode episode;
        const auto plan = RunRollout(environment, weights, options, {}, &episode);
        NS_TEST_ASSERT_MSG_EQ(plan.empty(), true, "a plan that is given up is none");
        NS_TEST_ASSERT_MSG_EQ(episode.nRounds, 3, "but training learns of it");
        NS_TEST_ASSERT_MSG_EQ(episode.rewards.size(), 3, "with its rewards");
    }
};

/// @brief Users find in the manual what the policies see.
class ManualTestCase : public TestCase
{
  public:
    ManualTestCase()
        : TestCase("the manual lists the features of every network, and no others")
    {
    }

  private:
    void DoRun() override
    {
        for (const PolicyHead head : POLICY_HEADS)
        {
            const std::string name = GetPolicyHeadName(head);
            const std::set<std::string> listed = ReadFeatures(name);
            for (const std::string& feature : GetPolicyFeatures(head))
            {
                NS_TEST_EXPECT_MSG_EQ(listed.count(feature),
                                      1,
                                      "not in the manual, under " << name << ": " << feature);
            }
            NS_TEST_EXPECT_MSG_EQ(listed.size(), GetPolicyFeatures(head).size(), name);
        }
    }

    /// @return what the manual lists under the head of a network @param name the network's
    std::set<std::string> ReadFeatures(const std::string& name)
    {
        std::ifstream in(std::string(NS_TEST_SOURCEDIR) + "/../doc/allreduce-policies.rst");
        std::set<std::string> features;
        bool isBelowHead = false;
        for (std::string line; std::getline(in, line);)
        {
            const bool isFeature = line.rfind("    ", 0) == 0;
            if (isFeature && isBelowHead)
            {
                features.insert(line.substr(4));
            }
            else if (!isFeature)
            {
                isBelowHead = line.rfind("  " + name + ": ", 0) == 0;
            }
        }
        return features;
    }
};

/// @ingroup allreduce-tests
/// @brief What the two policies see and do, and what training learns of it.
class PolicyTestSuite : public TestSuite
{
  public:
    PolicyTestSuite()
        : TestSuite("allreduce-policy", TestSuite::Type::UNIT)
    {
        AddTestCase(new RestTestCase, EXTENSIVE);
        AddTestCase(new FeaturesTestCase, EXTENSIVE);
        AddTestCase(new PolicyDeterminismTestCase);
        AddTestCase(new EpisodeTestCase);
        AddTestCase(new ManualTestCase);
    }
};

PolicyTestSuite g_policyTestSuite; //!< registers the suite

} // namespace
