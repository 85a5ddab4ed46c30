/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/broadcast-environment.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/rack-supply.h"
#include "ns3/schedule-verifier.h"
#include "ns3/staggered-plan.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/training-problems.h"

#include <algorithm>
#include <random>
#include <set>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return an AllReduce at its beginning
AllReduceState
MakeState(const Topology& topology, uint32_t chunksPerServer)
{
    return AllReduceState(topology, MakeRoots(topology.GetNServers(), chunksPerServer));
}

/// @return a BCube in which one server lost a port
Topology
MakeLopsidedNetwork()
{
    const Topology whole = ParseTopology("bcube:4,1");
    std::vector<Link> links = whole.GetLinks();
    links.erase(links.begin());
    return whole.WithLinks("lopsided", links);
}

/// Racks are switches with servers that have no other neighbor.
class RackSupplyTestCase : public TestCase
{
  public:
    RackSupplyTestCase()
        : TestCase(
              "A rack's slack is what its links can still bring in beyond what is wanted there")
    {
    }

  private:
    void DoRun() override
    {
        CheckTwoRacks();
        CheckAgainstSets();
    }

    /// Servers 0 and 1 at switch 3, server 2 at switch 4, one link between the switches.
    void CheckTwoRacks()
    {
        const Topology topology("racks", 3, 2, {{0, 3}, {1, 3}, {2, 4}, {3, 4}});
        const std::vector<uint32_t> capacity(topology.GetNDirectedLinks(), 1);
        RackSupply racks(topology, capacity, 3);
        for (NodeId server = 0; server < 3; ++server)
        {
            racks.Bring(server, server);
        }
        for (NodeId server = 0; server < 3; ++server)
        {
            for (ChunkId chunk = 0; chunk < 3; ++chunk)
            {
                if (server != chunk)
                {
                    racks.Want(server, chunk);
                }
            }
        }
        NS_TEST_EXPECT_MSG_EQ(racks.AreTogether(0, 1), true, "the same switch");
        NS_TEST_EXPECT_MSG_EQ(racks.AreTogether(0, 2), false, "another switch");
        NS_TEST_EXPECT_MSG_EQ(racks.IsNew(0, 1), false, "the neighbor has it");
        NS_TEST_EXPECT_MSG_EQ(racks.IsNew(0, 2), true, "nobody in the rack has it");
        // One chunk must come into the first rack, two into the second, over one link each.
        NS_TEST_EXPECT_MSG_EQ(racks.CountSlack(1, capacity, 4), 1 + 4 - 1, "first rack");
        NS_TEST_EXPECT_MSG_EQ(racks.CountSlack(2, capacity, 4), 1 + 4 - 2, "second rack");
        racks.Bring(1, 2);
        NS_TEST_EXPECT_MSG_EQ(racks.IsNew(0, 2), false, "it has come in");
        NS_TEST_EXPECT_MSG_EQ(racks.CountSlack(0, capacity, 4), 1 + 4 - 0, "nothing more wanted");
    }

    void CheckAgainstSets()
    {
        std::mt19937_64 random(5);
        for (const char* spec : {"jellyfish:10,3,2", "jellyfish:7,4,3", "bcube:3,1", "dcell:3,1"})
        {
            const Topology topology = ParseTopology(spec);
            const uint32_t nServers = topology.GetNServers();
            const std::vector<uint32_t> capacity(topology.GetNDirectedLinks(), 1);
            RackSupply racks(topology, capacity, 1);
            std::set<NodeId> holders{0};
            racks.Bring(0, 0);
            for (NodeId server = 1; server < nServers; ++server)
            {
                racks.Want(server, 0);
            }
            while (holders.size() < nServers)
            {
                const NodeId next = random() % nServers;
                holders.insert(next);
                racks.Bring(next, 0);
                for (NodeId server = 0; server < nServers; ++server)
                {
                    const bool isNew = std::none_of(holders.begin(), holders.end(), [&](NodeId h) {
                        return IsInRackOf(topology, h, server);
                    });
                    NS_TEST_ASSERT_MSG_EQ(racks.IsNew(server, 0), isNew, spec);
                }
            }
        }
    }

