/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/broadcast-problem.h"
#include "ns3/greedy-planner.h"
#include "ns3/test.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return the problem on this network in which nobody holds or wants anything
BroadcastProblem
MakeEmptyProblem(const Topology& topology, uint32_t nChunks)
{
    BroadcastProblem problem;
    problem.topology = &topology;
    problem.nChunks = nChunks;
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        problem.capacity.push_back(topology.GetCapacity(link));
    }
    problem.holders = BitMatrix(topology.GetNServers(), nChunks);
    problem.wants = BitMatrix(topology.GetNServers(), nChunks);
    return problem;
}

/// @return the broadcast half of an AllReduce: each server's chunks go to all others
BroadcastProblem
MakeAllToAll(const Topology& topology, uint32_t chunksPerServer)
{
    const uint32_t nChunks = topology.GetNServers() * chunksPerServer;
    BroadcastProblem problem = MakeEmptyProblem(topology, nChunks);
    for (ChunkId chunk = 0; chunk < nChunks; ++chunk)
    {
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            const bool isRoot = chunk / chunksPerServer == server;
            (isRoot ? problem.holders : problem.wants).Set(server, chunk);
        }
    }
    return problem;
}

/// Replays a plan with sets and maps and says what is wrong with it; knows nothing of the planner.
class PlanChecker
{
  public:
    explicit PlanChecker(const BroadcastProblem& problem)
        : m_problem(problem),
          m_topology(*problem.topology)
    {
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
            {
                if (problem.holders.Test(server, chunk))
                {
                    m_held.insert({server, chunk});
                }
            }
        }
    }

    /// @return the first thing that is wrong, or ""
    std::string Check(const BroadcastPlan& plan)
    {
        for (const WorkloadList& round : plan)
        {
            CheckRound(round);
        }
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < m_problem.nChunks; ++chunk)
            {
                Expect(!m_problem.wants.Test(server, chunk) || m_held.count({server, chunk}),
                       "a wanted chunk is not there in the end");
            }
        }
        return m_error;
    }

    /// @return how many chunks were sent to servers that do not want them
    uint32_t GetNRelayed() const
    {
        return m_nRelayed;
    }

  private:
    void Expect(bool condition, const char* message)
    {
        if (!condition && m_error.empty())
        {
            m_error = message;
        }
    }

    void CheckRound(const WorkloadList& round)
    {
        Expect(!round.IsEmpty(), "a round is empty");
        std::map<std::pair<NodeId, NodeId>, uint32_t> load;
        std::set<std::pair<NodeId, ChunkId>> arrived;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            const std::pair<NodeId, ChunkId> arrival{workload.GetTarget(), workload.chunk};
            CheckPath(workload.path, load);
            Expect(workload.kind == WorkloadKind::BROADCAST, "a workload is not a broadcast");
            Expect(m_held.count({workload.GetSource(), workload.chunk}),
                   "the sender did not hold the chunk when the round began");
            Expect(!m_held.count(arrival), "the receiver has the chunk already");
            Expect(arrived.insert(arrival).second, "a chunk is sent to a server twice in a round");
            m_nRelayed += m_problem.wants.Test(arrival.first, arrival.second) ? 0 : 1;
        }
        m_held.insert(arrived.begin(), arrived.end());
    }

    void CheckPath(const NodeRange& path, std::map<std::pair<NodeId, NodeId>, uint32_t>& load)
    {
        Expect(path.size() >= 2, "a path is too short");
        Expect(m_topology.IsServer(path.front()), "a path begins at a switch");
        Expect(m_topology.IsServer(path.back()), "a path ends at a switch");
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            Expect(i == 0 || !m_topology.IsServer(path[i]), "a path leads through a server");
            const auto link = m_topology.FindDirectedLink(path[i], path[i + 1]);
            Expect(link.has_value(), "a path takes a link that is not there");
            Expect(link && ++load[{path[i], path[i + 1]}] <= m_problem.capacity[*link],
                   "a link carries more than its capacity");
        }
    }

    const BroadcastProblem& m_problem;           //!< the problem
    const Topology& m_topology;                  //!< its network
    std::set<std::pair<NodeId, ChunkId>> m_held; //!< who has what
    uint32_t m_nRelayed{0};                      //!< chunks sent to servers that do not want them
    std::string m_error;                         //!< the first thing that is wrong
};

