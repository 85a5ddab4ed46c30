/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-topology.h"
#include "ns3/ideal-time.h"
#include "ns3/test.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <random>
#include <set>
#include <utility>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return the roots of nServers * m chunks, m for each server
std::vector<NodeId>
MakeRoots(uint32_t nServers, uint32_t m)
{
    std::vector<NodeId> roots;
    for (NodeId server = 0; server < nServers; ++server)
    {
        roots.insert(roots.end(), m, server);
    }
    return roots;
}

/// @return the bound of that name, or one of 0 rounds if there is none
LowerBound
GetBound(const LowerBounds& bounds, const std::string& name)
{
    for (const LowerBound& bound : bounds.all)
    {
        if (bound.name == name)
        {
            return bound;
        }
    }
    return {"none", 0, ""};
}

/// @return the bound of that name for m chunks at each server
LowerBound
GetBound(const Topology& topology, const std::string& name, uint32_t m = 1)
{
    return GetBound(ComputeLowerBounds(topology, MakeRoots(topology.GetNServers(), m)), name);
}

/// @return a connected random network
Topology
MakeRandom(std::mt19937& rng, uint32_t maxServers, uint32_t maxSwitches, uint32_t maxCapacity)
{
    auto draw = [&](uint32_t low, uint32_t high) -> uint32_t {
        return low + rng() % (high - low + 1);
    };
    while (true)
    {
        const uint32_t nServers = draw(2, maxServers);
        const uint32_t nNodes = nServers + draw(0, maxSwitches);
        const uint32_t percent = draw(10, 60);
        std::vector<Link> links;
        for (NodeId b = 1; b < nNodes; ++b)
        {
            for (NodeId a = 0; a < b; ++a)
            {
                if (draw(1, 100) <= percent)
                {
                    links.push_back({a, b, draw(1, maxCapacity)});
                }
            }
        }
        Topology topology("random", nServers, nNodes - nServers, std::move(links));
        if (topology.AreServersConnected())
        {
            return topology;
        }
    }
}

/// @return a clique of servers, as links
std::vector<Link>
MakeClique(NodeId first, uint32_t count, uint32_t capacity)
{
    std::vector<Link> links;
    for (NodeId b = first; b < first + count; ++b)
    {
        for (NodeId a = first; a < b; ++a)
        {
            links.push_back({a, b, capacity});
        }
    }
    return links;
}

uint64_t
DivideUp(uint64_t numerator, uint64_t denominator)
{
    return (numerator + denominator - 1) / denominator;
}

/// The reference instances, and the closed form where all servers have as many ports.
class KnownBoundsTestCase : public TestCase
{
  public:
    KnownBoundsTestCase()
        : TestCase("Bounds of the reference instances")
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::pair<std::string, uint64_t>> expected{
            {"bcube:3,1", 8},
            {"bcube:4,1", 15},
            {"bcube:5,1", 24},
            {"bcube:6,1", 35},
            {"bcube:3,2", 18},
            {"bcube:4,2", 42},
            {"dcell:3,1", 11},
            {"dcell:4,1", 19},
            {"dcell:5,1", 29},
            {"dcell:6,1", 41},
            {"dcell:2,2", 28},
            {"jellyfish:10,3,2", 38},
            {"jellyfish:16,4,2", 62},
            {"jellyfish:20,4,1", 38},
            {"jellyfish:20,5,3", 118},
            {"jellyfish:32,6,4", 254},
        };
        for (const auto& [name, rounds] : expected)
        {
            const Topology topology = ParseTopology(name);
            const uint32_t nServers = topology.GetNServers();
            CheckBest(topology, 1, rounds);
            const uint32_t nPorts = topology.GetPorts(0).size();
            CheckBest(topology, nPorts, 2 * (nServers - 1));
            CheckBest(topology, 5, DivideUp(10 * (nServers - 1), nPorts));
        }
    }

    void CheckBest(const Topology& topology, uint32_t m, uint64_t rounds)
    {
        const LowerBounds bounds =
            ComputeLowerBounds(topology, MakeRoots(topology.GetNServers(), m));
        NS_TEST_ASSERT_MSG_EQ(bounds.GetBest().rounds, rounds, topology.GetName() << " m=" << m);
        NS_TEST_ASSERT_MSG_EQ(bounds.GetBest().name, "prices", topology.GetName() << " m=" << m);
    }
};

