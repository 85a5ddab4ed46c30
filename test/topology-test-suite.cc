/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/link-capacities.h"
#include "ns3/test.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <cmath>
#include <map>
#include <set>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

uint32_t
Power(uint32_t base, uint32_t exponent)
{
    uint32_t power = 1;
    for (uint32_t i = 0; i < exponent; ++i)
    {
        power *= base;
    }
    return power;
}

/// @return how many paths between two servers share no other node, by Menger's theorem
uint32_t
CountDisjointPaths(const Topology& topology, NodeId from, NodeId to)
{
    using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
    using Edge = Traits::edge_descriptor;
    using Graph = boost::adjacency_list<
        boost::vecS,
        boost::vecS,
        boost::directedS,
        boost::no_property,
        boost::property<boost::edge_capacity_t,
                        long,
                        boost::property<boost::edge_residual_capacity_t,
                                        long,
                                        boost::property<boost::edge_reverse_t, Edge>>>>;
    // Node v becomes v (in) and v + n (out), joined by an edge that only one path may use.
    const uint32_t n = topology.GetNNodes();
    Graph graph(2 * n);
    auto addEdge = [&](uint32_t x, uint32_t y, long capacity) {
        const Edge forward = add_edge(x, y, graph).first;
        const Edge backward = add_edge(y, x, graph).first;
        put(boost::edge_capacity, graph, forward, capacity);
        put(boost::edge_capacity, graph, backward, 0);
        put(boost::edge_reverse, graph, forward, backward);
        put(boost::edge_reverse, graph, backward, forward);
    };
    for (NodeId node = 0; node < n; ++node)
    {
        addEdge(node, node + n, 1);
    }
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        addEdge(topology.GetSource(link) + n, topology.GetTarget(link), 1);
    }
    return edmonds_karp_max_flow(graph, from + n, to);
}

/// BCube against the numbers and properties of its paper.
class BCubeTestCase : public TestCase
{
  public:
    BCubeTestCase()
        : TestCase("BCube has the published structure")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t n = 2; n <= 6; ++n)
        {
            for (uint32_t k = 0; k <= 3; ++k)
            {
                if (Power(n, k + 1) <= 256)
                {
                    Check(n, k);
                }
            }
        }
    }

    void Check(uint32_t n, uint32_t k)
    {
        const Topology topology = MakeBCube(n, k);
        const std::string& name = topology.GetName();
        const uint32_t nServers = Power(n, k + 1);
        NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), nServers, name);
        NS_TEST_ASSERT_MSG_EQ(topology.GetNSwitches(), (k + 1) * Power(n, k), name);
        NS_TEST_ASSERT_MSG_EQ(topology.GetNLinks(), (k + 1) * nServers, name);
        NS_TEST_ASSERT_MSG_EQ(ComputeDiameter(topology), 2 * (k + 1), name);
        for (NodeId node = 0; node < topology.GetNNodes(); ++node)
        {
            const uint32_t expected = topology.IsServer(node) ? k + 1 : n;
            NS_TEST_ASSERT_MSG_EQ(topology.GetPorts(node).size(), expected, name);
        }
        for (NodeId sw = nServers; sw < topology.GetNNodes(); ++sw)
        {
            CheckSwitch(topology, n, (sw - nServers) / Power(n, k), sw);
        }
        for (uint32_t i = 1; i < std::min(nServers, 6u); ++i)
        {
            const NodeId other = nServers - i;
            NS_TEST_ASSERT_MSG_EQ(CountDisjointPaths(topology, 0, other),
                                  k + 1,
                                  name << ": disjoint paths to server " << other);
        }
    }

    /// The servers at a switch of a level differ in the digit of that level only.
    void CheckSwitch(const Topology& topology, uint32_t n, uint32_t level, NodeId sw)
    {
        const uint32_t weight = Power(n, level);
        std::set<uint32_t> digits;
        std::set<uint32_t> rests;
        for (const Topology::Port& port : topology.GetPorts(sw))
        {
            const uint32_t digit = port.neighbor / weight % n;
            digits.insert(digit);
            rests.insert(port.neighbor - digit * weight);
        }
        NS_TEST_ASSERT_MSG_EQ(digits.size(), n, topology.GetName() << ": switch " << sw);
        NS_TEST_ASSERT_MSG_EQ(rests.size(), 1, topology.GetName() << ": switch " << sw);
    }
};

