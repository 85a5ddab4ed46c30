/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/chunk-needs.h"
#include "ns3/contribution-ledger.h"
#include "ns3/forest-scheduler.h"
#include "ns3/remainder-planner.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// A collective that is stopped in the middle.
struct StoppedRun
{
    StoppedRun(const Topology& topology, const Collective& collective)
        : state(topology, collective),
          ledger(topology, collective)
    {
    }

    /// Carry out the first rounds of a plan, and some workloads of the next one.
    void Follow(const std::vector<WorkloadList>& plan, uint32_t nRounds, TestRandom& random)
    {
        for (uint32_t round = 0; round <= nRounds && round < plan.size(); ++round)
        {
            std::vector<ContributionLedger::EntryId> entries;
            for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
            {
                if (round < nRounds || Draw(random, 2) == 0)
                {
                    state.Start(plan[round].Get(i));
                    entries.push_back(ledger.Begin(plan[round].Get(i)));
                }
            }
            state.EndRound();
            for (const auto entry : entries)
            {
                ledger.End(entry);
            }
        }
    }

    /// Take random links down, as long as nobody is cut off.
    void BreakLinks(uint32_t tries, TestRandom& random)
    {
        for (uint32_t i = 0; i < tries; ++i)
        {
            const LinkId link = Draw(random, state.GetTopology().GetNLinks());
            state.SetLinkUp(link, false);
            state.SetLinkUp(link, !FindCutOff(state, false).empty());
            ledger.SetLinkUp(link, state.IsLinkUp(link));
        }
    }

    AllReduceState state;      //!< how far it has come
    ContributionLedger ledger; //!< the same
};

/// @return a run that is stopped anywhere
StoppedRun
StopAnywhere(const Topology& topology, const Collective& collective, TestRandom& random)
{
    StoppedRun run(topology, collective);
    const char* planner = Draw(random, 2) == 0 ? "greedy" : "forest";
    const auto plan = Plan(*CreateScheduler(planner), run.state).rounds;
    run.Follow(plan, Draw(random, plan.size()), random);
    run.BreakLinks(Draw(random, 4), random);
    return run;
}

/// @return an AllReduce of all servers, or several groups that do different things
Collective
DrawCollective(uint32_t nServers, TestRandom& random)
{
    constexpr CollectiveKind KINDS[] = {CollectiveKind::ALL_REDUCE,
                                        CollectiveKind::REDUCE_SCATTER,
                                        CollectiveKind::ALL_GATHER,
                                        CollectiveKind::BROADCAST,
                                        CollectiveKind::REDUCE};
    const uint32_t chunksPerServer = 1 + Draw(random, 3);
    if (nServers < 4 || Draw(random, 2) == 0)
    {
        return MakeRoots(nServers, chunksPerServer);
    }
    std::vector<Group> groups(2);
    for (NodeId server = 0; server < nServers; ++server)
    {
        if (server < 4 || Draw(random, 4) > 0)
        {
            groups[server % 2].servers.push_back(server);
        }
    }
    for (Group& group : groups)
    {
        group.kind = KINDS[Draw(random, std::size(KINDS))];
        group.root = group.servers.front();
    }
    return MakeCollective(groups, nServers, chunksPerServer, true);
}