/// Networks with a bottleneck that is known.
class BottleneckTestCase : public TestCase
{
  public:
    BottleneckTestCase()
        : TestCase("The bound by prices names the bottleneck")
    {
    }

  private:
    void DoRun() override
    {
        CheckCliques();
        CheckSlowRack();
        CheckThinSwitch();
        CheckRails();
    }

    /// Four servers with 8 links of 400 Gb/s to 8 switches, one with 4 of 100 Gb/s.
    void CheckRails()
    {
        std::vector<Link> links;
        for (NodeId rail = 5; rail < 13; ++rail)
        {
            for (NodeId server = 0; server < 4; ++server)
            {
                links.push_back({server, rail, 4, 400'000'000'000});
            }
            if (rail < 9)
            {
                links.push_back({4, rail, 1, 100'000'000'000});
            }
        }
        const Topology rails("rails", 5, 8, links);
        const LowerBounds bounds = ComputeLowerBounds(rails, MakeRoots(5, 8));
        NS_TEST_EXPECT_MSG_EQ(GetBound(bounds, "prices").bottleneck,
                              "server 4, 4 links of 100 Gb/s",
                              "prices");
        NS_TEST_EXPECT_MSG_EQ(GetBound(bounds, "head-tail").bottleneck,
                              "the way into server 4, 4 links of 100 Gb/s, from round 1 on",
                              "head-tail");
        NS_TEST_EXPECT_MSG_EQ(ComputeIdealTime(rails, {0}, 64 << 20).GetReason(),
                              "server 4, 4 links of 100 Gb/s",
                              "the ideal");
    }

    /// Cliques of 4 and 5 servers, joined by one link.
    void CheckCliques()
    {
        std::vector<Link> links = MakeClique(0, 5, 1);
        for (const Link& link : MakeClique(5, 4, 1))
        {
            links.push_back(link);
        }
        links.push_back({4, 5, 1});
        const LowerBound bound = GetBound(Topology("cliques", 9, 0, links), "prices", 2);
        NS_TEST_ASSERT_MSG_EQ(bound.rounds, 18, "all chunks over one link");
        NS_TEST_ASSERT_MSG_EQ(bound.bottleneck, "servers 5 to 8, link 4-5 of 10 Gb/s", "cliques");
    }

    /// Eight servers at a switch with one uplink to a switch with eight fast servers.
    void CheckSlowRack()
    {
        std::vector<Link> links{{16, 17, 1}};
        for (NodeId server = 0; server < 8; ++server)
        {
            links.push_back({server, 16, 1});
            links.push_back({server + 8, 17, 4});
        }
        const LowerBound bound = GetBound(Topology("racks", 16, 2, links), "prices", 9);
        NS_TEST_ASSERT_MSG_EQ(bound.rounds, 256, "144 chunks, 8 slow servers: 2 * 8 / (8 + 1)");
        NS_TEST_ASSERT_MSG_EQ(bound.bottleneck.find("9 parts, 9 links of 10 Gb/s between them: "
                                                    "servers 8 to 15 | server 0 | server 1"),
                              0,
                              bound.bottleneck);
    }

    /// A server's wide link does not help if it leads to a switch with a thin one.
    void CheckThinSwitch()
    {
        std::vector<Link> links = MakeClique(0, 3, 5);
        links.push_back({3, 4, 9});
        links.push_back({4, 0, 2});
        const LowerBound bound = GetBound(Topology("thin", 4, 1, links), "prices", 3);
        NS_TEST_ASSERT_MSG_EQ(bound.rounds, 6, "12 chunks over capacity 2");
        NS_TEST_ASSERT_MSG_EQ(bound.bottleneck, "server 3, link 0-4 of 10 Gb/s", "the thin link");
    }
};

/// The rounds of the beginning are added where a server has few ports.
class HeadTailTestCase : public TestCase
{
  public:
    HeadTailTestCase()
        : TestCase("The head-tail bound adds the rounds until sums are final")
    {
    }

  private:
    void DoRun() override
    {
        // A sum is final at server 0 after two rounds and comes to server 2, which has one port, in
        // the fourth round; the last of three in the sixth.
        const Topology path("path", 3, 0, {{0, 1}, {1, 2}});
        CheckRounds(path, {0, 0, 0}, 6);
        // One port each: contributions double, so that the last of 8 come to the root in round 3,
        // those of the last of 5 chunks in round 7, and the sum needs 3 rounds back.
        CheckRounds(MakeTestStar(8), std::vector<NodeId>(5, 0), 10);
        for (const auto& [spec, rounds] :
             std::vector<std::pair<std::string, uint64_t>>{{"bcube:3,1", 20},
                                                           {"bcube:4,1", 35},
                                                           {"dcell:3,1", 26},
                                                           {"dcell:4,1", 43}})
        {
            const Topology topology = Degrade(ParseTopology(spec), 0.05, 3);
            CheckRounds(topology, MakeRoots(topology.GetNServers(), 2), rounds);
        }
    }

    void CheckRounds(const Topology& topology, const std::vector<NodeId>& roots, uint64_t expected)
    {
        const LowerBounds bounds = ComputeLowerBounds(topology, roots);
        NS_TEST_EXPECT_MSG_EQ(GetBound(bounds, "head-tail").rounds, expected, topology.GetName());
    }
};

/// Hop bound on known networks and against shortest paths by Floyd and Warshall.
class HopBoundTestCase : public TestCase
{
  public:
    HopBoundTestCase()
        : TestCase("Hop bound")
    {
    }

  private:
    void DoRun() override
    {
        const Topology path("path", 5, 0, {{0, 1}, {1, 2}, {2, 3}, {3, 4}});
        NS_TEST_ASSERT_MSG_EQ(GetHops(path, {0}), 8, "from one end to the other and back");
        NS_TEST_ASSERT_MSG_EQ(GetHops(path, {2}), 4, "root in the middle");
        NS_TEST_ASSERT_MSG_EQ(GetHops(path, {2, 2, 1}), 6, "the worst root counts");
        const Topology chain("chain", 2, 3, {{0, 2}, {2, 3}, {3, 4}, {4, 1}});
        NS_TEST_ASSERT_MSG_EQ(GetHops(chain, {0, 1}), 2, "switches do not count");
        CheckAll("torus:6", 6);
        CheckAll("torus:4x5", 8);
        CheckAll("torus:3x3x3", 6);
        CheckAll("bcube:4,2", 6);
        CheckAll("dcell:4,1", 6);
        // One port each: the contributions of 16 servers double four times, those of 32 five times.
        CheckAll("fattree:4", 8);
        CheckAll("jellyfish:16,4,2", 10);
        std::mt19937 rng(2);
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology topology = MakeRandom(rng, 8, 4, 1);
            const NodeId root = rng() % topology.GetNServers();
            NS_TEST_ASSERT_MSG_GT_OR_EQ(GetHops(topology, {root}),
                                        2 * GetEccentricity(topology, root),
                                        "network " << i);
        }
    }

    void CheckAll(const std::string& name, uint64_t rounds)
    {
        NS_TEST_ASSERT_MSG_EQ(GetBound(ParseTopology(name), "hops").rounds, rounds, name);
    }

    uint64_t GetHops(const Topology& topology, const std::vector<NodeId>& roots)
    {
        return GetBound(ComputeLowerBounds(topology, roots), "hops").rounds;
    }

    uint64_t GetEccentricity(const Topology& topology, NodeId root)
    {
        const uint32_t n = topology.GetNNodes();
        std::vector<std::vector<uint64_t>> distance(n, std::vector<uint64_t>(n, 1000));
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            distance[topology.GetSource(link)][topology.GetTarget(link)] =
                topology.IsServer(topology.GetSource(link));
        }
        for (NodeId k = 0; k < n; ++k)
        {
            for (NodeId i = 0; i < n; ++i)
            {
                for (NodeId j = 0; j < n; ++j)
                {
                    distance[i][j] = std::min(distance[i][j], distance[i][k] + distance[k][j]);
                }
            }
        }
        uint64_t eccentricity = 0;
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            eccentricity = std::max(eccentricity, server == root ? 0 : distance[server][root]);
        }
        return eccentricity;
    }
};

/// All ways between two servers over switches, and what a round puts on them.
class RoundRoutes
{
  public:
    /// A way from one server to another.
    struct Route
    {
        NodeId source;                     //!< where it begins
        NodeId target;                     //!< where it ends
        std::vector<DirectedLinkId> links; //!< over which it goes
    };