/// DCell against the numbers and properties of its paper.
class DCellTestCase : public TestCase
{
  public:
    DCellTestCase()
        : TestCase("DCell has the published structure")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t n = 2; n <= 6; ++n)
        {
            for (uint32_t k = 0; k <= 2; ++k)
            {
                if (k < 2 || n <= 3)
                {
                    Check(n, k);
                }
            }
        }
        Check(4, 2);
    }

    void Check(uint32_t n, uint32_t k)
    {
        const Topology topology = MakeDCell(n, k);
        const std::string& name = topology.GetName();
        std::vector<uint32_t> nServers{n};
        for (uint32_t level = 1; level <= k; ++level)
        {
            nServers.push_back(nServers.back() * (nServers.back() + 1));
        }
        NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), nServers[k], name);
        NS_TEST_ASSERT_MSG_EQ(topology.GetNSwitches(), nServers[k] / n, name);
        for (NodeId node = 0; node < topology.GetNNodes(); ++node)
        {
            const uint32_t expected = topology.IsServer(node) ? k + 1 : n;
            NS_TEST_ASSERT_MSG_EQ(topology.GetPorts(node).size(), expected, name);
        }
        for (uint32_t level = 1; level <= k; ++level)
        {
            CheckSubCells(topology, nServers[level - 1], nServers[level]);
        }
        NS_TEST_ASSERT_MSG_LT_OR_EQ(ComputeServerDiameter(topology), Power(2, k + 1) - 1, name);
    }

    /// Within each cell, every pair of sub-cells is joined by exactly one link.
    void CheckSubCells(const Topology& topology, uint32_t below, uint32_t cell)
    {
        std::map<std::pair<uint32_t, uint32_t>, uint32_t> joined;
        for (const Link& link : topology.GetLinks())
        {
            if (topology.IsServer(link.a) && topology.IsServer(link.b) &&
                link.a / cell == link.b / cell && link.a / below != link.b / below)
            {
                ++joined[std::minmax(link.a / below, link.b / below)];
            }
        }
        const uint32_t nCells = topology.GetNServers() / cell;
        const uint32_t nPairs = (below + 1) * below / 2;
        NS_TEST_ASSERT_MSG_EQ(joined.size(), nCells * nPairs, topology.GetName());
        for (const auto& [pair, count] : joined)
        {
            NS_TEST_ASSERT_MSG_EQ(count, 1, topology.GetName());
        }
    }

    /// @return the diameter as DCell's paper counts it: a switch between two servers is one hop
    uint32_t ComputeServerDiameter(const Topology& topology)
    {
        uint32_t diameter = 0;
        for (NodeId from = 0; from < topology.GetNServers(); ++from)
        {
            std::vector<uint32_t> distance(topology.GetNServers(), UNREACHABLE);
            distance[from] = 0;
            std::vector<NodeId> queue{from};
            for (std::size_t i = 0; i < queue.size(); ++i)
            {
                for (const NodeId next : FindNeighborServers(topology, queue[i]))
                {
                    if (distance[next] == UNREACHABLE)
                    {
                        distance[next] = distance[queue[i]] + 1;
                        queue.push_back(next);
                    }
                }
            }
            diameter = std::max(diameter, *std::max_element(distance.begin(), distance.end()));
        }
        return diameter;
    }

    std::vector<NodeId> FindNeighborServers(const Topology& topology, NodeId server)
    {
        std::vector<NodeId> neighbors;
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            if (topology.IsServer(port.neighbor))
            {
                neighbors.push_back(port.neighbor);
                continue;
            }
            for (const Topology::Port& next : topology.GetPorts(port.neighbor))
            {
                neighbors.push_back(next.neighbor);
            }
        }
        return neighbors;
    }
};

