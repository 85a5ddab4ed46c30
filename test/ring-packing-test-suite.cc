/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/ring-order.h"
#include "ns3/ring-packing.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-racks.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

constexpr uint32_t ANY_NUMBER = std::numeric_limits<uint32_t>::max();

/// @return what is wrong with a path from one server to another; adds it to the links' use
std::string
FindPathFlaw(const Topology& topology,
             const Path& path,
             NodeId from,
             NodeId to,
             std::vector<uint32_t>& used)
{
    if (path.size() < 2 || path.front() != from || path.back() != to)
    {
        return "a path joins other servers";
    }
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        const auto link = topology.FindDirectedLink(path[i], path[i + 1]);
        if (!link || (i > 0 && topology.IsServer(path[i])))
        {
            return "there is no path " + FormatPath(path);
        }
        if (++used[*link] > topology.GetCapacity(*link))
        {
            return "a link is over capacity on " + FormatPath(path);
        }
    }
    return "";
}

/// @return whether a ring passes every server once
bool
PassesAll(const Topology& topology, const Ring& ring)
{
    std::vector<NodeId> all(topology.GetNServers());
    std::iota(all.begin(), all.end(), 0);
    return std::is_permutation(all.begin(), all.end(), ring.order.begin(), ring.order.end()) &&
           ring.paths.size() == all.size();
}

/// @return what is wrong with rings that should be Hamiltonian and share no link; "" if nothing is
std::string
FindFlaw(const Topology& topology, const std::vector<Ring>& rings)
{
    std::vector<uint32_t> used(topology.GetNDirectedLinks(), 0);
    for (const Ring& ring : rings)
    {
        if (!PassesAll(topology, ring))
        {
            return "a ring does not pass every server once";
        }
        for (std::size_t i = 0; i < ring.order.size(); ++i)
        {
            const NodeId next = ring.order[(i + 1) % ring.order.size()];
            const std::string flaw =
                FindPathFlaw(topology, ring.paths[i], ring.order[i], next, used);
            if (!flaw.empty())
            {
                return flaw;
            }
        }
    }
    return "";
}

/// @brief As many rings as there are, where that is known.
class KnownRingsTestCase : public TestCase
{
  public:
    KnownRingsTestCase()
        : TestCase("as many rings as ports on tori, BCubes and DCells; one port has no two rings")
    {
    }

  private:
    void DoRun() override
    {
        // Products of cycles are sums of Hamiltonian cycles, each of which is two rings.
        const std::pair<const char*, uint32_t> known[] = {
            {"torus:5", 2},     {"torus:3x3", 4},   {"torus:3x4", 4},   {"torus:4x4", 4},
            {"torus:5x7", 4},   {"torus:8x8", 4},   {"torus:16x16", 4}, {"torus:3x3x3", 6},
            {"torus:4x4x4", 6}, {"torus:3x5x7", 6}, {"torus:2x2x3", 4}, {"torus:8x8x8", 6},
            {"bcube:3,1", 2},   {"bcube:4,1", 2},   {"bcube:5,1", 2},   {"bcube:16,1", 2},
            {"bcube:3,2", 3},   {"bcube:4,2", 3},   {"bcube:8,2", 3},   {"bcube:2,3", 4},
            {"bcube:2,5", 6},   {"bcube:2,7", 8},   {"bcube:3,3", 4},   {"dcell:4,1", 2},
            {"dcell:6,1", 2},   {"bcube:8,0", 0},   {"fattree:4", 0},   {"jellyfish:10,3,2", 0},
        };
        for (const auto& [spec, nRings] : known)
        {
            const Topology topology = ParseTopology(spec);
            const std::vector<Ring> rings = PackRings(topology, ANY_NUMBER, 1);
            NS_TEST_EXPECT_MSG_EQ(rings.size(), nRings, spec);
            NS_TEST_EXPECT_MSG_EQ(FindFlaw(topology, rings), "", spec);
        }
        NS_TEST_EXPECT_MSG_EQ(PackRings(MakeTestStar(6, 3), ANY_NUMBER, 1).size(), 3, "wide ports");
        NS_TEST_EXPECT_MSG_EQ(PackRings(MakeTestStar(6, 3), 2, 1).size(), 2, "no more than asked");
    }
};