    explicit RoundRoutes(const Topology& topology)
        : m_topology(topology)
    {
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            ListPaths({server}, {});
        }
        Clear();
    }

    const std::vector<Route>& Get() const
    {
        return m_routes;
    }

    /// Begin another round.
    void Clear()
    {
        m_load.assign(m_topology.GetNDirectedLinks(), 0);
    }

    bool HasRoom(const Route& r) const
    {
        return std::all_of(r.links.begin(), r.links.end(), [&](DirectedLinkId link) {
            return m_load[link] < m_topology.GetCapacity(link);
        });
    }

    void AddLoad(const Route& r, int32_t sign)
    {
        for (const DirectedLinkId link : r.links)
        {
            m_load[link] += sign;
        }
    }

  private:
    void ListPaths(Path path, std::vector<DirectedLinkId> links)
    {
        for (const Topology::Port& port : m_topology.GetPorts(path.back()))
        {
            if (std::find(path.begin(), path.end(), port.neighbor) != path.end())
            {
                continue;
            }
            links.push_back(port.out);
            if (m_topology.IsServer(port.neighbor))
            {
                m_routes.push_back({path.front(), port.neighbor, links});
            }
            else
            {
                path.push_back(port.neighbor);
                ListPaths(path, links);
                path.pop_back();
            }
            links.pop_back();
        }
    }