/// Jellyfish is random, but regular, connected and repeatable.
class JellyfishTestCase : public TestCase
{
  public:
    JellyfishTestCase()
        : TestCase("Jellyfish is regular, connected and the same for the same seed")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t nSwitches = 1; nSwitches <= 12; ++nSwitches)
        {
            for (uint32_t degree = 0; degree < nSwitches; ++degree)
            {
                if (nSwitches * degree % 2 == 0 && (degree >= 2 || degree + 1 == nSwitches))
                {
                    for (uint64_t seed = 1; seed <= 5; ++seed)
                    {
                        Check(nSwitches, degree, 2, seed);
                    }
                }
            }
        }
        Check(100, 3, 1, 1);
        Check(64, 2, 1, 1);
        Check(512, 16, 8, 1);
        NS_TEST_ASSERT_MSG_EQ(
            (MakeJellyfish(20, 4, 1, 1).GetLinks() == MakeJellyfish(20, 4, 1, 2).GetLinks()),
            false,
            "another seed must give another graph");
    }

    void Check(uint32_t nSwitches, uint32_t degree, uint32_t perSwitch, uint64_t seed)
    {
        const Topology topology = MakeJellyfish(nSwitches, degree, perSwitch, seed);
        const std::string& name = topology.GetName();
        NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), nSwitches * perSwitch, name);
        NS_TEST_ASSERT_MSG_EQ(topology.GetNSwitches(), nSwitches, name);
        for (NodeId node = 0; node < topology.GetNNodes(); ++node)
        {
            const uint32_t expected = topology.IsServer(node) ? 1 : degree + perSwitch;
            NS_TEST_ASSERT_MSG_EQ(topology.GetPorts(node).size(), expected, name);
        }
        NS_TEST_ASSERT_MSG_EQ(topology.AreServersConnected(), true, name);
        const Topology again = MakeJellyfish(nSwitches, degree, perSwitch, seed);
        NS_TEST_ASSERT_MSG_EQ((again.GetLinks() == topology.GetLinks()), true, name);
    }
};

/// Fat-tree and torus, the networks that other simulators use.
class FatTreeAndTorusTestCase : public TestCase
{
  public:
    FatTreeAndTorusTestCase()
        : TestCase("Fat-tree and torus have the published structure")
    {
    }

  private:
    void DoRun() override
    {
        for (uint32_t k = 2; k <= 8; k += 2)
        {
            const Topology topology = MakeFatTree(k);
            NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), k * k * k / 4, topology.GetName());
            NS_TEST_ASSERT_MSG_EQ(topology.GetNSwitches(), 5 * k * k / 4, topology.GetName());
            NS_TEST_ASSERT_MSG_EQ(topology.GetNLinks(), 3 * k * k * k / 4, topology.GetName());
            NS_TEST_ASSERT_MSG_EQ(ComputeDiameter(topology), 6, topology.GetName());
            for (NodeId sw = topology.GetNServers(); sw < topology.GetNNodes(); ++sw)
            {
                NS_TEST_ASSERT_MSG_EQ(topology.GetPorts(sw).size(), k, topology.GetName());
            }
        }
        CheckTorus({2}, 1);
        CheckTorus({7}, 2);
        CheckTorus({2, 2}, 2);
        CheckTorus({2, 3}, 3);
        CheckTorus({1, 5}, 2);
        CheckTorus({4, 4}, 4);
        CheckTorus({3, 4, 5}, 6);
    }

    void CheckTorus(const std::vector<uint32_t>& sides, uint32_t nPorts)
    {
        const Topology topology = MakeTorus(sides);
        uint32_t nServers = 1;
        uint32_t diameter = 0;
        for (const uint32_t side : sides)
        {
            nServers *= side;
            diameter += side / 2;
        }
        NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), nServers, topology.GetName());
        NS_TEST_ASSERT_MSG_EQ(ComputeDiameter(topology), diameter, topology.GetName());
        for (NodeId server = 0; server < nServers; ++server)
        {
            NS_TEST_ASSERT_MSG_EQ(topology.GetPorts(server).size(), nPorts, topology.GetName());
        }
    }
};