/// @return the plan in words, to be compared
std::string
ToText(const BroadcastPlan& plan)
{
    std::ostringstream text;
    for (const WorkloadList& round : plan)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            text << workload.chunk << ':'
                 << FormatPath(Path(workload.path.begin(), workload.path.end())) << ' ';
        }
        text << '\n';
    }
    return text.str();
}

/// A network, and how many rounds of AllReduce (twice those of the broadcast) are good enough.
struct Reference
{
    const char* topology; //!< the network
    uint32_t oneSample;   //!< with one chunk for each server and one sample
    uint32_t manySamples; //!< with one chunk for each server and 64 samples
    uint32_t manyChunks;  //!< with as many chunks as ports for each server and 64 samples
};

const std::vector<Reference> REFERENCES{
    {"bcube:3,1", 10, 8, 16},
    {"bcube:4,1", 16, 16, 30},
    {"bcube:5,1", 24, 24, 48},
    {"bcube:6,1", 36, 36, 70},
    {"bcube:3,2", 18, 18, 52},
    {"bcube:4,2", 42, 42, 126},
    {"dcell:3,1", 12, 12, 22},
    {"dcell:4,1", 20, 20, 38},
    {"dcell:5,1", 32, 30, 58},
    {"dcell:6,1", 42, 42, 82},
    {"dcell:2,2", 28, 28, 82},
    {"jellyfish:10,3,2", 38, 38, 38},
    {"jellyfish:16,4,2", 64, 62, 62},
    {"jellyfish:20,4,1", 38, 38, 38},
    {"jellyfish:20,5,3", 118, 118, 118},
    {"jellyfish:32,6,4", 256, 254, 254},
};

/// @return a random network: some servers at switches, some joined directly, all connected
Topology
MakeRandomTopology(std::mt19937_64& random)
{
    const uint32_t nServers = 2 + random() % 9;
    const uint32_t nSwitches = random() % 5;
    const uint32_t nNodes = nServers + nSwitches;
    std::set<std::pair<NodeId, NodeId>> pairs;
    for (NodeId node = 1; node < nNodes; ++node)
    {
        pairs.insert({static_cast<NodeId>(random() % node), node});
    }
    for (uint32_t i = random() % (2 * nNodes); i > 0; --i)
    {
        const NodeId a = random() % nNodes;
        const NodeId b = random() % nNodes;
        if (a != b)
        {
            pairs.insert({std::min(a, b), std::max(a, b)});
        }
    }
    std::vector<Link> links;
    for (const auto& [a, b] : pairs)
    {
        Link link;
        link.a = a;
        link.b = b;
        link.capacity = 1 + random() % 3 / 2;
        links.push_back(link);
    }
    return Topology("random", nServers, nSwitches, links);
}

/// @return a random problem: several holders, some who want, some links down in one direction
BroadcastProblem
MakeRandomProblem(const Topology& topology, std::mt19937_64& random)
{
    const uint32_t nServers = topology.GetNServers();
    BroadcastProblem problem = MakeEmptyProblem(topology, 1 + random() % (3 * nServers));
    const bool everyoneWants = random() % 2;
    for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
    {
        for (uint32_t i = 1 + random() % 3 / 2; i > 0; --i)
        {
            problem.holders.Set(random() % nServers, chunk);
        }
        for (NodeId server = 0; server < nServers; ++server)
        {
            if (everyoneWants || random() % 3 == 0)
            {
                problem.wants.Set(server, chunk);
            }
        }
    }
    if (random() % 2)
    {
        for (uint32_t& capacity : problem.capacity)
        {
            capacity = random() % 8 == 0 ? 0 : capacity;
        }
    }
    return problem;
}

