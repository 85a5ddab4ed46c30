/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/forest-packing.h"
#include "ns3/forest-timetable.h"
#include "ns3/link-prices.h"
#include "ns3/link-slots.h"
#include "ns3/path-matching.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return three servers in a row
Topology
MakePathOfThree()
{
    return Topology("path", 3, 0, {{0, 1}, {1, 2}});
}

/// @return the chunks in the order of their numbers
std::vector<ChunkId>
MakeOrder(std::size_t nChunks)
{
    std::vector<ChunkId> order(nChunks);
    std::iota(order.begin(), order.end(), 0);
    return order;
}

/// @return the plan of forest
AllReduceSchedule
PlanForest(const Topology& topology, uint32_t chunksPerServer, uint32_t samples = 1)
{
    const auto scheduler = CreateScheduler("forest");
    scheduler->SetAttribute("Samples", UintegerValue(samples));
    return Plan(*scheduler,
                AllReduceState(topology, MakeRoots(topology.GetNServers(), chunksPerServer)));
}

/// @return rounds that link prices prove
double
GetBound(const Topology& topology, uint32_t chunksPerServer)
{
    const PriceBound bound = FindLinkPrices(topology);
    const double nChunks = double{1} * topology.GetNServers() * chunksPerServer;
    return nChunks * bound.treePrice / bound.widthPrice;
}

/// @brief Rounds with room are found, also where links carry several workloads.
class LinkSlotsTestCase : public TestCase
{
  public:
    LinkSlotsTestCase()
        : TestCase("a path is sent on in the first round in which all its links have room")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology("slots", 3, 0, {{0, 1, 1}, {1, 2, 2}});
        LinkSlots slots(topology.GetCapacities());
        const DirectedLinkId narrow[] = {0};
        const DirectedLinkId wide[] = {2};
        const DirectedLinkId both[] = {0, 2};
        const auto find = [&](PathTable::Links links) { return slots.FindRound(links, 3); };
        const auto take = [&](PathTable::Links links, uint32_t round) { slots.Take(links, round); };
        take({wide, wide + 1}, 3);
        NS_TEST_EXPECT_MSG_EQ(find({both, both + 2}), 3, "a wide link has room for one more");
        take({wide, wide + 1}, 3);
        NS_TEST_EXPECT_MSG_EQ(find({both, both + 2}), 4, "and not for a third one");
        NS_TEST_EXPECT_MSG_EQ(find({narrow, narrow + 1}), 3, "other links are not touched");
        for (uint32_t round = 0; round < 200; ++round)
        {
            take({narrow, narrow + 1}, round);
        }
        NS_TEST_EXPECT_MSG_EQ(find({both, both + 2}), 200, "the narrow link is full till then");
        const DirectedLinkId back[] = {1};
        NS_TEST_EXPECT_MSG_EQ(find({back, back + 1}), 3, "its other direction is not");
        slots.Clear();
        NS_TEST_EXPECT_MSG_EQ(find({both, both + 2}), 3, "all is free again");
    }
};

/// @brief Every chunk has a spanning tree towards its root, and the load is what is said.
class PackingTestCase : public TestCase
{
  public:
    PackingTestCase()
        : TestCase("each chunk has a spanning tree rooted at its root, no link is much too busy")
    {
    }

  private:
    void DoRun() override
    {
        for (uint64_t seed = 1; seed <= 30; ++seed)
        {
            Check(DrawNetwork(seed, 12), 16);
        }
        for (const char* spec : {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "fattree:4"})
        {
            for (uint64_t seed = 1; seed <= 3; ++seed)
            {
                Check(Degrade(ParseTopology(spec), 0.1, seed), 16);
                Check(MixCapacity(ParseTopology(spec), 0.3, seed), 16);
            }
        }
    }

    void Check(const Topology& topology, uint32_t chunksPerServer)
    {
        const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
        const Forest forest = PackForest(topology, roots, MakeOrder(roots.size()));
        std::vector<double> load(topology.GetNDirectedLinks(), 0);
        for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
        {
            AddTree(topology, forest, chunk, roots[chunk], load);
        }
        double most = 0;
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            most = std::max(most, (load[link] + load[Reverse(link)]) / topology.GetCapacity(link));
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(forest.load, most, 1e-6, "load on " << topology.GetName());
        NS_TEST_EXPECT_MSG_LT(most,
                              1.05 * GetBound(topology, chunksPerServer) + 2,
                              "the busiest link of " << topology.GetName());
    }