/// The graph itself: ports, directions, paths.
class GraphTestCase : public TestCase
{
  public:
    GraphTestCase()
        : TestCase("A graph's ports, directions and paths agree with its links")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& spec : GetTopologyExamples())
        {
            CheckPorts(ParseTopology(spec));
            CheckPositions(ParseTopology(spec));
        }
        const Topology topology = MakeBCube(4, 1);
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { topology.CheckPath({5, 17, 4}); }), "", "good path");
        CheckRefused(topology, {}, "expected two nodes or more");
        CheckRefused(topology, {5}, "expected two nodes or more");
        CheckRefused(topology, {5, 99, 1}, "unknown node 99, expected a node below 24");
        CheckRefused(topology, {5, 17, 1}, "no link between switch 17 and server 1");
        CheckRefused(topology, {5, 17, 5}, "visits server 5 twice");
        const Path path = FindShortestPath(topology, 0, 15);
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { topology.CheckPath(path); }), "", "shortest path");
        NS_TEST_ASSERT_MSG_EQ(path.size(), 5, "a path from 0 to 15 has four links");
    }

    void CheckPorts(const Topology& topology)
    {
        uint32_t nPorts = 0;
        for (NodeId node = 0; node < topology.GetNNodes(); ++node)
        {
            for (const Topology::Port& port : topology.GetPorts(node))
            {
                NS_TEST_ASSERT_MSG_EQ(topology.GetSource(port.out), node, "source");
                NS_TEST_ASSERT_MSG_EQ(topology.GetTarget(port.out), port.neighbor, "target");
                NS_TEST_ASSERT_MSG_EQ(topology.GetTarget(Reverse(port.out)), node, "reverse");
                NS_TEST_ASSERT_MSG_EQ(topology.FindDirectedLink(node, port.neighbor).value(),
                                      port.out,
                                      "find");
                ++nPorts;
            }
        }
        NS_TEST_ASSERT_MSG_EQ(nPorts, topology.GetNDirectedLinks(), "every direction is a port");
    }

    void CheckPositions(const Topology& topology)
    {
        std::set<std::pair<double, double>> places;
        for (const Position& position : topology.GetPositions())
        {
            places.emplace(position.x, position.y);
            NS_TEST_ASSERT_MSG_EQ(
                (position.x >= 0 && position.x <= 1 && position.y >= 0 && position.y <= 1),
                true,
                topology.GetName() << ": drawn outside the frame");
        }
        NS_TEST_ASSERT_MSG_EQ(places.size(),
                              topology.GetNNodes(),
                              topology.GetName() << ": two nodes are drawn in one place");
    }

    void CheckRefused(const Topology& topology, const Path& path, const std::string& why)
    {
        const std::string expected = "path " + FormatPath(path) + " in bcube:4,1: " + why;
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { topology.CheckPath(path); }), expected, "message");
    }
};

/// The texts that --topology takes.
class SpecTestCase : public TestCase
{
  public:
    SpecTestCase()
        : TestCase("A topology's name is the text that makes it; other texts are refused by name")
    {
    }

