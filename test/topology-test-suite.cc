/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-units.h"
#include "ns3/link-capacities.h"
#include "ns3/test.h"
#include "ns3/topology-file.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/edmonds_karp_max_flow.hpp>
#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <unistd.h>

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
        for (const char* spec :
             {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "fattree:4", "torus:4x4"})
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
        for (const char* spec : {"bcube:3,2",
                                 "dcell:3,1",
                                 "jellyfish:10,3,2",
                                 "jellyfish:10,3,2,7",
                                 "fattree:4",
                                 "torus:4x4",
                                 "torus:2x3x4"})
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
            {"hypercube:3", "topology \"hypercube:3\": expected bcube"},
        };
        for (const auto& [spec, why] : refusals)
        {
            const std::string error = GetError([s = spec] { ParseTopology(s); });
            NS_TEST_ASSERT_MSG_NE(error.find(why), std::string::npos, spec << ": " << error);
            NS_TEST_ASSERT_MSG_EQ(error.find('\n'), std::string::npos, spec << ": one line");
        }
    }
};

/// Files in both formats.
class TopologyFileTestCase : public TestCase
{
  public:
    TopologyFileTestCase()
        : TestCase("Topology files are read back as written; damaged ones are refused by place")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:3,1", "dcell:2,1", "jellyfish:6,3,1", "torus:3x3"})
        {
            CheckRoundTrips(MixCapacity(ParseTopology(spec), 0.3, 2));
        }
        CheckRoundTrips(ReadText("4 0 3\n\n0 1 10Gbps 1us 0\n1 2 25Gbps 2us 0\n2 3 1Tbps 0s 0\n"));
        CheckJson();
        CheckLinkForms();
        CheckBadLinkForms();
        CheckStatedCapacities();
        CheckSlowedLink();
        CheckLinkList();
    }

    /// @return the topology that a file with this text holds
    Topology ReadText(const std::string& text)
    {
        const std::string path = CreateTempDirFilename("topology-test.txt");
        std::ofstream(path) << text;
        return ReadTopologyFile(path);
    }

    void CheckRoundTrips(const Topology& topology)
    {
        for (const auto write : {WriteTopologyJson, WriteLinkList})
        {
            std::ostringstream text;
            write(topology, text);
            const Topology again = ReadText(text.str());
            NS_TEST_ASSERT_MSG_EQ(again.GetNServers(), topology.GetNServers(), "servers");
            NS_TEST_ASSERT_MSG_EQ((again.GetLinks() == topology.GetLinks()), true, text.str());
            std::ostringstream textAgain;
            write(again, textAgain);
            NS_TEST_ASSERT_MSG_EQ(textAgain.str(), text.str(), "the same text after a round trip");
            CheckCutShort(text.str());
        }
    }

    void CheckCutShort(const std::string& text)
    {
        const bool isJson = text[0] == '{';
        for (std::size_t length = 0; length + 1 < text.size(); ++length)
        {
            // A list that ends inside of a word can look whole; at the end of a line it cannot.
            if (isJson || (length > 0 && text[length - 1] == '\n'))
            {
                const std::string error = GetError([&] { ReadText(text.substr(0, length)); });
                NS_TEST_ASSERT_MSG_NE(error, "", "cut to " << length << " characters");
            }
        }
    }

    void CheckRefused(const std::string& text, const std::string& why)
    {
        const std::string error = GetError([&] { ReadText(text); });
        NS_TEST_ASSERT_MSG_NE(error.find(why), std::string::npos, why << " in: " << error);
        NS_TEST_ASSERT_MSG_NE(error.find("topology-test.txt"), std::string::npos, error);
    }

    void CheckJson()
    {
        const std::string head = R"({"servers": 2, "switches": 1, "links": )";
        const Topology topology = ReadText(R"({"name": "mine", "servers": 2, "switches": 1,
                         "links": [[0, 2], [1, 2, 4, 40000000000, 500, 0.25]]})");
        NS_TEST_ASSERT_MSG_EQ(topology.GetName(), "mine", "name");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).rateBps, DEFAULT_LINK_RATE_BPS, "default rate");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(1).delayNs, 500, "delay");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(1).errorRate, 0.25, "error rate");
        CheckRefused(head + "[[0, 3]]}", "link 0-3: unknown node 3, expected a node below 3");
        CheckRefused(head + "[[0, 0]]}", "link 0-0: joins a node to itself");
        CheckRefused(head + "[[0, 2], [2, 0]]}", "link 2-0: the pair is joined twice");
        CheckRefused(head + "[[0, 2, 0]]}", "capacity 0, expected 1 or more");
        CheckRefused(head + "[[0, 2, 2.5]]}", "link 0: capacity is 2.5, expected a whole number");
        CheckRefused(head + "[[0, 2, 1, -5]]}",
                     "link 0: rate is -5, expected text such as \"10Gbps\" or a whole number");
        CheckRefused(head + "[[0, 2, 1, 0]]}", "rate 0 bit/s, expected 1 to ");
        CheckRefused(head + "[[0, 2, 1, 1, -1]]}",
                     "link 0: delay is -1, expected text such as \"1us\" or a whole number");
        CheckRefused(head + "[[0, 2, 1, 1, 1, 2]]}", "error rate 2, expected 0 to 1");
        CheckRefused(head + "[[0]]}", "link 0 is [0], expected [a, b, capacity");
        CheckRefused(head + "7}", "\"links\" is not a list");
        CheckRefused(R"({"servers": 2, "switches": 1})", "no \"links\"");
        CheckRefused(R"({"servers": 1, "switches": 0, "links": []})", "1 servers, expected 2");
        CheckRefused(R"({"format": "else", "servers": 2})",
                     "expected \"allreduce-topology\" version 1");
        CheckRefused(head + R"([[0, 2]], "positions": [[0]]})",
                     "position 0 is [0], expected [x, y]");
        CheckRefused(head + R"([[0, 2]], "positions": [[0, 1]]})", "1 positions, expected one for");
    }

    /// @return the links of a file with three servers and a switch
    std::vector<Link> ReadLinks(const std::string& links)
    {
        return ReadText(R"({"servers": 3, "switches": 1, "links": )" + links + "}").GetLinks();
    }

    void CheckLinkForms()
    {
        const Link plain{0, 3};
        const Link fast{1, 3, 5, 25'000'000'000, 1000, 0};
        const Link full{2, 3, 20, 100'000'000'000, 500, 0.5};
        const std::vector<Link> expected = {{0, 3, 2}, fast, full};
        for (const std::string first :
             {"[0, 3]", R"([0, 3, "10Gbps"])", "[0, 3, 2, 10000000000]", R"({"ends": [0, 3]})"})
        {
            for (const std::string second : {R"([1, 3, "25Gbps"])",
                                             "[1, 3, 25000000000]",
                                             R"([1, 3, "25000Mbps", "1us", 0])",
                                             R"({"rate": "25Gbps", "ends": [1, 3]})"})
            {
                for (const std::string third :
                     {R"([2, 3, "100Gbps", "500ns", 0.5])",
                      "[2, 3, 100000000000, 500, 0.5]",
                      R"([2, 3, 20, "100Gbps", "0.5us", 0.5])",
                      "[2, 3, 20, 100000000000, 500, 0.5]",
                      R"({"ends": [2, 3], "rate": "100Gbps", "delay": 500, "error_rate": 0.5})",
                      R"({"ends": [2, 3], "rate": 100000000000, "delay": "500ns",
                          "error_rate": 0.5, "capacity": 20})"})
                {
                    const std::string links = "[" + first + ", " + second + ", " + third + "]";
                    NS_TEST_ASSERT_MSG_EQ((ReadLinks(links) == expected), true, links);
                }
            }
        }
        NS_TEST_ASSERT_MSG_EQ((ReadLinks("[[0, 3]]")[0] == plain), true, "all defaults");
        const Link wide{0, 3, 3, 3 * DEFAULT_LINK_RATE_BPS};
        NS_TEST_ASSERT_MSG_EQ((ReadLinks("[[0, 3, 3]]")[0] == wide), true, "10 Gb/s each");
        NS_TEST_ASSERT_MSG_EQ((ReadLinks(R"([{"ends": [0, 3], "capacity": 3}])")[0] == wide),
                              true,
                              "the same as an object");
    }

    void CheckBadLinkForms()
    {
        const std::map<std::string, std::string> refusals = {
            {R"([0, 3, "fast"])", "link 0: rate \"fast\": expected a positive rate"},
            {R"([0, 3, "10Gbps", "soon"])", "link 0: delay \"soon\": expected a time"},
            {R"([0, 3, "10Gbps", 0.5])", "link 0: delay is 0.5, expected text such as \"1us\""},
            {R"([0, 3, "10Gbps", "1us", "few"])", "link 0: error rate is \"few\", expected a num"},
            {R"([0, 3, "10Gbps", "1us", 0, 0])",
             "expected [a, b, capacity, rate, delay, errors], "
             "[a, b, rate, delay, errors] or an object"},
            {R"([0, 3, 1, 1.5])", "link 0: rate is 1.5, expected text such as \"10Gbps\""},
            {R"(7)", "link 0 is 7, expected [a, b, capacity"},
            {R"({"rate": "10Gbps"})", "link 0: no \"ends\""},
            {R"({"ends": [0]})", "link 0: ends is [0], expected [a, b]"},
            {R"({"ends": [0, -3]})", "link 0: node is -3, expected a whole number"},
            {R"({"ends": [0, 3], "speed": 1})",
             "link 0: unknown key \"speed\", expected ends, "
             "rate, delay, error_rate, capacity"},
            {R"({"ends": [0, 3], "capacity": 65536})", "link 0: capacity is 65536, expected a who"},
            {R"({"ends": [0, 3], "capacity": "10Gbps"})", "link 0: capacity is \"10Gbps\""},
            {R"({"ends": [0, 3], "rate": null})", "link 0: rate is null"},
        };
        for (const auto& [link, why] : refusals)
        {
            CheckRefused(R"({"servers": 3, "switches": 1, "links": [)" + link + "]}", why);
        }
    }

    void CheckStatedCapacities()
    {
        const auto capacities = [this](const std::string& links) {
            std::vector<uint32_t> list;
            for (const Link& link : ReadLinks(links))
            {
                list.push_back(link.capacity);
            }
            return list;
        };
        using List = std::vector<uint32_t>;
        NS_TEST_ASSERT_MSG_EQ(
            (capacities(R"([[0, 3, "10Gbps"], [1, 3, "25Gbps"], [2, 3, "100Gbps"]])") ==
             List{2, 5, 20}),
            true,
            "nobody states a capacity");
        NS_TEST_ASSERT_MSG_EQ(
            (capacities(R"([[0, 3, 1, "10Gbps"], [1, 3, "25Gbps"], [2, 3, "100Gbps"]])") ==
             List{1, 2, 10}),
            true,
            "one says what a unit flow is");
        NS_TEST_ASSERT_MSG_EQ(
            (capacities(R"([[0, 3, 1], [1, 3, 2, "25Gbps"], [2, 3, 10, "100Gbps"]])") ==
             List{1, 2, 10}),
            true,
            "all do, and round down");
        CheckRefused(R"({"servers": 2, "switches": 1,
                         "links": [[0, 2, 100, 1000000000], [1, 2, 1, 100000000000]]})",
                     "topology-test.txt: link 1-2: capacity 1 at 100Gbps contradicts link 0-2, "
                     "capacity 100 at 1Gbps: with unit flows of 10Mbps expected capacity 10000, "
                     "or leave the capacities out");
        CheckRefused(R"({"servers": 3, "switches": 1, "links":
                         [[0, 3, 1, "10Gbps"], [1, 3, 1, "25Gbps"], [2, 3, 1, "100Gbps"]]})",
                     "link 1-3: capacity 1 at 25Gbps contradicts link 0-3, capacity 1 at 10Gbps: "
                     "with unit flows of 10Gbps expected capacity 2, or");
        CheckRefused(R"({"servers": 2, "switches": 1,
                         "links": [[0, 2, "10Gbps"], [1, 2, 1, "100Gbps"]]})",
                     "link 1-2: capacity 1 at 100Gbps contradicts link 0-2, capacity 1 at 10Gbps");
        CheckRefused(R"({"servers": 2, "switches": 1, "links": [[0, 2, 3, "10Gbps"], [1, 2, 1]]})",
                     "with unit flows of 3.33333Gbps expected capacity 3, or");
    }

    /// A schedule may hold a network one of whose links is slower than it was planned for.
    void CheckSlowedLink()
    {
        std::vector<Link> links = MakeBCube(2, 1).GetLinks();
        links[3].rateBps /= 3;
        const Topology slowed("slowed", 4, 4, links);
        const Topology again = TopologyFromJson(TopologyToJson(slowed), "slowed");
        NS_TEST_ASSERT_MSG_EQ((again.GetLinks() == links), true, "read back as written");
    }

    void CheckLinkList()
    {
        // Switches may have any ids; here the switch is node 0.
        const Topology topology = ReadText("3 1 3\n0\n1 0 400Gbps 0.0005ms 0\n"
                                           "2 0 50Gbps 1us 0.5\n2 0 50Gbps 1us 0.5\n");
        NS_TEST_ASSERT_MSG_EQ(topology.GetNServers(), 2, "servers");
        NS_TEST_ASSERT_MSG_EQ(topology.GetNLinks(), 2, "two lines for one pair are one link");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).a, 0, "node 1 is server 0");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).b, 2, "node 0 is the switch");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).capacity, 4, "400 Gb/s against 100 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(0).delayNs, 500, "0.0005 ms");
        NS_TEST_ASSERT_MSG_EQ(topology.GetLink(1).rateBps, 100'000'000'000, "50 + 50 Gb/s");
        const Topology uneven =
            ReadText("4 1 3\n3\n0 3 10Gbps 1us 0\n1 3 25Gbps 1us 0\n2 3 100Gbps 1us 0\n");
        NS_TEST_ASSERT_MSG_EQ(uneven.GetLink(0).capacity, 2, "10 Gb/s in unit flows of 5 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(uneven.GetLink(1).capacity, 5, "25 Gb/s in unit flows of 5 Gb/s");
        CheckRefused("", "line 1: the file ends, expected the number of nodes");
        CheckRefused("3 1", "line 1: the line ends, expected the number of nodes");
        CheckRefused("3 4 0\n", "line 1: 4 is too large");
        CheckRefused("3 2 0\n", "line 1: 1 servers");
        CheckRefused("3 1 1\n", "line 2: the file ends, expected the ids of 1 switches");
        CheckRefused("4 2 1\n3 3\n", "line 2: a switch is named twice");
        CheckRefused("3 1 1\n2\n0 3 1Gbps 1us 0\n", "line 3: 3 is too large, expected link 1 of 1");
        CheckRefused("3 1 1\n2\n0 2 -1Gbps 1us 0\n",
                     "line 3: rate \"-1Gbps\": expected a positive");
        CheckRefused("3 1 1\n2\n0 2 1Gbps -1us 0\n", "line 3: time \"-1us\": expected a time");
        CheckRefused("3 1 1\n2\n0 2 1Gbps 1us 7\n", "line 3: error rate \"7\": expected a number");
        CheckRefused("3 1 1\n2\n0 2 fast 1us 0\n", "line 3: rate \"fast\"");
        CheckRefused("3 1 2\n2\n0 2 1Gbps 1us 0\n", "line 4: the file ends, expected link 2 of 2");
    }
};