    const Topology& m_topology;   //!< the network
    std::vector<Route> m_routes;  //!< between two servers, over switches only
    std::vector<uint32_t> m_load; //!< by directed link: workloads of this round
};

/**
 * Search breadth-first, round by round.
 *
 * @param start the first state
 * @param end the last one
 * @param limit rounds that are too many
 * @param next where tryRounds puts the states that a round can lead to
 * @param tryRounds tries all rounds from a state
 * @return the least number of rounds, or the limit if it is not less than that
 */
template <typename State, typename Try>
uint64_t
CountLeastRounds(const State& start,
                 const State& end,
                 uint64_t limit,
                 std::set<State>& next,
                 const Try& tryRounds)
{
    std::set<State> seen{start};
    next = {start};
    for (uint64_t round = 1; round < limit; ++round)
    {
        for (const State& state : std::exchange(next, {}))
        {
            tryRounds(state);
        }
        if (next.count(end))
        {
            return round;
        }
        for (auto it = next.begin(); it != next.end();)
        {
            it = seen.insert(*it).second ? std::next(it) : next.erase(it);
        }
    }
    return limit;
}

/**
 * Finds the least rounds of an AllReduce without roots by breadth-first search. A chunk's state is,
 * for each server, whose contributions it has heard of. A message brings all that its sender has
 * heard of before the round, as if sums could be taken apart: no algorithm can do better.
 */
class GossipSearch
{
  public:
    GossipSearch(const Topology& topology, uint32_t nChunks)
        : m_nServers(topology.GetNServers()),
          m_nChunks(nChunks),
          m_routes(topology)
    {
    }

    /// @return the least number of rounds, or the limit if it is not less than that
    uint64_t Run(uint64_t limit)
    {
        const uint32_t all = (1U << m_nServers) - 1;
        State start;
        for (uint32_t i = 0; i < m_nChunks * m_nServers; ++i)
        {
            start.push_back(1U << i % m_nServers);
        }
        const State end(start.size(), all);
        return CountLeastRounds(start, end, limit, m_next, [this](const State& state) {
            m_before = state;
            m_after = state;
            m_routes.Clear();
            ChooseMessages(0);
        });
    }

  private:
    using State = std::vector<uint8_t>; // [chunk][server]: whom it has heard of

    /// Try, from this message on, all rounds to which nothing could be added: to hear is no loss.
    void ChooseMessages(uint32_t message)
    {
        const uint32_t nRoutes = m_routes.Get().size();
        if (message == m_nChunks * nRoutes)
        {
            if (!CanAdd())
            {
                m_next.insert(m_after);
            }
            return;
        }
        const auto& route = m_routes.Get()[message % nRoutes];
        uint8_t& heard = m_after[message / nRoutes * m_nServers + route.target];
        const uint8_t told = m_before[message / nRoutes * m_nServers + route.source];
        if ((told & ~heard) != 0 && m_routes.HasRoom(route))
        {
            const uint8_t last = std::exchange(heard, heard | told);
            m_routes.AddLoad(route, 1);
            ChooseMessages(message + 1);
            m_routes.AddLoad(route, -1);
            heard = last;
        }
        ChooseMessages(message + 1);
    }

