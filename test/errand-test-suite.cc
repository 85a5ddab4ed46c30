/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/errand-list.h"
#include "ns3/hop-table.h"
#include "ns3/server-hops.h"
#include "ns3/shortest-path-broadcast.h"
#include "ns3/test.h"
#include "ns3/topology-metrics.h"

#include <set>
#include <tuple>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

const PreferredPaths NO_PREFERENCE;

std::vector<Topology>
MakeNetworks()
{
    TestRandom random(7);
    return MakeFamiliesAndRandom(random, 20);
}

/// A way between servers: hops that follow each other, as few as there can be.
class WayTestCase : public TestCase
{
  public:
    WayTestCase()
        : TestCase("ways are chains of hops, as short as possible, over paths with room")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeNetworks())
        {
            HopTable hops(topology, NO_PREFERENCE);
            for (NodeId to = 0; to < topology.GetNServers(); ++to)
            {
                const std::vector<uint32_t> nHops = ComputeServerHops(topology, {to});
                for (NodeId from = 0; from < topology.GetNServers(); ++from)
                {
                    if (from != to)
                    {
                        CheckWay(topology, hops, from, to, nHops[from]);
                    }
                }
            }
        }
    }

    void CheckWay(const Topology& topology, HopTable& hops, NodeId from, NodeId to, uint32_t nHops)
    {
        std::vector<HopId> way;
        hops.AppendWay(from, to, way);
        NS_TEST_ASSERT_MSG_EQ(way.size(), nHops, topology.GetName() << " " << from << "-" << to);
        NodeId here = from;
        for (const HopId id : way)
        {
            NS_TEST_ASSERT_MSG_EQ(hops.Get(id).from, here, "hops follow each other");
            here = hops.Get(id).to;
            CheckPaths(topology, hops, id);
        }
        NS_TEST_ASSERT_MSG_EQ(here, to, "the way ends where it should");
    }

    /// Uses a hop until there is no room: each path has some, and none is left when it ends.
    void CheckPaths(const Topology& topology, HopTable& hops, HopId id)
    {
        const Hop hop = hops.Get(id);
        std::vector<NodeId> roots(topology.GetNDirectedLinks() * 4, hop.from);
        auto state = AllReduceState::MakeReduced(topology, roots);
        Path path;
        uint32_t nPaths = 0;
        for (; hops.FindPath(id, state, 0, path); ++nPaths)
        {
            NS_TEST_ASSERT_MSG_EQ(path.front(), hop.from, "begins at the sender");
            NS_TEST_ASSERT_MSG_EQ(path.back(), hop.to, "ends at the receiver");
            NS_TEST_ASSERT_MSG_EQ(path.size(), hop.nLinks + 1, "is a shortest one");
            Workload workload;
            workload.chunk = nPaths;
            workload.kind = WorkloadKind::BROADCAST;
            workload.path = {path.data(), path.data() + path.size()};
            NS_TEST_ASSERT_MSG_EQ(state.TryStart(workload), true, "has room");
        }
        NS_TEST_ASSERT_MSG_GT(nPaths, 0, "an empty network has room");
        SwitchPathSearch search(topology);
        NS_TEST_ASSERT_MSG_EQ(FindFreePath(search, state, hop.from, hop.to, hop.nLinks, path),
                              false,
                              "nothing was overlooked");
    }
};

/// Each server sends its share of each chunk once, and gets the sum once.
class ErrandListTestCase : public TestCase
{
  public:
    ErrandListTestCase()
        : TestCase("two errands for each chunk and server, in any order each once")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeNetworks())
        {
            const uint32_t nServers = topology.GetNServers();
            const AllReduceState state(topology, MakeRoots(nServers, 2));
            std::vector<FlowTree> trees;
            for (const NodeId root : state.GetRoots())
            {
                const std::vector<NodeId> parents(nServers, root);
                trees.push_back({parents, parents, true});
            }
            const ErrandList errands(state, trees, NO_PREFERENCE);
            NS_TEST_ASSERT_MSG_EQ(errands.GetSize(), 2 * 2 * nServers * (nServers - 1), "number");
            CheckEnds(state, errands);
            for (const bool isLongestFirst : {false, true})
            {
                for (const uint64_t seed : {0, 5})
                {
                    const auto order = errands.Sort({false, isLongestFirst, 0, seed});
                    const std::set<ErrandId> all(order.begin(), order.end());
                    NS_TEST_ASSERT_MSG_EQ(all.size(), errands.GetSize(), "each errand once");
                }
            }
        }
    }

    void CheckEnds(const AllReduceState& state, const ErrandList& errands)
    {
        std::set<std::tuple<ChunkId, WorkloadKind, NodeId>> seen;
        for (ErrandId id = 0; id < errands.GetSize(); ++id)
        {
            const Errand errand = errands.Get(id);
            const NodeId root = state.GetRoots()[errand.chunk];
            const NodeId begin = errands.GetHop(errand.firstHop).from;
            const NodeId end = errands.GetEnd(errand);
            const bool isReduce = errand.kind == WorkloadKind::REDUCE;
            const NodeId server = isReduce ? begin : end;
            NS_TEST_ASSERT_MSG_EQ((isReduce ? end : begin), root, "the tree is a star");
            NS_TEST_ASSERT_MSG_EQ(seen.emplace(errand.chunk, errand.kind, server).second,
                                  true,
                                  "each server once");
            if (isReduce)
            {
                NS_TEST_ASSERT_MSG_EQ(errands.GetReduce(errand.chunk, server), id, "is found");
            }
        }
    }
};

/// A broadcast along shortest paths: everybody gets each chunk once, from somebody closer.
class ShortestPathTestCase : public TestCase
{
  public:
    ShortestPathTestCase()
        : TestCase("shortest-path trees: from somebody closer, or with a detour not farther")
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : MakeNetworks())
        {
            for (const uint32_t detour : {0, 1})
            {
                for (const bool isNearestFirst : {false, true})
                {
                    Check(topology, detour, isNearestFirst);
                }
            }
        }
    }

    void Check(const Topology& topology, uint32_t detour, bool isNearestFirst)
    {
        const AllReduceState state(topology, MakeRoots(topology.GetNServers(), 2));
        const auto rounds = ShortestPathBroadcast(state, 3, detour, isNearestFirst).Run();
        auto replay = AllReduceState::MakeReduced(topology, state.GetRoots());
        for (const WorkloadList& round : rounds)
        {
            NS_TEST_ASSERT_MSG_EQ(round.IsEmpty(), false, "no round is idle");
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const Workload workload = round.Get(i);
                const auto distances = ComputeDistances(topology, state.GetRoots()[workload.chunk]);
                const uint32_t sender = distances[*workload.path.begin()];
                const uint32_t receiver = distances[*(workload.path.end() - 1)];
                NS_TEST_ASSERT_MSG_LT(sender, receiver + (detour > 0), topology.GetName());
                NS_TEST_ASSERT_MSG_EQ(replay.TryStart(workload), true, "is legal");
            }
            replay.EndRound();
        }
        NS_TEST_ASSERT_MSG_EQ(replay.IsDone(), true, "everybody has everything");
    }
};

/// @brief Errands along flow-trees, their hops, and trees that grow with the schedule.
class ErrandTestSuite : public TestSuite
{
  public:
    ErrandTestSuite()
        : TestSuite("allreduce-errands", UNIT)
    {
        AddTestCase(new WayTestCase);
        AddTestCase(new ErrandListTestCase);
        AddTestCase(new ShortestPathTestCase);
    }
};

ErrandTestSuite g_errandTestSuite; //!< registers the suite

} // namespace