/// Capacities follow from rates.
class CapacityTestCase : public TestCase
{
  public:
    CapacityTestCase()
        : TestCase("Capacities follow from rates, and lose as little as 16 parts allow")
    {
    }

  private:
    using Numbers = std::vector<uint64_t>; //!< rates or capacities, by link

    static constexpr uint64_t GIGABIT = 1'000'000'000;
    static constexpr uint32_t MOST_PARTS = 16;

    void DoRun() override
    {
        ExpectDerived({10, 10, 10}, {1, 1, 1});
        ExpectDerived({25, 100}, {1, 4});
        ExpectDerived({10, 25, 100}, {2, 5, 20});
        ExpectDerived({100, 10, 25}, {20, 2, 5});
        ExpectDerived({1, 10, 25, 40, 100, 400}, {1, 10, 25, 40, 100, 400});
        ExpectDerived({19, 20}, {1, 1});
        ExpectDerived({18, 20}, {9, 10});
        ExpectDerived({1, 100'000}, {1, 65535});
        ExpectDerived({}, {});
        for (const char* spec : {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "torus:4x4"})
        {
            const Topology topology = ParseTopology(spec);
            for (const Link& link : topology.GetLinks())
            {
                NS_TEST_ASSERT_MSG_EQ(link.capacity, 1, spec);
            }
        }
        TestRandom random(7);
        for (uint32_t i = 0; i < 2000; ++i)
        {
            CheckRules(DrawRates(random));
        }
        CheckRules({1, Link::MAX_RATE_BPS});
        CheckRules({Link::MAX_RATE_BPS - 1, Link::MAX_RATE_BPS});
        CheckCheck();
        CheckRoughRates();
        CheckRounding();
    }

    /// @return links in a line @param rates in bit/s
    std::vector<Link> MakeLinks(const Numbers& rates)
    {
        std::vector<Link> links;
        for (NodeId node = 0; node < rates.size(); ++node)
        {
            links.push_back({node, node + 1, 1, rates[node]});
        }
        return links;
    }

    Numbers GetCapacities(const std::vector<Link>& links)
    {
        Numbers capacities;
        for (const Link& link : links)
        {
            capacities.push_back(link.capacity);
        }
        return capacities;
    }

    void ExpectDerived(Numbers gigabits, const Numbers& capacities)
    {
        for (uint64_t& rate : gigabits)
        {
            rate *= GIGABIT;
        }
        std::vector<Link> links = MakeLinks(gigabits);
        DeriveCapacities(links);
        NS_TEST_ASSERT_MSG_EQ((GetCapacities(links) == capacities),
                              true,
                              "capacities of " << gigabits.size() << " links");
    }

    /// @return rates of networks as they are sold, or any rates
    Numbers DrawRates(TestRandom& random)
    {
        const Numbers sold = {1, 10, 25, 40, 50, 100, 200, 400, 800};
        const bool areSold = Draw(random, 2) == 0;
        const uint32_t most = 1 + Draw(random, 1'000'000);
        Numbers rates;
        for (uint32_t i = 1 + Draw(random, 6); i > 0; --i)
        {
            rates.push_back(areSold ? GIGABIT * sold[Draw(random, sold.size())]
                                    : 1 + Draw(random, most));
        }
        return rates;
    }

    /// @return the largest share of a rate that is lost if the slowest link carries k unit flows
    static long double ComputeLoss(const Numbers& rates, uint32_t k)
    {
        const long double unit =
            *std::min_element(rates.begin(), rates.end()) / static_cast<long double>(k);
        long double loss = 0;
        for (const uint64_t rate : rates)
        {
            // A hair, so that what fits exactly is not rounded away.
            const long double flows = std::min(65535.0L, std::floor(rate / unit + 1e-12L));
            loss = std::max(loss, 1 - flows * unit / rate);
        }
        return loss;
    }

    void CheckRules(const Numbers& rates)
    {
        std::vector<Link> links = MakeLinks(rates);
        DeriveCapacities(links);
        std::ostringstream what;
        for (const Link& link : links)
        {
            what << link.rateBps << " bit/s: " << link.capacity << ", ";
        }
        NS_TEST_ASSERT_MSG_EQ(GetError([&] { CheckCapacities(links, "derived"); }), "", what.str());
        const std::size_t slowest = std::min_element(rates.begin(), rates.end()) - rates.begin();
        const uint32_t k = links[slowest].capacity;
        NS_TEST_ASSERT_MSG_EQ((k >= 1 && k <= MOST_PARTS), true, what.str());
        const long double loss = ComputeLoss(rates, k);
        const long double hair = 1e-9L;
        for (uint32_t other = 1; other <= MOST_PARTS; ++other)
        {
            const long double otherLoss = ComputeLoss(rates, other);
            if (other < k)
            {
                NS_TEST_ASSERT_MSG_GT(otherLoss, 0.05L - hair, what.str() << other << " parts do");
                NS_TEST_ASSERT_MSG_GT(otherLoss, loss - hair, what.str() << other << " parts");
            }
            if (loss > 0.05L + hair)
            {
                NS_TEST_ASSERT_MSG_GT(otherLoss, loss - hair, what.str() << other << " parts");
            }
        }
        const CapacityRounding rounding =
            ComputeCapacityRounding(Topology("line", rates.size() + 1, 0, links));
        NS_TEST_ASSERT_MSG_EQ_TOL(rounding.worstLoss,
                                  static_cast<double>(loss),
                                  1e-9,
                                  what.str() << "reported loss");
    }

    void CheckCheck()
    {
        const auto check = [this](const Numbers& capacities) {
            std::vector<Link> links = MakeLinks({10 * GIGABIT, 25 * GIGABIT, 100 * GIGABIT});
            for (LinkId id = 0; id < links.size(); ++id)
            {
                links[id].capacity = capacities[id];
            }
            return GetError([&] { CheckCapacities(links, "here"); });
        };
        NS_TEST_ASSERT_MSG_EQ(check({1, 2, 10}), "", "unit flows of 10 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(check({2, 5, 20}), "", "unit flows of 5 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(check({1, 1, 1}),
                              "here: link 1-2: capacity 1 at 25Gbps contradicts link 0-1, capacity "
                              "1 at 10Gbps: with unit flows of 10Gbps expected capacity 2, or "
                              "leave the capacities out",
                              "one capacity for all");
        NS_TEST_ASSERT_MSG_EQ(Contains(check({1, 3, 10}), "link 0-1: capacity 1 at 10Gbps"),
                              false,
                              "3 unit flows of 8.33 Gb/s leave room for 1 at 10 Gb/s");
        NS_TEST_ASSERT_MSG_EQ(Contains(check({1, 3, 10}), "link 2-3: capacity 10 at 100Gbps"),
                              true,
                              "but for 12 at 100 Gb/s");
    }

    void CheckRoughRates()
    {
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(1e10), "10Gbps", "whole");
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(2.5e9), "2.5Gbps", "a fraction");
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(1e10 / 3), "3.33333Gbps", "six digits");
        NS_TEST_ASSERT_MSG_EQ(FormatRoughRate(0.5), "0.5bps", "less than the smallest unit");
    }