/// @brief Rings of any network are rings.
class AnyRingsTestCase : public TestCase
{
  public:
    AnyRingsTestCase()
        : TestCase("rings pass every server once and share no link, on any network")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(11);
        uint32_t nPacked = 0;
        for (const Topology& topology : MakeFamiliesAndRandom(random, 100, {8, 5, 3}))
        {
            const std::vector<Ring> rings = PackRings(topology, ANY_NUMBER, Draw(random, 100));
            NS_TEST_EXPECT_MSG_EQ(FindFlaw(topology, rings), "", topology.GetName());
            NS_TEST_EXPECT_MSG_NE(rings.size(), 1, "one ring is for others to find");
            NS_TEST_EXPECT_MSG_EQ(PassesAll(topology, FindRing(topology, 1, true)), true, "relays");
            nPacked += !rings.empty();
        }
        NS_TEST_EXPECT_MSG_GT(nPacked, 20, "some networks have two rings or more");
    }
};

/// Tries all rings of a small network, to tell whether two have room beside each other.
class AllRings
{
  public:
    explicit AllRings(const Topology& topology)
        : m_topology(topology),
          m_paths(FindAllPaths(topology)),
          m_used(topology.GetNDirectedLinks(), 0)
    {
    }

    /// @return whether there are so many
    bool Has(uint32_t nRings)
    {
        return nRings == 0 || Extend(0, 1, nRings);
    }

  private:
    /// @return whether a ring that is at a server, some visited, can be closed, and others follow
    bool Extend(NodeId at, uint32_t visited, uint32_t nRings)
    {
        const bool isClosing = visited + 1 == uint32_t{1} << m_topology.GetNServers();
        for (const Path& path : m_paths)
        {
            const NodeId to = path.back();
            const bool isNext = isClosing ? to == 0 : (visited >> to & 1) == 0;
            if (path.front() != at || !isNext || !Use(path))
            {
                continue;
            }
            const bool isFound =
                isClosing ? Has(nRings - 1) : Extend(to, visited | 1 << to, nRings);
            Release(path);
            if (isFound)
            {
                return true;
            }
        }
        return false;
    }

    bool Use(const Path& path)
    {
        bool hasRoom = true;
        ForEachLink(m_topology, path, [&](DirectedLinkId link) {
            hasRoom = hasRoom && m_used[link] < m_topology.GetCapacity(link);
        });
        ForEachLink(m_topology, path, [&](DirectedLinkId link) { m_used[link] += hasRoom; });
        return hasRoom;
    }

    void Release(const Path& path)
    {
        ForEachLink(m_topology, path, [&](DirectedLinkId link) { --m_used[link]; });
    }

    const Topology& m_topology;   //!< the network
    std::vector<Path> m_paths;    //!< all paths between servers
    std::vector<uint32_t> m_used; //!< by directed link
};

/// @brief On small networks, as many rings as there are.
class OptimalRingsTestCase : public TestCase
{
  public:
    OptimalRingsTestCase()
        : TestCase("on small networks there is no ring more, as trying all of them shows")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(12);
        for (uint32_t i = 0; i < 300; ++i)
        {
            Check(MakeRandomNetwork(random, {5, 3, 2}));
        }
        for (const char* spec : {"torus:2x3", "torus:2x2", "bcube:2,1", "torus:3", "bcube:2,2"})
        {
            Check(ParseTopology(spec));
        }
    }

    void Check(const Topology& topology)
    {
        const uint32_t nRings = PackRings(topology, ANY_NUMBER, 1).size();
        const uint32_t oneMore = std::max(nRings + 1, 2U);
        NS_TEST_EXPECT_MSG_EQ(AllRings(topology).Has(oneMore),
                              false,
                              topology.GetName() << " has more than " << nRings << " rings");
    }
};