    /// Check a tree, and count its paths towards the root.
    void AddTree(const Topology& topology,
                 const Forest& forest,
                 ChunkId chunk,
                 NodeId root,
                 std::vector<double>& load)
    {
        const PathId* toParent = &forest.toParent[UP][chunk * topology.GetNServers()];
        Path nodes;
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            NodeId above = server;
            for (uint32_t i = 0; i < topology.GetNServers() && above != root; ++i)
            {
                above = forest.paths.GetTarget(toParent[above]);
            }
            NS_TEST_ASSERT_MSG_EQ(above, root, "who follows the parents comes to the root");
            if (server == root)
            {
                continue;
            }
            forest.paths.GetNodes(toParent[server], nodes);
            topology.CheckPath(nodes);
            NS_TEST_ASSERT_MSG_EQ(nodes.front(), server, "a path begins at its server");
            NS_TEST_ASSERT_MSG_EQ(std::count_if(nodes.begin(),
                                                nodes.end(),
                                                [&](NodeId n) { return topology.IsServer(n); }),
                                  2,
                                  "and passes switches only");
            for (const DirectedLinkId link : forest.paths.GetLinks(toParent[server]))
            {
                ++load[link];
            }
        }
    }
};

/// @brief In large networks chunks share trees.
class SharedTreesTestCase : public TestCase
{
  public:
    SharedTreesTestCase()
        : TestCase("chunks that share a tree have roots of their own")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:20,1");
        const uint32_t nServers = topology.GetNServers();
        const auto roots = MakeRoots(nServers, 3);
        const Forest forest = PackForest(topology, roots, MakeOrder(roots.size()));
        NS_TEST_EXPECT_MSG_LT(forest.paths.GetSize(),
                              2 * roots.size() * (nServers - 1),
                              "there are fewer trees than chunks");
        for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
        {
            for (NodeId server = 0; server < nServers; ++server)
            {
                NodeId above = server;
                for (uint32_t i = 0; i < nServers && above != roots[chunk]; ++i)
                {
                    above = forest.paths.GetTarget(forest.toParent[UP][chunk * nServers + above]);
                }
                NS_TEST_ASSERT_MSG_EQ(above, roots[chunk], "the root of chunk " << chunk);
            }
        }
    }
};

/// @brief At a switch, as many servers send at once as possible.
class PathMatchingTestCase : public TestCase
{
  public:
    PathMatchingTestCase()
        : TestCase("a round uses as many links of a switch as any matching does")
    {
    }

  private:
    static constexpr NodeId N_SERVERS = 4;

    void DoRun() override
    {
        const Topology star("star", N_SERVERS, 1, {{0, 4}, {1, 4}, {2, 4}, {3, 4}});
        PathTable paths(star);
        for (NodeId source = 0; source < N_SERVERS; ++source)
        {
            for (NodeId target = 0; target < N_SERVERS; ++target)
            {
                paths.Add({*star.FindDirectedLink(source, 4), *star.FindDirectedLink(4, target)});
            }
        }
        PathMatching matching(star, paths);
        const std::vector<double> load(2 * star.GetNLinks(), 1);
        std::mt19937_64 random(1);
        for (uint32_t i = 0; i < 2000; ++i)
        {
            std::vector<uint32_t> order;
            std::vector<uint32_t> nWaiting(paths.GetSize() / 2, 0);
            for (uint32_t path = 0; path < nWaiting.size(); ++path)
            {
                if (path / N_SERVERS != path % N_SERVERS && random() % 3 == 0)
                {
                    nWaiting[path] = 1 + random() % 2;
                    order.push_back(path);
                }
            }
            std::shuffle(order.begin(), order.end(), random);
            const std::vector<uint32_t>& chosen = matching.Choose(order, nWaiting, load);
            CheckLinks(chosen, nWaiting);
            NS_TEST_ASSERT_MSG_EQ(std::accumulate(chosen.begin(), chosen.end(), 0u),
                                  FindMost(nWaiting, 0, 0),
                                  "workloads in case " << i);
        }
    }

    /// Each server sends once and receives once at most, and what is sent has waited.
    void CheckLinks(const std::vector<uint32_t>& chosen, const std::vector<uint32_t>& nWaiting)
    {
        std::vector<uint32_t> nSent(N_SERVERS, 0);
        std::vector<uint32_t> nReceived(N_SERVERS, 0);
        for (uint32_t path = 0; path < chosen.size(); ++path)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(chosen[path], nWaiting[path], "path " << path);
            nSent[path / N_SERVERS] += chosen[path];
            nReceived[path % N_SERVERS] += chosen[path];
        }
        for (NodeId server = 0; server < N_SERVERS; ++server)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(nSent[server], 1, "from server " << server);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(nReceived[server], 1, "to server " << server);
        }
    }

    /// @return the size of the largest matching, by trying all. @param taken targets, as bits
    static uint32_t FindMost(const std::vector<uint32_t>& nWaiting, NodeId source, uint32_t taken)
    {
        if (source == N_SERVERS)
        {
            return 0;
        }
        uint32_t most = FindMost(nWaiting, source + 1, taken);
        for (NodeId target = 0; target < N_SERVERS; ++target)
        {
            if (nWaiting[source * N_SERVERS + target] > 0 && (taken >> target & 1) == 0)
            {
                most = std::max(most, 1 + FindMost(nWaiting, source + 1, taken | 1 << target));
            }
        }
        return most;
    }
};

/// @brief Timetables are correct plans, before and after they are pushed together.
class TimetableTestCase : public TestCase
{
  public:
    TimetableTestCase()
        : TestCase(
              "a timetable is a correct plan and never gets longer when it is pushed together or "
              "its links are matched")
    {
    }