    bool IsInRackOf(const Topology& topology, NodeId x, NodeId y)
    {
        const auto portsX = topology.GetPorts(x);
        const auto portsY = topology.GetPorts(y);
        return x == y || (portsX.size() == 1 && portsY.size() == 1 &&
                          portsX.begin()->neighbor == portsY.begin()->neighbor);
    }
};

/// What the upper policy has to say in a staggered broadcast.
class SelectionTestCase : public TestCase
{
  public:
    SelectionTestCase()
        : TestCase("A tree of a staggered broadcast is worked on from when it is selected")
    {
    }

  private:
    void DoRun() override
    {
        const TrainingProblem owned =
            MakeFullProblem(PlanMode::MIRRORED, ParseTopology("bcube:3,1"), 2);
        const auto& problem = std::get<BroadcastProblem>(owned.start);
        BroadcastEnvironment environment(problem, {}, true);
        environment.BeginRound();
        NS_TEST_ASSERT_MSG_EQ(environment.GetSelectableTrees().size(), 18, "none has begun");
        // The first chunk of each server before the second of any.
        NS_TEST_EXPECT_MSG_EQ(environment.GetSelectableTrees()[1], 2, "the next in turn");

        std::vector<bool> selected(18, false);
        selected[4] = true;
        const ChunkId begun = environment.GetSelectableTrees()[4];
        environment.SelectTrees(selected);
        NS_TEST_EXPECT_MSG_EQ((FindOffered(environment) == std::set<ChunkId>{begun}),
                              true,
                              "only this");
        PlayRound(environment);

        environment.BeginRound();
        NS_TEST_ASSERT_MSG_EQ(environment.GetSelectableTrees().size(), 17, "it has begun");
        environment.SelectTrees(std::vector<bool>(17, false));
        NS_TEST_EXPECT_MSG_EQ((FindOffered(environment) == std::set<ChunkId>{begun}),
                              true,
                              "what has begun goes on");
        PlayRound(environment);
        CheckThatItNeverStalls(environment);
    }

    /// Whoever selects nothing gets the next tree in turn when there is nothing else to do.
    void CheckThatItNeverStalls(BroadcastEnvironment& environment)
    {
        uint32_t nRounds = 2;
        while (environment.GetNTransfersLeft() > 0)
        {
            environment.BeginRound();
            environment.SelectTrees(
                std::vector<bool>(environment.GetSelectableTrees().size(), false));
            NS_TEST_ASSERT_MSG_EQ(environment.GetOpenPorts().empty(), false, "something to do");
            PlayRound(environment);
            ++nRounds;
        }
        // Tree by tree: each needs two rounds at least on nine servers with two ports.
        NS_TEST_EXPECT_MSG_GT_OR_EQ(nRounds, 2 * 18, "one after another");
    }

    std::set<ChunkId> FindOffered(const BroadcastEnvironment& environment)
    {
        std::set<ChunkId> offered;
        std::vector<uint32_t> items;
        for (const uint32_t port : environment.GetOpenPorts())
        {
            for (const auto& sender : environment.GetSenders(port))
            {
                environment.FindItems(port, sender, 1000, items);
                offered.insert(items.begin(), items.end());
            }
        }
        return offered;
    }

    void PlayRound(BroadcastEnvironment& environment)
    {
        std::vector<uint32_t> items;
        WorkloadList round;
        while (!environment.GetOpenPorts().empty())
        {
            const uint32_t port = environment.GetOpenPorts()[0];
            const auto sender = environment.GetSenders(port)[0];
            environment.FindItems(port, sender, 1000, items);
            environment.Pick(port, sender, items[0], round);
        }
        environment.EndRound();
    }
};

