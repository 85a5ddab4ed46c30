/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "evaluation-networks.h"
#include "random-network.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/plan-search.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/timetable.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Looks at so many places: a few milliseconds.
constexpr uint64_t LITTLE_EFFORT = 300'000;

/// @return the plan of a scheduler
std::vector<WorkloadList>
MakePlan(const std::string& scheduler, const Topology& topology, const std::vector<NodeId>& roots)
{
    return Plan(*CreateScheduler(scheduler), AllReduceState(topology, roots)).rounds;
}

/// @return networks of all kinds
std::vector<Topology>
MakeNetworks()
{
    std::vector<Topology> networks;
    for (uint64_t seed = 1; seed <= 30; ++seed)
    {
        networks.push_back(DrawNetwork(seed, 12));
    }
    for (const char* spec : {"bcube:3,1", "dcell:3,1", "jellyfish:10,3,2", "fattree:4"})
    {
        networks.push_back(Degrade(ParseTopology(spec), 0.1, 3));
        networks.push_back(MixCapacity(ParseTopology(spec), 0.3, 3));
    }
    return networks;
}

/// @brief Plans become timetables and plans again.
class PlanTimetableTestCase : public TestCase
{
  public:
    PlanTimetableTestCase()
        : TestCase("a plan that became a timetable, also mirrored twice, is a plan as before")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeNetworks())
        {
            const auto roots = MakeRoots(topology.GetNServers(), 2);
            const auto rounds = MakePlan("forest", topology, roots);
            PathIndex paths(topology);
            std::vector<DeliveryId> order;
            Timetable plan = MakeTimetable(topology, roots.size(), rounds, paths, order);
            const auto again = MakeRounds(plan, topology.GetNServers(), paths);
            Mirror(plan);
            Mirror(plan);
            const bool isSame = AreEqual(again, MakeRounds(plan, topology.GetNServers(), paths));
            NS_TEST_EXPECT_MSG_EQ(isSame, true, "mirrored twice: " << topology.GetName());
            NS_TEST_EXPECT_MSG_EQ(again.size(), rounds.size(), "as many rounds");
            const Verdict verdict = Verify(topology, {roots, again});
            NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, verdict.reason);
        }
    }
};

/// @brief What is found is a plan, no longer than before, and the same for the same seed.
class FoundPlansTestCase : public TestCase
{
  public:
    FoundPlansTestCase()
        : TestCase("found plans are correct, never longer, and the same for the same seed")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeNetworks())
        {
            for (const uint32_t chunksPerServer : {1, 2, 5})
            {
                const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
                Check(topology, roots, MakePlan("forest", topology, roots));
                Check(topology, roots, MakePlan("greedy", topology, roots));
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nShortened, 20, "plans that became shorter");
    }

    void Check(const Topology& topology,
               const std::vector<NodeId>& roots,
               const std::vector<WorkloadList>& rounds)
    {
        const uint32_t bound = ComputeLowerBounds(topology, roots).GetBest().rounds;
        const auto found = ShortenBySearch(topology, roots, rounds, bound, LITTLE_EFFORT, 7);
        const Verdict verdict = Verify(topology, {roots, found});
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, topology.GetName() << verdict.reason);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(found.size(), rounds.size(), topology.GetName());
        const auto again = ShortenBySearch(topology, roots, rounds, bound, LITTLE_EFFORT, 7);
        NS_TEST_EXPECT_MSG_EQ(AreEqual(found, again), true, "same seed, same plan");
        m_nShortened += found.size() < rounds.size();
    }

    uint32_t m_nShortened{0}; //!< plans that became shorter
};

/// @brief What a search cannot or need not improve comes back as it is.
class UntouchedPlansTestCase : public TestCase
{
  public:
    UntouchedPlansTestCase()
        : TestCase("plans at the bound, without effort or with relayed sums come back unchanged")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = Degrade(ParseTopology("bcube:3,1"), 0.1, 3);
        const auto roots = MakeRoots(topology.GetNServers(), 2);
        const auto rounds = MakePlan("greedy", topology, roots);
        const auto search = [&](const auto& plan, uint32_t enough, uint64_t effort) {
            return ShortenBySearch(topology, roots, plan, enough, effort);
        };
        const uint32_t nRounds = rounds.size();
        const bool isSameAtBound = AreEqual(search(rounds, nRounds, LITTLE_EFFORT), rounds);
        NS_TEST_EXPECT_MSG_EQ(isSameAtBound, true, "a plan at the bound");
        NS_TEST_EXPECT_MSG_EQ(AreEqual(search(rounds, 1, 0), rounds), true, "no effort");

        auto relaying = rounds;
        const Workload first = rounds.front().Get(0);
        relaying.front().Clear();
        relaying.front().Add(first.chunk,
                             first.kind,
                             {first.path.begin(), first.path.end()},
                             {first.GetSource()});
        const bool isSame = AreEqual(search(relaying, 1, LITTLE_EFFORT), relaying);
        NS_TEST_EXPECT_MSG_EQ(isSame, true, "a plan that relays sums");
    }
};

/// @brief Networks for which short plans are known get plans that any seed finds.
class NamedNetworksTestCase : public TestCase
{
  public:
    NamedNetworksTestCase()
        : TestCase("hrl with the search plans at most 21, 31, 38 and 52 rounds")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(GetError([this] { CheckAll(); }), "", "there are policies");
    }

    void CheckAll()
    {
        const uint32_t most[] = {21, 31, 38, 52};
        const std::vector<EvaluationCase> cases = MakeNamedCases();
        NS_TEST_ASSERT_MSG_EQ(cases.size(), 4, "named networks");
        for (std::size_t i = 0; i < cases.size(); ++i)
        {
            const Topology& topology = cases[i].topology;
            const auto roots = MakeRoots(topology.GetNServers(), cases[i].chunksPerServer);
            const auto rounds = MakePlan("hrl", topology, roots);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(rounds.size(), most[i], topology.GetName());
        }
    }
};

/// @brief The attribute of forest.
class ForestAttributeTestCase : public TestCase
{
  public:
    ForestAttributeTestCase()
        : TestCase("forest plans shorter with a search")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = Degrade(ParseTopology("bcube:4,1"), 0.05, 3);
        const AllReduceState state(topology, MakeRoots(topology.GetNServers(), 2));
        const auto forest = CreateScheduler("forest");
        const auto without = Plan(*forest, state);
        forest->SetAttribute("SearchEffort", UintegerValue(DEFAULT_SEARCH_EFFORT));
        const auto with = Plan(*forest, state);
        NS_TEST_EXPECT_MSG_LT(with.rounds.size(), without.rounds.size(), "rounds");
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, with).reason, "", "a correct plan");
    }
};

/// @brief The suite.
class PlanSearchTestSuite : public TestSuite
{
  public:
    PlanSearchTestSuite()
        : TestSuite("allreduce-plan-search", TestSuite::Type::UNIT)
    {
        AddTestCase(new PlanTimetableTestCase);
        AddTestCase(new FoundPlansTestCase, EXTENSIVE);
        AddTestCase(new UntouchedPlansTestCase);
        AddTestCase(new NamedNetworksTestCase, EXTENSIVE);
        AddTestCase(new ForestAttributeTestCase);
    }
};

PlanSearchTestSuite g_planSearchTestSuite; //!< registers the suite

} // namespace