  private:
    void DoRun() override
    {
        for (uint64_t seed = 1; seed <= 30; ++seed)
        {
            Check(DrawNetwork(seed, 10), 1 + seed % 4, 1 + seed % 5);
        }
        Check(ParseTopology("fattree:4"), 2, 4);
    }

    void Check(const Topology& topology, uint32_t chunksPerServer, uint32_t lag)
    {
        const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
        const auto order = MakeOrder(roots.size());
        const Forest forest = PackForest(topology, roots, order);
        ForestTimetable timetable(topology, roots, order, forest, lag);
        for (const auto senders :
             {ForestTimetable::Senders::PARENT, ForestTimetable::Senders::ANYBODY})
        {
            const uint32_t nRounds = timetable.GetNRounds();
            Verify(topology, roots, timetable);
            timetable.PushTogether(senders);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(timetable.GetNRounds(), nRounds, topology.GetName());
        }
        Verify(topology, roots, timetable);

        ForestTimetable matched(topology, roots, order, forest, lag);
        const uint32_t nRounds = matched.GetNRounds();
        constexpr uint64_t ANY_WORK = UINT64_MAX;
        matched.MatchLinks(ANY_WORK);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(matched.GetNRounds(), nRounds, topology.GetName());
        Verify(topology, roots, matched);
    }

    void Verify(const Topology& topology,
                const std::vector<NodeId>& roots,
                const ForestTimetable& timetable)
    {
        const Verdict verdict = ns3::allreduce::Verify(topology, {roots, timetable.MakeRounds()});
        NS_TEST_EXPECT_MSG_EQ(verdict.reason, "", topology.GetName());
    }
};

/// @brief Plans that are known, and how near the bound they come.
class ForestPlanTestCase : public TestCase
{
  public:
    ForestPlanTestCase()
        : TestCase("reduce and broadcast overlap, and plans come near the bound")
    {
    }

  private:
    void DoRun() override
    {
        const Topology pair("pair", 2, 0, {{0, 1}});
        NS_TEST_EXPECT_MSG_EQ(PlanForest(pair, 1).rounds.size(), 2, "one up, one down");
        NS_TEST_EXPECT_MSG_EQ(PlanForest(pair, 8).rounds.size(), 16, "both directions are busy");

        // Without overlap a row of three takes 4/3 of the bound, however many chunks there are.
        NS_TEST_EXPECT_MSG_LT_OR_EQ(PlanForest(MakePathOfThree(), 16).rounds.size(),
                                    48 + 3,
                                    "48 rounds are needed, 64 without overlap");

        ExpectNear(Degrade(ParseTopology("bcube:4,1"), 0.05, 3), 16, 1.05);
        ExpectNear(Degrade(ParseTopology("bcube:3,2"), 0.05, 3), 24, 1.02);
        ExpectNear(Degrade(ParseTopology("dcell:4,1"), 0.05, 3), 16, 1.08);
        ExpectNear(MixCapacity(ParseTopology("jellyfish:10,3,2"), 0.3, 5), 8, 1.10);
        ExpectNear(ParseTopology("fattree:4"), 8, 1.06);
        ExpectNear(ParseTopology("bcube:8,1"), 2, 1.06);
    }

    void ExpectNear(const Topology& topology, uint32_t chunksPerServer, double ratio)
    {
        const AllReduceSchedule plan = PlanForest(topology, chunksPerServer);
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, plan).reason, "", topology.GetName());
        NS_TEST_EXPECT_MSG_LT_OR_EQ(plan.rounds.size(),
                                    ratio * GetBound(topology, chunksPerServer),
                                    "rounds on " << topology.GetName());
    }
};

/// @brief More samples do not make it worse; a network in two pieces is refused.
class ForestOptionsTestCase : public TestCase
{
  public:
    ForestOptionsTestCase()
        : TestCase("of several samples the shortest is taken, servers must be connected")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = Degrade(ParseTopology("dcell:3,1"), 0.1, 2);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(PlanForest(topology, 2, 8).rounds.size(),
                                    PlanForest(topology, 2, 1).rounds.size(),
                                    "eight samples have the first one among them");

        const Topology apart("apart", 4, 0, {{0, 1}, {2, 3}});
        std::string message;
        try
        {
            PlanForest(apart, 1);
        }
        catch (const InputError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_NE(message.find("cannot reach"), std::string::npos, message);
    }
};

/// @brief The suite.
class ForestTestSuite : public TestSuite
{
  public:
    ForestTestSuite()
        : TestSuite("allreduce-forest", TestSuite::Type::UNIT)
    {
        AddTestCase(new LinkSlotsTestCase);
        AddTestCase(new PackingTestCase);
        AddTestCase(new SharedTreesTestCase);
        AddTestCase(new PathMatchingTestCase);
        AddTestCase(new TimetableTestCase);
        AddTestCase(new ForestPlanTestCase, EXTENSIVE);
        AddTestCase(new ForestOptionsTestCase);
    }
};

ForestTestSuite g_forestTestSuite; //!< registers the suite

} // namespace