/// @return who a chunk can reach over links that are up, by repetition until nothing changes
std::vector<bool>
FindReachable(const BroadcastProblem& problem, ChunkId chunk)
{
    const Topology& topology = *problem.topology;
    std::vector<bool> reached(topology.GetNNodes(), false);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        reached[server] = problem.holders.Test(server, chunk);
    }
    for (bool changed = true; changed;)
    {
        changed = false;
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            if (problem.capacity[link] > 0 && reached[topology.GetSource(link)] &&
                !reached[topology.GetTarget(link)])
            {
                reached[topology.GetTarget(link)] = true;
                changed = true;
            }
        }
    }
    return reached;
}

/// @return whether all that is wanted can be had
bool
IsSolvable(const BroadcastProblem& problem)
{
    for (ChunkId chunk = 0; chunk < problem.nChunks; ++chunk)
    {
        const std::vector<bool> reached = FindReachable(problem, chunk);
        for (NodeId server = 0; server < problem.topology->GetNServers(); ++server)
        {
            if (problem.wants.Test(server, chunk) && !reached[server])
            {
                return false;
            }
        }
    }
    return true;
}

/// Plans on random small networks are valid; where there can be none, the planner says so.
class RandomProblemsTestCase : public TestCase
{
  public:
    RandomProblemsTestCase()
        : TestCase("random networks, capacities, holders, wants and links down")
    {
    }

  private:
    void DoRun() override
    {
        std::mt19937_64 random(7);
        uint32_t nSolved = 0;
        for (uint32_t i = 0; i < 3000; ++i)
        {
            const Topology topology = MakeRandomTopology(random);
            const BroadcastProblem problem = MakeRandomProblem(topology, random);
            bool planned = true;
            try
            {
                const BroadcastPlan plan = PlanGreedyBroadcast(problem, i, 1 + i % 3);
                NS_TEST_ASSERT_MSG_EQ(PlanChecker(problem).Check(plan), "", "problem " << i);
            }
            catch (const InputError&)
            {
                planned = false;
            }
            NS_TEST_ASSERT_MSG_EQ(planned, IsSolvable(problem), "problem " << i);
            nSolved += planned;
        }
        NS_TEST_ASSERT_MSG_GT(nSolved, 1000, "too few of the random problems can be solved");
    }
};

/// The reference networks take no more rounds than they should.
class GreedyReferenceTestCase : public TestCase
{
  public:
    explicit GreedyReferenceTestCase(const Reference& reference)
        : TestCase(std::string("rounds on ") + reference.topology),
          m_reference(reference)
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology(m_reference.topology);
        const BroadcastProblem oneChunk = MakeAllToAll(topology, 1);
        ExpectRounds(oneChunk, 1, m_reference.oneSample);
        ExpectRounds(oneChunk, 64, m_reference.manySamples);
        const uint32_t nPorts = topology.GetPorts(0).size();
        ExpectRounds(MakeAllToAll(topology, nPorts), 64, m_reference.manyChunks);
    }

    void ExpectRounds(const BroadcastProblem& problem, uint32_t nSamples, uint32_t allReduceRounds)
    {
        const BroadcastPlan plan = PlanGreedyBroadcast(problem, 1, nSamples);
        NS_TEST_EXPECT_MSG_EQ(PlanChecker(problem).Check(plan), "", "not a valid plan");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(2 * plan.size(),
                                    allReduceRounds,
                                    problem.nChunks << " chunks, " << nSamples << " samples");
    }

    const Reference m_reference; //!< the network and what to expect
};

/**
 * @param topology a network
 * @param nRounds number of rounds
 * @param target a server
 * @return how many servers' chunks can come to the target in that many rounds, as far as the
 *         capacities of the links go
 */