/// @brief Remainders of everything that forests are planned for.
class RemainderProofTestCase : public TestCase
{
  public:
    RemainderProofTestCase()
        : TestCase("forests of any remainder are proven, and never longer than greedy's plan")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        uint32_t nGroups = 0;
        uint32_t nShorter = 0;
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology topology = DrawNetwork(i, 12);
            const Collective collective = DrawCollective(topology.GetNServers(), random);
            const StoppedRun run = StopAnywhere(topology, collective, random);
            const auto rounds = PlanRemainderByForest(run.state, i, 1 + i % 2);
            const Verdict verdict = Verify(run.ledger, MakeRoundRange(rounds), RoundsEnd::DONE);
            NS_TEST_EXPECT_MSG_EQ(verdict.reason, "", topology.GetName() << ", case " << i);
            const std::size_t nGreedy = PlanRemainderGreedily(run.state, i, 1).size();
            NS_TEST_EXPECT_MSG_LT_OR_EQ(rounds.size(), nGreedy, "case " << i);
            nGroups += !collective.IsOfAll();
            nShorter += rounds.size() < nGreedy;
        }
        NS_TEST_EXPECT_MSG_GT(nGroups, 50, "groups among them");
        NS_TEST_EXPECT_MSG_GT(nShorter, 30, "it is not greedy's plan");
        TestWithoutRelays();
    }

    /// Who may not relay does not, although it would be quicker.
    void TestWithoutRelays()
    {
        const Topology bcube = ParseTopology("bcube:3,1");
        const Group row{CollectiveKind::ALL_REDUCE, {0, 1, 2}, 0};
        TestRandom random(4);
        for (uint32_t i = 0; i < 20; ++i)
        {
            const Collective collective = MakeCollective({row}, bcube.GetNServers(), 4, false);
            const StoppedRun run = StopAnywhere(bcube, collective, random);
            const auto rounds = PlanRemainderByForest(run.state, i, 1);
            const Verdict verdict = Verify(run.ledger, MakeRoundRange(rounds), RoundsEnd::DONE);
            NS_TEST_EXPECT_MSG_EQ(verdict.reason, "", "case " << i);
        }
    }
};

/// @brief Remainders after links of uneven networks have broken.
class UnevenRemainderTestCase : public TestCase
{
  public:
    UnevenRemainderTestCase()
        : TestCase("on uneven networks remainders are clearly shorter than greedy's")
    {
    }

  private:
    void DoRun() override
    {
        std::size_t nForest = 0;
        std::size_t nGreedy = 0;
        TestRandom random(5);
        for (const char* spec : {"bcube:4,1", "dcell:4,1", "torus:4x4"})
        {
            for (uint64_t seed = 1; seed <= 2; ++seed)
            {
                for (const Topology& topology : {Degrade(ParseTopology(spec), 0.1, seed),
                                                 MixCapacity(ParseTopology(spec), 0.3, seed)})
                {
                    StoppedRun run(topology, MakeRoots(topology.GetNServers(), 2));
                    const auto plan = Plan(*CreateScheduler("forest"), run.state).rounds;
                    run.Follow(plan, plan.size() / 4, random);
                    run.BreakLinks(2, random);
                    nForest += PlanRemainderByForest(run.state, 1, 1).size();
                    nGreedy += PlanRemainderGreedily(run.state, 1, 1).size();
                }
            }
        }
        NS_TEST_EXPECT_MSG_LT(nForest, 0.9 * nGreedy, "rounds of all");
    }
};

/// @brief Who plans a remainder.
class RemainderPlannerTestCase : public TestCase
{
  public:
    RemainderPlannerTestCase()
        : TestCase("forest plans what is left itself, unless that would take minutes")
    {
    }

  private:
    void DoRun() override
    {
        NS_TEST_EXPECT_MSG_EQ(FindPlanner(100), "", "itself");
        NS_TEST_EXPECT_MSG_EQ(FindPlanner(1300), "greedy", "handed over");
    }

    /// @return who plans a reduce of two servers of a star, with as many chunks as servers
    static std::string FindPlanner(uint32_t nServers)
    {
        const Topology star = MakeTestStar(nServers);
        const Group pair{CollectiveKind::REDUCE, {0, 1}, 0};
        AllReduceState state(star, MakeCollective({pair}, nServers, nServers / 2, true));
        state.SetLinkUp(nServers - 1, false);
        const auto scheduler = CreateScheduler("forest");
        Plan(*scheduler, state);
        return scheduler->GetPlanner();
    }
};

/// @brief How forest plans what is left of a collective.
class ForestRemainderTestSuite : public TestSuite
{
  public:
    ForestRemainderTestSuite()
        : TestSuite("allreduce-forest-remainder", TestSuite::Type::UNIT)
    {
        AddTestCase(new RemainderProofTestCase);
        AddTestCase(new UnevenRemainderTestCase);
        AddTestCase(new RemainderPlannerTestCase);
    }
};

ForestRemainderTestSuite g_forestRemainderTestSuite; //!< registers the suite

} // namespace