/// Staggered plans are correct, whatever the weights and the rule.
class StaggeredPlanTestCase : public TestCase
{
  public:
    StaggeredPlanTestCase()
        : TestCase("Plans whose halves overlap are correct, from the beginning and from the middle")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:4,1", "dcell:3,1", "jellyfish:8,3,2", "torus:3x3"})
        {
            for (uint64_t seed = 1; seed <= 4; ++seed)
            {
                const Topology whole = ParseTopology(spec);
                const Topology topology =
                    seed % 2 == 0 ? Degrade(whole, 0.1, seed) : MixCapacity(whole, 0.3, seed);
                CheckFromBeginning(topology, seed);
                CheckFromMiddle(topology, seed);
            }
        }
    }

    RolloutOptions DrawOptions(uint64_t seed)
    {
        RolloutOptions options;
        options.seed = seed;
        options.mode = seed % 3 == 0 ? RolloutMode::RANDOM : RolloutMode::BEST;
        options.samplesTrees = seed % 3 == 1;
        if (seed % 3 == 2)
        {
            options.stagger = Stagger{0.2F, 0.8F};
        }
        return options;
    }

    void CheckFromBeginning(const Topology& topology, uint64_t seed)
    {
        const AllReduceState state = MakeState(topology, 1 + seed % 2);
        const PolicyWeights weights = PolicyWeights::MakeInitial(PlanMode::MIRRORED, seed);
        const auto plan = PlanStaggered(state, weights, DrawOptions(seed));
        const Verdict verdict = Verify(topology, {state.GetRoots(), plan});
        NS_TEST_ASSERT_MSG_EQ(verdict.reason, "", topology.GetName());
        const auto again = PlanStaggered(state, weights, DrawOptions(seed));
        NS_TEST_ASSERT_MSG_EQ(again.size(), plan.size(), "the same plan again");
    }

    /// Some reduces and broadcasts have been done, and a link goes down.
    void CheckFromMiddle(const Topology& topology, uint64_t seed)
    {
        AllReduceState state = MakeState(topology, 1);
        const PolicyWeights weights = PolicyWeights::MakeInitial(PlanMode::MIRRORED, seed);
        const auto plan = PlanStaggered(state, weights, DrawOptions(seed));
        Play(state, plan, plan.size() / 2);
        for (LinkId link = 0; link < topology.GetNLinks(); ++link)
        {
            AllReduceState broken = state;
            broken.SetLinkUp(link, false);
            try
            {
                const auto rest = PlanStaggered(broken, weights, DrawOptions(seed + 1));
                Play(broken, rest, rest.size());
                NS_TEST_ASSERT_MSG_EQ(broken.IsDone(), true, topology.GetName());
            }
            catch (const InputError&)
            {
                continue; // servers are cut off
            }
            return;
        }
    }

    void Play(AllReduceState& state, const std::vector<WorkloadList>& plan, std::size_t nRounds)
    {
        for (std::size_t round = 0; round < nRounds; ++round)
        {
            for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
            {
                const std::string fault = state.FindFault(plan[round].Get(i));
                NS_TEST_ASSERT_MSG_EQ(fault, "", "round " << round);
                state.Start(plan[round].Get(i));
            }
            state.EndRound();
        }
    }
};

/// What staggering is for.
class OverlapTestCase : public TestCase
{
  public:
    OverlapTestCase()
        : TestCase("Where a server lost a port, plans that overlap beat all that do not")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = MakeLopsidedNetwork();
        const AllReduceState state = MakeState(topology, 2);
        // Without overlap its one port has to receive 30 chunks, and to send as many before.
        constexpr uint32_t WITHOUT_OVERLAP = 60;
        const PolicyWeights weights = ReadCheckpoint(FindShippedCheckpoint(PlanMode::MIRRORED));
        const EpisodeRecord best = FindBestStagger(state, weights, 1);
        NS_TEST_EXPECT_MSG_LT(best.nRounds, WITHOUT_OVERLAP - 6, "the best of several");
        EpisodeRecord record;
        PlanStaggered(state, weights, {}, &record);
        NS_TEST_EXPECT_MSG_LT(record.nRounds, WITHOUT_OVERLAP - 6, "the shipped upper policy");
    }
};

/// @ingroup allreduce-test
class StaggeredPlanTestSuite : public TestSuite
{
  public:
    StaggeredPlanTestSuite()
        : TestSuite("allreduce-staggered-plan", TestSuite::Type::UNIT)
    {
        AddTestCase(new RackSupplyTestCase);
        AddTestCase(new SelectionTestCase);
        AddTestCase(new StaggeredPlanTestCase);
        AddTestCase(new OverlapTestCase);
    }
};

StaggeredPlanTestSuite g_staggeredPlanTestSuite; //!< registers the suite

} // namespace