/// @brief The scheduler is at the bound where there are as many rings as ports.
class BoundTestCase : public TestCase
{
  public:
    BoundTestCase()
        : TestCase("multi-ring is at the bound on tori and BCubes")
    {
    }

  private:
    void DoRun() override
    {
        const std::pair<const char*, uint32_t> ports[] = {{"torus:3x3", 4},
                                                          {"torus:4x4", 4},
                                                          {"torus:4x6", 4},
                                                          {"torus:3x3x3", 6},
                                                          {"bcube:4,1", 2},
                                                          {"bcube:3,2", 3},
                                                          {"bcube:4,2", 3},
                                                          {"bcube:2,3", 4},
                                                          {"bcube:2,5", 6},
                                                          {"bcube:2,7", 8},
                                                          {"dcell:4,1", 2}};
        for (const auto& [spec, nPorts] : ports)
        {
            const Topology topology = ParseTopology(spec);
            CheckRounds(topology, nPorts, 0);
            CheckRounds(topology, 2 * nPorts, 0);
            // Chunks that are not a multiple of the rings wait for each other here and there.
            CheckRounds(topology, nPorts + 1, 2);
        }
    }

    /// @param more rounds that there may be more than the bound, for each round of the bound: 1 /
    /// 10
    void CheckRounds(const Topology& topology, uint32_t chunksPerServer, uint32_t tenths)
    {
        const AllReduceSchedule schedule = PlanFromStart("multi-ring", topology, chunksPerServer);
        const uint64_t bound =
            ComputeLowerBounds(topology, schedule.collective.roots).GetBest().rounds;
        NS_TEST_EXPECT_MSG_LT_OR_EQ(10 * schedule.rounds.size(),
                                    (10 + tenths) * bound,
                                    topology.GetName() << ", m=" << chunksPerServer);
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, schedule).isCorrect, true, topology.GetName());
    }
};

/// @brief A single ring of a network that has lost links.
class RingRelayTestCase : public TestCase
{
  public:
    RingRelayTestCase()
        : TestCase("a server with one neighbor left costs multi-ring a round, not another ring")
    {
    }

  private:
    void DoRun() override
    {
        for (const uint64_t seed : {1, 2, 3, 4, 5})
        {
            const Topology topology = Degrade(ParseTopology("dcell:4,1"), 0.05, seed);
            const std::size_t nRounds = PlanFromStart("multi-ring", topology, 2).rounds.size();
            NS_TEST_EXPECT_MSG_LT_OR_EQ(nRounds, 2 * 2 * 19 + 1, topology.GetName());
        }
    }
};

/// @return servers in racks: a switch for each, and one above with wide links
Topology
MakeRacks(const std::vector<uint32_t>& sizes)
{
    const uint32_t nServers = std::accumulate(sizes.begin(), sizes.end(), 0U);
    const NodeId top = nServers + sizes.size();
    std::vector<Link> links;
    NodeId server = 0;
    for (uint32_t rack = 0; rack < sizes.size(); ++rack)
    {
        for (uint32_t i = 0; i < sizes[rack]; ++i)
        {
            Link link;
            link.a = server++;
            link.b = nServers + rack;
            links.push_back(link);
        }
        Link up;
        up.a = nServers + rack;
        up.b = top;
        up.capacity = 8;
        links.push_back(up);
    }
    return Topology("racks", nServers, sizes.size() + 1, links);
}

