/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/broadcast-environment.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/region-supply.h"
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

/// Regions are racks, and sides of links that are the only ones between them.
class RegionSupplyTestCase : public TestCase
{
  public:
    RegionSupplyTestCase()
        : TestCase("A region's slack is what its links can bring in beyond what is wanted there")
    {
    }

  private:
    void DoRun() override
    {
        CheckChain();
        CheckRack();
        CheckThatLoopsAreNoRegions();
    }

    /// Every server holds one chunk and wants all others.
    RegionSupply MakeSupply(const Topology& topology, const std::vector<uint32_t>& capacity)
    {
        const uint32_t nServers = topology.GetNServers();
        RegionSupply supply(topology, capacity, nServers);
        for (NodeId server = 0; server < nServers; ++server)
        {
            supply.Bring(server, server);
        }
        for (NodeId server = 0; server < nServers; ++server)
        {
            for (ChunkId chunk = 0; chunk < nServers; ++chunk)
            {
                if (server != chunk)
                {
                    supply.Want(server, chunk);
                }
            }
        }
        return supply;
    }

    /// Four switches in a row, a server at each.
    void CheckChain()
    {
        const Topology topology("chain",
                                4,
                                4,
                                {{0, 4}, {1, 5}, {2, 6}, {3, 7}, {4, 5}, {5, 6}, {6, 7}});
        const std::vector<uint32_t> capacity(topology.GetNDirectedLinks(), 1);
        RegionSupply supply = MakeSupply(topology, capacity);
        const RegionSupply::RoomLeft room{capacity, 4};
        // Into the last switch three chunks must come over one link in five rounds.
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(3, room), 5 - 3, "the last");
        // Into the last two, two chunks; the second has a link on either side.
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(1, 2, room), 5 - 2, "into the last two");
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(1, 3, room), 5 - 3, "into the last, too");
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(0, 1, room), 5 - 1, "into the last three");
        supply.Bring(2, 0);
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(1, 2, room), 5 - 1, "one has come in");
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(1, 3, 0, room), 5 - 3, "new to the last only");
        supply.Bring(3, 0);
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(1, 3, 0, room), RegionSupply::NO_LIMIT, "not new");
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(1, 3, 1, room), 5 - 2, "another is");
    }

    /// Servers 0 and 1 at switch 4, servers 2 and 3 at switch 5, two links between over switch 6.
    void CheckRack()
    {
        const Topology topology("racks",
                                4,
                                4,
                                {{0, 4}, {1, 4}, {2, 5}, {3, 5}, {4, 6}, {5, 6}, {4, 7}, {5, 7}});
        const std::vector<uint32_t> capacity(topology.GetNDirectedLinks(), 1);
        const RegionSupply supply = MakeSupply(topology, capacity);
        const RegionSupply::RoomLeft room{capacity, 3};
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(0, room), 2 * 4 - 2, "two links, two chunks");
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(0, 1, room), RegionSupply::NO_LIMIT, "inside");
        std::vector<uint32_t> free = capacity;
        free[*topology.FindDirectedLink(6, 4)] = 0;
        NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(2, 0, {free, 3}), 2 * 4 - 1 - 2, "a link is taken");
    }

    /// In a BCube every server is a region by itself, and there is no other.
    void CheckThatLoopsAreNoRegions()
    {
        const Topology topology = ParseTopology("bcube:3,1");
        const std::vector<uint32_t> capacity(topology.GetNDirectedLinks(), 1);
        const RegionSupply supply = MakeSupply(topology, capacity);
        for (NodeId sender = 0; sender < 9; ++sender)
        {
            for (NodeId receiver = 0; receiver < 9; ++receiver)
            {
                const int64_t expected = sender == receiver ? RegionSupply::NO_LIMIT : 2 * 5 - 8;
                NS_TEST_EXPECT_MSG_EQ(supply.CountSlack(sender, receiver, {capacity, 4}),
                                      expected,
                                      sender << " to " << receiver);
            }
        }
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

/// What goes on beside a broadcast, and chunks that are final late, cost it rounds.
class LimitsTestCase : public TestCase
{
  public:
    LimitsTestCase()
        : TestCase(
              "A server needs the rounds from when its last chunks are final, if links are free")
    {
    }

  private:
    void DoRun() override
    {
        // Every server wants two chunks, and gets one in a round.
        NS_TEST_EXPECT_MSG_EQ(CountRounds({}), 2, "no limits");
        NS_TEST_EXPECT_MSG_EQ(CountRounds({{4, 0, 0}, {}}), 5, "chunk 0 is final in round 4");
        NS_TEST_EXPECT_MSG_EQ(CountRounds({{4, 4, 0}, {}}), 6, "server 2 gets two from then on");
        NS_TEST_EXPECT_MSG_EQ(CountRounds({{4, 0, 0}, MakeTaken(4, 1)}), 6, "and not in round 4");
        NS_TEST_EXPECT_MSG_EQ(CountRounds({{4, 0, 0}, MakeTaken(3, 1)}), 5, "there was time");
        NS_TEST_EXPECT_MSG_EQ(CountRounds({{}, MakeTaken(0, 1)}), 3, "all are final");
        NS_TEST_EXPECT_MSG_EQ(FindLeastSlack({}), 0, "two rounds for two chunks");
        NS_TEST_EXPECT_MSG_EQ(FindLeastSlack({{4, 0, 0}, {}}), 0, "one round for chunk 0");
        NS_TEST_EXPECT_MSG_EQ(FindLeastSlack({{0, 0, 0}, MakeTaken(3, 1)}), 0, "over in time");
    }

    float FindLeastSlack(const BroadcastLimits& limits)
    {
        const TrainingProblem owned = MakeFullProblem(PlanMode::MIRRORED, m_topology, 1);
        BroadcastEnvironment environment(std::get<BroadcastProblem>(owned.start), limits);
        environment.BeginRound();
        const auto& names = GetPolicyFeatures(PlanMode::MIRRORED, PolicyHead::VALUE);
        const auto slack = std::find(names.begin(), names.end(), "least slack");
        return environment.MakeValueFeatures()[slack - names.begin()];
    }

    uint32_t CountRounds(const BroadcastLimits& limits)
    {
        const TrainingProblem owned = MakeFullProblem(PlanMode::MIRRORED, m_topology, 1);
        const auto& problem = std::get<BroadcastProblem>(owned.start);
        return BroadcastEnvironment(problem, limits).GetRoundsNeeded();
    }

    /// @return that others send to a server in a round
    std::vector<std::vector<uint32_t>> MakeTaken(uint32_t round, NodeId server)
    {
        const std::vector<uint32_t> nothing(m_topology.GetNDirectedLinks(), 0);
        std::vector<std::vector<uint32_t>> taken(round + 1, nothing);
        taken[round][*m_topology.FindDirectedLink(3, server)] = 1;
        return taken;
    }

    const Topology m_topology{"star", 3, 1, {{0, 3}, {1, 3}, {2, 3}}}; //!< one switch
};

/// What narrow servers are spared. The rules are checked with counts of the test's own.
class SparingTestCase : public TestCase
{
  public:
    SparingTestCase()
        : TestCase("While trees wait, narrow servers send what only they have or time demands")
    {
    }

  private:
    void DoRun() override
    {
        CheckTurns();
        for (const char* spec : {"bcube:4,1", "dcell:3,1", "jellyfish:8,3,2"})
        {
            for (uint64_t seed = 1; seed <= 6; ++seed)
            {
                m_random.seed(seed);
                PlayAll(MixCapacity(ParseTopology(spec), 0.3, seed));
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nUnique, 50, "narrow roots began their trees");
        NS_TEST_EXPECT_MSG_GT(m_nPressing, 50, "narrow servers helped out");
        NS_TEST_EXPECT_MSG_GT(m_nDirect, 50, "direct links were used");
    }

    /// Server 0 has one port less than others.
    void CheckTurns()
    {
        const TrainingProblem owned = MakeFullProblem(PlanMode::MIRRORED, MakeLopsidedNetwork(), 2);
        BroadcastEnvironment environment(std::get<BroadcastProblem>(owned.start), {}, true);
        environment.BeginRound();
        const std::vector<ChunkId> expected{0, 1, 2, 4, 6};
        const std::vector<ChunkId>& turns = environment.GetSelectableTrees();
        NS_TEST_EXPECT_MSG_EQ(
            std::equal(expected.begin(), expected.end(), turns.begin()),
            true,
            "both chunks of the narrow server, then the first ones of the others");
        const Stagger rule{0.5F, 1, 0.3F};
        NS_TEST_EXPECT_MSG_EQ(environment.IsDue(0, rule), true, "half of the narrow ones");
        NS_TEST_EXPECT_MSG_EQ(environment.IsDue(1, rule), false, "the other half");
        NS_TEST_EXPECT_MSG_EQ(environment.IsDue(2, rule), false, "wide");
    }

    void PlayAll(const Topology& topology)
    {
        const TrainingProblem owned = MakeFullProblem(PlanMode::MIRRORED, topology, 1);
        BroadcastEnvironment environment(std::get<BroadcastProblem>(owned.start), {}, true);
        const uint32_t nServers = topology.GetNServers();
        m_capacity.assign(nServers, 0);
        for (NodeId server = 0; server < nServers; ++server)
        {
            for (const Topology::Port& port : topology.GetPorts(server))
            {
                m_capacity[server] += topology.GetCapacity(port.out);
            }
        }
        m_nHolders.assign(nServers, 1);
        m_isIdle.assign(nServers, true);
        m_nMissing.assign(nServers, nServers - 1);
        m_target = environment.GetRoundsNeeded();
        for (m_round = 1; environment.GetNTransfersLeft() > 0; ++m_round)
        {
            PlayRound(environment);
        }
    }

    void PlayRound(BroadcastEnvironment& environment)
    {
        environment.BeginRound();
        std::vector<bool> selected(environment.GetSelectableTrees().size());
        for (std::size_t i = 0; i < selected.size(); ++i)
        {
            selected[i] = m_random() % 8 == 0;
            m_isIdle[environment.GetSelectableTrees()[i]] = !selected[i];
        }
        environment.SelectTrees(selected);
        const bool isWaiting = std::find(selected.begin(), selected.end(), false) != selected.end();
        // Slack is that of the beginning of the round; receiving in it does not change it.
        m_missingBefore = m_nMissing;
        WorkloadList round;
        PickAll(environment, isWaiting, round);
        while (environment.OfferMore())
        {
            PickAll(environment, isWaiting, round);
        }
        m_target = std::max(m_target, environment.EndRound().roundsNeeded);
    }

    void PickAll(BroadcastEnvironment& environment, bool isWaiting, WorkloadList& round)
    {
        std::vector<uint32_t> items;
        bool isHelpless = false;
        while (!environment.GetOpenPorts().empty())
        {
            const auto& ports = environment.GetOpenPorts();
            const uint32_t port = ports[m_random() % ports.size()];
            const auto& senders = environment.GetSenders(port);
            const auto sender = senders[m_random() % senders.size()];
            environment.FindItems(port, sender, 1000, items);
            NS_TEST_ASSERT_MSG_EQ(items.empty(), false, "a sender has something to send");
            environment.Pick(port, sender, items[m_random() % items.size()], round);
            const Workload workload = round.Get(round.GetSize() - 1);
            const bool isExcused = !IsNarrow(workload.GetSource()) || HasExcuse(workload);
            if (round.GetSize() == 1)
            {
                // There was nothing else, or a tree had to begin though it was not selected.
                isHelpless = !isExcused || m_isIdle[workload.chunk];
            }
            NS_TEST_ASSERT_MSG_EQ(!isWaiting || isExcused || isHelpless,
                                  true,
                                  workload.GetSource() << " to " << workload.GetTarget());
            m_isIdle[workload.chunk] = false;
            ++m_nHolders[workload.chunk];
            --m_nMissing[workload.GetTarget()];
        }
    }

    bool IsNarrow(NodeId server) const
    {
        return m_capacity[server] == *std::min_element(m_capacity.begin(), m_capacity.end());
    }

    /// @return whether a narrow server may send this though trees wait
    bool HasExcuse(const Workload& workload)
    {
        const NodeId target = workload.GetTarget();
        const bool isDirect = workload.path.size() == 2;
        const bool isUnique = m_nHolders[workload.chunk] == 1 && !IsNarrow(target);
        const bool isPressing =
            (m_target - m_round + 1) * m_capacity[target] <= m_missingBefore[target];
        m_nDirect += isDirect;
        m_nUnique += isUnique;
        m_nPressing += isPressing;
        return isDirect || isUnique || isPressing;
    }

    std::mt19937 m_random;                 //!< choices
    std::vector<uint32_t> m_capacity;      //!< by server
    std::vector<uint32_t> m_nHolders;      //!< by chunk
    std::vector<bool> m_isIdle;            //!< by chunk: its tree has not been selected
    std::vector<uint32_t> m_nMissing;      //!< by server: chunks
    std::vector<uint32_t> m_missingBefore; //!< the same at the beginning of the round
    uint32_t m_target{0};                  //!< rounds that the broadcast takes at least
    uint32_t m_round{0};                   //!< counted from 1
    uint32_t m_nUnique{0};                 //!< sent because nobody else had it
    uint32_t m_nPressing{0};               //!< sent because time pressed
    uint32_t m_nDirect{0};                 //!< sent over a direct link
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
            options.stagger = seed % 2 == 0 ? Stagger{0.2F, 0.8F} : Stagger{0.5F, 1, 0.4F};
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
        : TestCase("Where servers differ, plans that overlap beat all that do not")
    {
    }

  private:
    void DoRun() override
    {
        CheckNarrowServer();
        CheckWideServers();
    }

    /// The capacity of 7 of 20 servers is two. The others send 19 chunks and receive 19.
    void CheckWideServers()
    {
        const Topology topology = MixCapacity(ParseTopology("jellyfish:20,4,1"), 0.3, 1);
        const AllReduceState state = MakeState(topology, 1);
        constexpr uint32_t WITHOUT_OVERLAP = 38;
        const PolicyWeights weights = ReadCheckpoint(FindShippedCheckpoint(PlanMode::MIRRORED));
        const auto plan = PlanStaggered(state, weights, {});
        NS_TEST_EXPECT_MSG_LT(plan.size(), WITHOUT_OVERLAP - 2, "the shipped policies");
    }

    void CheckNarrowServer()
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
        AddTestCase(new RegionSupplyTestCase);
        AddTestCase(new SelectionTestCase);
        AddTestCase(new LimitsTestCase);
        AddTestCase(new SparingTestCase);
        AddTestCase(new StaggeredPlanTestCase);
        AddTestCase(new OverlapTestCase);
    }
};

StaggeredPlanTestSuite g_staggeredPlanTestSuite; //!< registers the suite

} // namespace