  private:
    void DoRun() override
    {
        std::vector<std::string> specs = GetTopologyExamples();
        specs.insert(specs.end(), {"bcube:3,2", "jellyfish:10,3,2,7", "torus:4x4", "torus:2x3x4"});
        for (const std::string& spec : specs)
        {
            NS_TEST_ASSERT_MSG_EQ(ParseTopology(spec).GetName(), spec, "name");
        }
        const std::map<std::string, std::string> refusals = {
            {"", "topology \"\": expected bcube"},
            {"bcube", "topology \"bcube\": expected bcube:N,K"},
            {"bcube:4", "topology \"bcube:4\": expected bcube:N,K"},
            {"bcube:4,1,1", "expected bcube:N,K"},
            {"bcube:4,-1", "parameter \"-1\": expected a whole number"},
            {"bcube:4,1x", "parameter \"1x\": expected a whole number"},
            {"bcube:1,1", "bcube:1,1: n is 1, expected 2 or more"},
            {"bcube:0,1", "n is 0, expected 2 or more"},
            {"bcube:2,99", "k is 99, expected 31 or less"},
            {"bcube:2,30", "too large"},
            {"bcube:99999999999,1", "too large"},
            {"bcube:99999999999999999999999,1", "expected a whole number"},
            {"dcell:1,1", "dcell:1,1: n is 1, expected 2 or more"},
            {"dcell:4,9", "too large"},
            {"jellyfish:5,3,1", "degree sum 15 is odd"},
            {"jellyfish:4,4,1", "degree 4, expected less than the number of switches, 4"},
            {"jellyfish:6,1,1", "degree 1 cannot connect 6 switches"},
            {"jellyfish:6,3,0", "0 servers, expected 2 or more"},
            {"jellyfish:0,0,0", "no switches, expected 1 or more"},
            {"jellyfish:6,3", "expected jellyfish:SWITCHES,DEGREE,SERVERS[,SEED]"},
            {"fattree:3", "k is 3, expected an even number"},
            {"fattree:0", "k is 0, expected an even number"},
            {"torus:1", "one server, expected 2 or more"},
            {"torus:4x0", "a side is 0"},
            {"torus:2x2x2x2", "expected torus:AxB[xC]"},
            {"file:", "expected bcube"},
            {"file:/nowhere", "topology file /nowhere: cannot be opened"},
            {"nothing:3", "topology \"nothing:3\": expected bcube"},
        };
        for (const auto& [spec, why] : refusals)
        {
            const std::string error = GetError([s = spec] { ParseTopology(s); });
            NS_TEST_ASSERT_MSG_NE(error.find(why), std::string::npos, spec << ": " << error);
            NS_TEST_ASSERT_MSG_EQ(error.find('\n'), std::string::npos, spec << ": one line");
        }
    }
};

/// What --degrade and --mixed do.
class ModifierTestCase : public TestCase
{
  public:
    ModifierTestCase()
        : TestCase("Degrade keeps servers connected, MixCapacity doubles; both always end")
    {
    }

  private:
    /// Of a few seeds two may remove the same links of a small network, but not all.
    void CheckSeedMatters(const Topology& topology)
    {
        bool isDifferent = false;
        for (uint64_t seed = 2; seed <= 5; ++seed)
        {
            isDifferent = isDifferent || !(Degrade(topology, 0.1, seed).GetLinks() ==
                                           Degrade(topology, 0.1, 1).GetLinks());
        }
        NS_TEST_ASSERT_MSG_EQ(isDifferent,
                              true,
                              topology.GetName() << ": seeds 1 to 5 remove the same links");
    }

    void DoRun() override
    {
        for (const std::string& spec : GetTopologyExamples())
        {
            const Topology topology = ParseTopology(spec);
            for (const double fraction : {0.0, 0.001, 0.1, 0.5, 0.9, 1.0})
            {
                for (uint64_t seed = 1; seed <= 5; ++seed)
                {
                    CheckDegrade(topology, fraction, seed);
                    CheckMixed(topology, fraction, seed);
                }
            }
            CheckSeedMatters(topology);
        }
        CheckMixedRest();
        const Topology topology = MakeBCube(4, 1);
        NS_TEST_ASSERT_MSG_EQ(ParseDegrade(topology, "0.1,3").GetName(),
                              "bcube:4,1 degrade=0.1,3",
                              "name");
        NS_TEST_ASSERT_MSG_EQ(ParseMixed(topology, "0.5").GetName(), "bcube:4,1 mixed=0.5", "name");
        for (const char* spec : {"", "x", "1.5", "-0.1", "nan", "0.1,", "0.1,x", "0.1,1,1"})
        {
            NS_TEST_ASSERT_MSG_NE(GetError([&] { ParseDegrade(topology, spec); }), "", spec);
            NS_TEST_ASSERT_MSG_NE(GetError([&] { ParseMixed(topology, spec); }), "", spec);
        }
    }