/// @brief What hierarchical sends inside racks and between them.
class HierarchicalTestCase : public TestCase
{
  public:
    HierarchicalTestCase()
        : TestCase("hierarchical sends a chunk once into each rack and once out of it")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::vector<uint32_t>& sizes : std::vector<std::vector<uint32_t>>{{4, 4},
                                                                                     {5, 3},
                                                                                     {1, 6},
                                                                                     {2, 3, 4},
                                                                                     {3, 3, 3, 3},
                                                                                     {7}})
        {
            for (const uint32_t chunksPerServer : {1, 2, 3})
            {
                CheckTraffic(MakeRacks(sizes), sizes.size(), chunksPerServer);
            }
        }
        CheckHeads();
        const Topology star = ParseTopology("bcube:8,0");
        NS_TEST_EXPECT_MSG_EQ(PlanFromStart("hierarchical", star, 1).rounds.size(), 14, "a ring");
    }

    void CheckTraffic(const Topology& topology, uint32_t nRacks, uint32_t chunksPerServer)
    {
        const AllReduceSchedule schedule = PlanFromStart("hierarchical", topology, chunksPerServer);
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, schedule).isCorrect, true, "correct");
        const Racks racks = FindRacks(topology);
        uint64_t nBetween = 0;
        for (const WorkloadList& round : schedule.rounds)
        {
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const Workload workload = round.Get(i);
                nBetween +=
                    racks.rackOf[workload.GetSource()] != racks.rackOf[workload.GetTarget()];
            }
        }
        NS_TEST_EXPECT_MSG_EQ(nBetween,
                              2 * uint64_t{nRacks - 1} * schedule.collective.roots.size(),
                              "a tree of racks for each chunk");
    }

    /// Racks of 6 and 3: a server of the small one speaks for two of the large one, not for all.
    void CheckHeads()
    {
        const Topology topology = MakeRacks({6, 3});
        const AllReduceSchedule schedule = PlanFromStart("hierarchical", topology, 1);
        std::vector<uint32_t> nSpoken(topology.GetNServers(), 0);
        for (const WorkloadList& round : schedule.rounds)
        {
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const Workload workload = round.Get(i);
                const bool isOut = workload.GetSource() >= 6 && workload.GetTarget() < 6;
                nSpoken[workload.GetSource()] += isOut && workload.kind == WorkloadKind::REDUCE;
            }
        }
        const std::vector<uint32_t> expected{0, 0, 0, 0, 0, 0, 2, 2, 2};
        NS_TEST_EXPECT_MSG_EQ((nSpoken == expected), true, "shares are equal");
    }
};

/// @brief Users see what plans are made of.
class RemarkTestCase : public TestCase
{
  public:
    RemarkTestCase()
        : TestCase("schedulers say how many rings and racks they found")
    {
    }

  private:
    void DoRun() override
    {
        CheckRemark("multi-ring", ParseTopology("torus:4x4"), "4 rings");
        CheckRemark("multi-ring", ParseTopology("fattree:4"), "1 ring");
        CheckRemark("multi-ring", Degrade(ParseTopology("bcube:4,1"), 0.05, 3), "1 ring");
        CheckRemark("hierarchical", ParseTopology("bcube:4,1"), "4 racks");
        CheckRemark("hierarchical", ParseTopology("bcube:8,0"), "1 rack");
        CheckRemark("ring", ParseTopology("bcube:4,1"), "");
    }

    void CheckRemark(const std::string& name, const Topology& topology, const std::string& remark)
    {
        const Ptr<AllReduceScheduler> scheduler = CreateScheduler(name);
        Plan(*scheduler, AllReduceState(topology, MakeRoots(topology.GetNServers(), 4)));
        NS_TEST_EXPECT_MSG_EQ(scheduler->GetRemark(), remark, name);
    }
};

/// @ingroup allreduce-tests
/// @brief Several rings at once, and rings inside racks and between them.
class RingPackingTestSuite : public TestSuite
{
  public:
    RingPackingTestSuite()
        : TestSuite("allreduce-ring-packing", TestSuite::Type::UNIT)
    {
        AddTestCase(new KnownRingsTestCase);
        AddTestCase(new AnyRingsTestCase, EXTENSIVE);
        AddTestCase(new OptimalRingsTestCase, EXTENSIVE);
        AddTestCase(new BoundTestCase, EXTENSIVE);
        AddTestCase(new RingRelayTestCase);
        AddTestCase(new HierarchicalTestCase);
        AddTestCase(new RemarkTestCase);
    }
};

RingPackingTestSuite g_ringPackingTestSuite; //!< registers the suite

} // namespace