    void CheckRounding()
    {
        std::vector<Link> links = MakeLinks({10 * GIGABIT, 25 * GIGABIT, 100 * GIGABIT});
        links[1].capacity = 2;
        links[2].capacity = 10;
        const CapacityRounding rounding = ComputeCapacityRounding(Topology("line", 4, 0, links));
        NS_TEST_ASSERT_MSG_EQ(rounding.unitRateBps, 1e10, "unit rate");
        NS_TEST_ASSERT_MSG_EQ(rounding.worstLoss, 0.2, "5 of 25 Gb/s are lost");
        NS_TEST_ASSERT_MSG_EQ(rounding.worstLink, 1, "the link that loses them");
        const CapacityRounding none = ComputeCapacityRounding(MakeBCube(4, 1));
        NS_TEST_ASSERT_MSG_EQ(none.worstLoss, 0, "equal links lose nothing");
        NS_TEST_ASSERT_MSG_EQ(none.unitRateBps, 1e10, "and carry one unit flow");
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
    void DoRun() override
    {
        for (const char* spec : {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "torus:4x4"})
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
            NS_TEST_ASSERT_MSG_EQ(
                (Degrade(topology, 0.1, 1).GetLinks() == Degrade(topology, 0.1, 2).GetLinks()),
                false,
                "another seed removes others");
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

/// @ingroup allreduce-test
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
        AddTestCase(new TopologyFileTestCase);
        AddTestCase(new CapacityTestCase);
        AddTestCase(new ModifierTestCase);
    }
};

TopologyTestSuite g_topologyTestSuite; //!< registers the suite

} // namespace