    void CheckDegrade(const Topology& topology, double fraction, uint64_t seed)
    {
        const Topology degraded = Degrade(topology, fraction, seed);
        NS_TEST_ASSERT_MSG_EQ(degraded.AreServersConnected(), true, degraded.GetName());
        NS_TEST_ASSERT_MSG_EQ((Degrade(topology, fraction, seed).GetLinks() == degraded.GetLinks()),
                              true,
                              "the same seed removes the same links");
        const auto asked = std::lround(fraction * topology.GetNLinks());
        const uint32_t removed = topology.GetNLinks() - degraded.GetNLinks();
        if (fraction > 0 && fraction <= 0.1)
        {
            NS_TEST_ASSERT_MSG_EQ(removed, std::max(asked, 1L), degraded.GetName());
        }
        NS_TEST_ASSERT_MSG_LT_OR_EQ(removed, std::max(asked, 1L), degraded.GetName());
        if (fraction == 1)
        {
            // What is left is a tree whose leaves are all servers.
            uint32_t nNodes = 0;
            for (NodeId node = 0; node < degraded.GetNNodes(); ++node)
            {
                const std::size_t nPorts = degraded.GetPorts(node).size();
                nNodes += nPorts > 0;
                NS_TEST_ASSERT_MSG_EQ((degraded.IsServer(node) || nPorts != 1), true, "leaf");
            }
            NS_TEST_ASSERT_MSG_EQ(degraded.GetNLinks(), nNodes - 1, degraded.GetName());
        }
    }

    /// Half a unit flow is lost, a whole one would not be.
    void CheckMixedRest()
    {
        std::vector<Link> links = {{0, 2}, {1, 2, 1, 105'200'000'000}};
        DeriveCapacities(links);
        NS_TEST_ASSERT_MSG_EQ(links[1].capacity, 10, "0.52 of 10.52 unit flows are lost");
        const Topology mixed = MixCapacity(Topology("rest", 2, 1, links), 1);
        NS_TEST_ASSERT_MSG_EQ(mixed.GetLink(0).capacity, 2, "twice 10 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(mixed.GetLink(1).capacity, 21, "twice 105.2 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { CheckCapacities(mixed.GetLinks(), "mixed"); }),
                              "",
                              "rates and capacities agree");
        // Whoever makes links by hand may do without rates.
        const Topology byHand("by hand", 2, 1, {{0, 2, 1}, {1, 2, 3}});
        NS_TEST_ASSERT_MSG_EQ(MixCapacity(byHand, 1).GetLink(0).capacity, 2, "twice 1");
        NS_TEST_ASSERT_MSG_EQ(MixCapacity(byHand, 1).GetLink(1).capacity, 6, "twice 3");
    }

    void CheckMixed(const Topology& topology, double fraction, uint64_t seed)
    {
        const Topology mixed = MixCapacity(topology, fraction, seed);
        long nDoubled = 0;
        for (LinkId id = 0; id < topology.GetNLinks(); ++id)
        {
            const uint32_t factor = mixed.GetLink(id).capacity / topology.GetLink(id).capacity;
            NS_TEST_ASSERT_MSG_EQ(mixed.GetLink(id).rateBps,
                                  topology.GetLink(id).rateBps * factor,
                                  "rate and capacity grow together");
            nDoubled += factor == 2;
        }
        NS_TEST_ASSERT_MSG_EQ(nDoubled, std::lround(fraction * topology.GetNLinks()), "doubled");
    }
};

/// @ingroup allreduce-tests
/// @brief The graph, its families, the texts that name them, and what is done to them.
class TopologyTestSuite : public TestSuite
{
  public:
    TopologyTestSuite()
        : TestSuite("allreduce-topology", TestSuite::Type::UNIT)
    {
        AddTestCase(new BCubeTestCase);
        AddTestCase(new DCellTestCase);
        AddTestCase(new JellyfishTestCase);
        AddTestCase(new FatTreeAndTorusTestCase);
        AddTestCase(new GraphTestCase);
        AddTestCase(new SpecTestCase);
        AddTestCase(new ModifierTestCase);
    }
};

TopologyTestSuite g_topologyTestSuite; //!< registers the suite

} // namespace