    bool CanAdd() const
    {
        for (uint32_t chunk = 0; chunk < m_nChunks; ++chunk)
        {
            for (const auto& route : m_routes.Get())
            {
                const uint8_t told = m_before[chunk * m_nServers + route.source];
                const uint8_t heard = m_after[chunk * m_nServers + route.target];
                if ((told & ~heard) != 0 && m_routes.HasRoom(route))
                {
                    return true;
                }
            }
        }
        return false;
    }

    uint32_t m_nServers;    //!< number of servers
    uint32_t m_nChunks;     //!< number of chunks
    RoundRoutes m_routes;   //!< ways, and what is on them
    State m_before;         //!< before the round
    State m_after;          //!< after it, as far as it is chosen
    std::set<State> m_next; //!< states that the round can lead to
};

/**
 * Finds the true optimum of a tiny instance by breadth-first search over all states. A chunk's
 * state is a set of servers: those that hold contributions or, once only the root does, those that
 * hold the final sum.
 */
class ExhaustiveSearch
{
  public:
    ExhaustiveSearch(const Topology& topology, std::vector<NodeId> roots)
        : m_routes(topology),
          m_roots(std::move(roots)),
          m_all((1U << topology.GetNServers()) - 1)
    {
    }

    /// @return the least number of rounds, or the limit if it is not less than that
    uint64_t Run(uint64_t limit)
    {
        const State start(m_roots.size(), {false, m_all});
        const State end(m_roots.size(), {true, m_all});
        return CountLeastRounds(start, end, limit, m_next, [this](const State& state) {
            m_stayed = state;
            m_arrived.assign(m_roots.size(), 0);
            m_routes.Clear();
            ChooseWorkloads(0, 0);
        });
    }

  private:
    struct ChunkState
    {
        bool final;       //!< whether the sum is final
        uint32_t holders; //!< who holds something of it

        bool operator<(const ChunkState& other) const
        {
            return std::pair(final, holders) < std::pair(other.final, other.holders);
        }
    };

    using State = std::vector<ChunkState>;

    using Route = RoundRoutes::Route;

    /// Try, from this chunk and route on, all sets of workloads that fit into the round.
    void ChooseWorkloads(uint32_t chunk, uint32_t route)
    {
        if (chunk == m_roots.size())
        {
            m_next.insert(GetOutcome());
            return;
        }
        if (route == m_routes.Get().size())
        {
            ChooseWorkloads(chunk + 1, 0);
            return;
        }
        ChooseWorkloads(chunk, route + 1);
        const Route& r = m_routes.Get()[route];
        if (!IsUseful(chunk, r) || !m_routes.HasRoom(r))
        {
            return;
        }
        const uint32_t stayed = m_stayed[chunk].holders;
        const uint32_t arrived = m_arrived[chunk];
        m_stayed[chunk].holders &= m_stayed[chunk].final ? m_all : ~(1U << r.source);
        m_arrived[chunk] |= 1U << r.target;
        m_routes.AddLoad(r, 1);
        ChooseWorkloads(chunk, route + 1);
        m_routes.AddLoad(r, -1);
        m_stayed[chunk].holders = stayed;
        m_arrived[chunk] = arrived;
    }

    bool IsUseful(uint32_t chunk, const Route& r) const
    {
        const ChunkState& state = m_stayed[chunk];
        const bool holds = state.holders >> r.source & 1;
        const bool reached = (state.holders | m_arrived[chunk]) >> r.target & 1;
        return holds && (state.final ? !reached : r.source != m_roots[chunk]);
    }

    /// @return the state after the round that has been chosen
    State GetOutcome() const
    {
        State state = m_stayed;
        for (uint32_t chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            state[chunk].holders |= m_arrived[chunk];
            state[chunk].final |= state[chunk].holders == 1U << m_roots[chunk];
        }
        return state;
    }