uint32_t
FindMaxFlow(const Topology& topology, uint32_t nRounds, NodeId target)
{
    using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
    using Graph = boost::adjacency_list<
        boost::vecS,
        boost::vecS,
        boost::directedS,
        boost::no_property,
        boost::property<
            boost::edge_capacity_t,
            uint32_t,
            boost::property<boost::edge_residual_capacity_t,
                            uint32_t,
                            boost::property<boost::edge_reverse_t, Traits::edge_descriptor>>>>;
    const NodeId source = topology.GetNNodes();
    Graph graph(source + 1);
    auto addEdge = [&graph](NodeId from, NodeId to, uint32_t capacity) {
        const auto edge = boost::add_edge(from, to, graph).first;
        const auto back = boost::add_edge(to, from, graph).first;
        boost::put(boost::edge_capacity, graph, edge, capacity);
        boost::put(boost::edge_capacity, graph, back, 0);
        boost::put(boost::edge_reverse, graph, edge, back);
        boost::put(boost::edge_reverse, graph, back, edge);
    };
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        addEdge(topology.GetSource(link),
                topology.GetTarget(link),
                nRounds * topology.GetCapacity(link));
    }
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        addEdge(source, server, 1);
    }
    return boost::push_relabel_max_flow(graph, source, target);
}

/// @return how many rounds the links need at least to bring one chunk of each server to all others
uint32_t
FindBroadcastBound(const Topology& topology)
{
    uint32_t nRounds = 1;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        while (FindMaxFlow(topology, nRounds, server) < topology.GetNServers())
        {
            ++nRounds;
        }
    }
    return nRounds;
}

/// Networks with links missing and with wider links are planned as well as their links allow.
class ImperfectNetworksTestCase : public TestCase
{
  public:
    ImperfectNetworksTestCase()
        : TestCase("degraded networks and mixed capacities")
    {
    }

  private:
    void DoRun() override
    {
        for (const Reference& reference : REFERENCES)
        {
            const Topology whole = ParseTopology(reference.topology);
            for (uint64_t seed : {1, 2})
            {
                ExpectNearBound(Degrade(whole, 0.1, seed));
                ExpectNearBound(MixCapacity(whole, 0.3, seed));
                ExpectNearBound(MixCapacity(Degrade(whole, 0.1, seed), 0.3, seed));
            }
        }
    }

    void ExpectNearBound(const Topology& topology)
    {
        const BroadcastProblem problem = MakeAllToAll(topology, 1);
        const BroadcastPlan plan = PlanGreedyBroadcast(problem, 1, 4);
        NS_TEST_EXPECT_MSG_EQ(PlanChecker(problem).Check(plan), "", topology.GetName());
        const uint32_t bound = FindBroadcastBound(topology);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(plan.size(), bound + 1, topology.GetName());
    }
};

/// The same seed gives the same plan, however many threads there are; others give others.
class DeterminismTestCase : public TestCase
{
  public:
    DeterminismTestCase()
        : TestCase("the same seed gives the same plan")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "torus:5x5"})
        {
            const Topology topology = ParseTopology(spec);
            const BroadcastProblem problem = MakeAllToAll(topology, 1);
            const std::string plan = ToText(PlanGreedyBroadcast(problem, 5));
            NS_TEST_EXPECT_MSG_EQ(ToText(PlanGreedyBroadcast(problem, 5)), plan, spec);
            NS_TEST_EXPECT_MSG_NE(ToText(PlanGreedyBroadcast(problem, 6)), plan, spec);
            const std::string best = ToText(PlanGreedyBroadcast(problem, 5, 16));
            for (uint32_t i = 0; i < 8; ++i)
            {
                NS_TEST_EXPECT_MSG_EQ(ToText(PlanGreedyBroadcast(problem, 5, 16)), best, spec);
            }
        }
    }
};

/// Servers relay what they do not want if, and only if, there is no other way.
class GreedyRelayTestCase : public TestCase
{
  public:
    GreedyRelayTestCase()
        : TestCase("servers relay only where they must")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(5);
        BroadcastProblem problem = MakeEmptyProblem(line, 1);
        problem.holders.Set(0, 0);
        problem.wants.Set(3, 0);
        ExpectPlan(problem, 3, 2);