    RoundRoutes m_routes;            //!< ways, and what is on them
    std::vector<NodeId> m_roots;     //!< by chunk
    uint32_t m_all;                  //!< all servers
    State m_stayed;                  //!< what has not been sent away in this round
    std::vector<uint32_t> m_arrived; //!< by chunk: who receives something in this round
    std::set<State> m_next;          //!< states that the round can lead to
};

/// No bound is larger than the true optimum of tiny instances.
class OptimumTestCase : public TestCase
{
  public:
    OptimumTestCase()
        : TestCase("Bounds do not exceed the optimum of exhaustive search")
    {
    }

  private:
    void DoRun() override
    {
        const Topology pair("pair", 2, 0, {{0, 1}});
        const Topology triangle("triangle", 3, 0, MakeClique(0, 3, 1));
        const Topology path("path", 3, 0, {{0, 1}, {1, 2}});
        const Topology star("star", 3, 1, {{0, 3}, {1, 3}, {2, 3}});
        const Topology rack("rack", 4, 2, {{0, 4}, {1, 4}, {4, 5}, {2, 5, 3}, {3, 5, 3}});
        CheckOptimum(pair, {0, 1}, 2);
        CheckOptimum(pair, {0, 0, 1, 1}, 4);
        CheckOptimum(pair, {0, 0, 0}, 4);
        CheckOptimum(triangle, {0, 1, 2}, 2);
        CheckOptimum(triangle, {0, 0, 1}, 3);
        CheckOptimum(path, {0}, 4);
        CheckOptimum(path, {1}, 2);
        CheckOptimum(path, {0, 1, 2}, 4);
        CheckOptimum(star, {0, 1, 2}, 4);
        CheckOptimum(star, {0, 0, 1}, 5);
        CheckOptimum(rack, {2, 3}, 5);
        CheckRandom();
        CheckWithoutRoots();
    }

    void CheckOptimum(const Topology& topology, const std::vector<NodeId>& roots, uint64_t expected)
    {
        const uint64_t optimum = ExhaustiveSearch(topology, roots).Run(10);
        NS_TEST_EXPECT_MSG_EQ(optimum, expected, topology.GetName());
        CheckBounds(topology, roots, optimum);
    }

    /// @return whether the largest bound is the optimum
    bool CheckBounds(const Topology& topology, const std::vector<NodeId>& roots, uint64_t optimum)
    {
        const LowerBounds bounds = ComputeLowerBounds(topology, roots);
        for (const LowerBound& bound : bounds.all)
        {
            NS_TEST_EXPECT_MSG_LT_OR_EQ(bound.rounds, optimum, topology.GetName() << bound.name);
        }
        CheckIdeal(topology, roots.size(), optimum);
        return bounds.GetBest().rounds == optimum;
    }

    /// The ideal is no more than what plans of so many rounds take: with links that carry a chunk
    /// for each capacity in a second, and delays or none.
    void CheckIdeal(const Topology& topology, uint64_t nChunks, uint64_t rounds)
    {
        constexpr uint64_t CHUNK_BYTES = 1000;
        std::size_t longest = 0;
        const RoundRoutes routes(topology);
        for (const auto& route : routes.Get())
        {
            longest = std::max(longest, route.links.size());
        }
        for (const int64_t seconds : {0, 2})
        {
            std::vector<Link> links = topology.GetLinks();
            for (Link& link : links)
            {
                link.rateBps = 8 * CHUNK_BYTES * link.capacity;
                link.delayNs = seconds * 1'000'000'000;
            }
            const IdealTime ideal =
                ComputeIdealTime(topology.WithLinks("timed", links), {0}, nChunks * CHUNK_BYTES);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(ideal.seconds,
                                        rounds * (1.0 + longest * seconds) * (1 + 1e-12),
                                        topology.GetName() << ", delays of " << seconds << " s");
        }
    }

    /// Bound by prices and ideal hold without roots, too.
    void CheckRootless(const Topology& topology, uint32_t nChunks, uint64_t optimum)
    {
        const LowerBounds bounds = ComputeLowerBounds(topology, std::vector<NodeId>(nChunks, 0));
        NS_TEST_EXPECT_MSG_LT_OR_EQ(GetBound(bounds, "prices").rounds,
                                    optimum,
                                    topology.GetName() << " without roots");
        CheckIdeal(topology, nChunks, optimum);
    }

    void CheckWithoutRoots()
    {
        // Recursive doubling: one round with roots less than the two that a root needs.
        const Topology pair("pair", 2, 0, {{0, 1}});
        const Topology square("square", 4, 0, {{0, 1}, {1, 2}, {2, 3}, {3, 0}});
        NS_TEST_EXPECT_MSG_EQ(GossipSearch(pair, 1).Run(10), 1, "both send at once");
        NS_TEST_EXPECT_MSG_EQ(GossipSearch(square, 1).Run(10), 2, "recursive doubling");
        NS_TEST_EXPECT_MSG_EQ(ExhaustiveSearch(square, {0}).Run(10), 4, "with a root");
        std::mt19937 rng(4);
        for (uint32_t i = 0; i < 150; ++i)
        {
            const Topology topology = MakeRandom(rng, 4, 2, 2);
            const uint32_t nChunks = 1 + rng() % (topology.GetNServers() == 4 ? 1 : 2);
            CheckRootless(topology, nChunks, GossipSearch(topology, nChunks).Run(20));
        }
    }

    void CheckRandom()
    {
        std::mt19937 rng(3);
        uint32_t nTight = 0;
        for (uint32_t i = 0; i < 250; ++i)
        {
            const Topology topology = MakeRandom(rng, 4, 2, 2);
            const uint32_t nServers = topology.GetNServers();
            std::vector<NodeId> roots(1 + rng() % (nServers == 4 ? 2 : nServers == 3 ? 4 : 6));
            for (NodeId& root : roots)
            {
                root = rng() % nServers;
            }
            nTight += CheckBounds(topology, roots, ExhaustiveSearch(topology, roots).Run(20));
        }
        NS_TEST_ASSERT_MSG_GT(nTight, 200, "the bounds are loose on many instances");
    }
};

/// What there is no schedule for, and what needs none.
class BoundsInputTestCase : public TestCase
{
  public:
    BoundsInputTestCase()
        : TestCase("Bounds of unusual input")
    {
    }

  private:
    void DoRun() override
    {
        const Topology apart("apart", 4, 1, {{0, 1}, {2, 3}, {1, 4}});
        CheckMessage(apart, {0}, "server 0 and server 2 cannot reach each other");
        CheckMessage(Topology("apart", 2, 0, {}), {0}, "server 0 and server 1");
        CheckMessage(MakeTorus({3}), {0, 3}, "chunk root 3 is not a server of torus:3");
        const Topology alone("alone", 1, 0, {});
        NS_TEST_ASSERT_MSG_EQ(ComputeLowerBounds(alone, std::vector<NodeId>{0, 0}).GetBest().rounds,
                              0,
                              "one server");
        NS_TEST_ASSERT_MSG_EQ(ComputeLowerBounds(MakeTorus({3}), {}).GetBest().rounds,
                              0,
                              "no chunk");
        const uint32_t huge = UINT32_MAX;
        const Topology wide("wide", 3, 0, {{0, 1, huge}, {1, 2, huge}});
        NS_TEST_ASSERT_MSG_EQ(GetBound(wide, "prices").rounds, 1, "capacities of 32 bits");
    }

    void CheckMessage(const Topology& topology,
                      const std::vector<NodeId>& roots,
                      const std::string& part)
    {
        const std::string message = GetError([&] { ComputeLowerBounds(topology, roots); });
        NS_TEST_ASSERT_MSG_NE(message.find(part), std::string::npos, message);
        NS_TEST_ASSERT_MSG_EQ(message.find(topology.GetName()), 0, message);
    }
};

/// @ingroup allreduce-tests
class BoundsTestSuite : public TestSuite
{
  public:
    BoundsTestSuite()
        : TestSuite("allreduce-bounds", TestSuite::Type::UNIT)
    {
        AddTestCase(new KnownBoundsTestCase);
        AddTestCase(new BottleneckTestCase);
        AddTestCase(new HeadTailTestCase);
        AddTestCase(new HopBoundTestCase);
        AddTestCase(new OptimumTestCase, EXTENSIVE);
        AddTestCase(new BoundsInputTestCase);
    }
};

BoundsTestSuite g_boundsTestSuite; //!< registers the suite

} // namespace