        const Topology cube = MakeBCube(4, 1);
        problem = MakeEmptyProblem(cube, 1);
        problem.holders.Set(0, 0);
        problem.wants.Set(3, 0);
        ExpectPlan(problem, 1, 0);
        problem.wants.Set(7, 0); // shares a switch with server 3
        ExpectPlan(problem, 2, 0);
        problem.wants.Set(10, 0); // shares one with neither 0, 3 nor 7
        ExpectPlan(problem, 3, 1);
    }

    void ExpectPlan(const BroadcastProblem& problem, uint32_t maxRounds, uint32_t nRelayed)
    {
        const BroadcastPlan plan = PlanGreedyBroadcast(problem, 1, 16);
        PlanChecker checker(problem);
        NS_TEST_EXPECT_MSG_EQ(checker.Check(plan), "", "not a valid plan");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(plan.size(), maxRounds, "number of rounds");
        NS_TEST_EXPECT_MSG_EQ(checker.GetNRelayed(), nRelayed, "number of relays");
    }
};

/// A chunk that cannot reach a server is named, and so is the server.
class UnreachableTestCase : public TestCase
{
  public:
    UnreachableTestCase()
        : TestCase("a server that cannot be reached is named")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(4);
        BroadcastProblem problem = MakeAllToAll(line, 1);
        problem.capacity[2 * 2] = 0; // from server 2 to server 3
        ExpectError(problem, "chunk 0 cannot reach server 3");
        problem = MakeAllToAll(line, 1);
        problem.holders.Clear(2, 2);
        ExpectError(problem, "chunk 2 cannot reach server 0");
    }

    void ExpectError(const BroadcastProblem& problem, const std::string& expected)
    {
        std::string message;
        try
        {
            PlanGreedyBroadcast(problem, 1, 4);
        }
        catch (const InputError& error)
        {
            message = error.what();
        }
        NS_TEST_EXPECT_MSG_EQ(message.substr(0, expected.size()), expected, "error message");
    }
};

/// Nothing to do is done in no rounds.
class NothingToDoTestCase : public TestCase
{
  public:
    NothingToDoTestCase()
        : TestCase("nothing to do")
    {
    }

  private:
    void DoRun() override
    {
        const Topology cube = MakeBCube(2, 1);
        NS_TEST_EXPECT_MSG_EQ(PlanGreedyBroadcast(MakeEmptyProblem(cube, 0), 1).size(), 0, "");
        BroadcastProblem problem = MakeEmptyProblem(cube, 3);
        problem.holders.Set(1, 2);
        problem.wants.Set(1, 2);
        NS_TEST_EXPECT_MSG_EQ(PlanGreedyBroadcast(problem, 1, 8).size(), 0, "");
    }
};

/// With many chunks only a sample of them is weighed: still valid, still at the bound.
class ManyChunksTestCase : public TestCase
{
  public:
    ManyChunksTestCase()
        : TestCase("networks too large to weigh every chunk")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:7,2", "dcell:4,2", "jellyfish:100,6,3"})
        {
            const Topology topology = ParseTopology(spec);
            const BroadcastProblem problem = MakeAllToAll(topology, 1);
            const BroadcastPlan plan = PlanGreedyBroadcast(problem, 1);
            NS_TEST_EXPECT_MSG_EQ(PlanChecker(problem).Check(plan), "", spec);
            const uint32_t nPorts = topology.GetPorts(0).size();
            const uint32_t bound = (topology.GetNServers() - 2 + nPorts) / nPorts;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(plan.size(), bound, spec);
        }
    }
};

/// All tests of the greedy planner.
class GreedyPlannerTestSuite : public TestSuite
{
  public:
    GreedyPlannerTestSuite()
        : TestSuite("allreduce-greedy-planner", TestSuite::Type::UNIT)
    {
        AddTestCase(new NothingToDoTestCase);
        AddTestCase(new GreedyRelayTestCase);
        AddTestCase(new UnreachableTestCase);
        AddTestCase(new DeterminismTestCase);
        AddTestCase(new RandomProblemsTestCase, EXTENSIVE);
        for (const Reference& reference : REFERENCES)
        {
            AddTestCase(new GreedyReferenceTestCase(reference));
        }
        AddTestCase(new ImperfectNetworksTestCase);
        AddTestCase(new ManyChunksTestCase);
    }
};

GreedyPlannerTestSuite g_greedyPlannerTestSuite; //!< registers the suite

} // namespace
