/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-state.h"
#include "ns3/schedule-verifier.h"
#include "ns3/test.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Keeps the same books as AllReduceState with sets of contributors.
class SetModel
{
  public:
    SetModel(const Topology& topology, std::vector<NodeId> roots)
        : m_topology(topology),
          m_roots(std::move(roots)),
          m_held(m_roots.size(), std::vector<Held>(topology.GetNServers())),
          m_finals(m_roots.size()),
          m_expected(m_roots.size())
    {
        for (auto& servers : m_held)
        {
            for (NodeId server = 0; server < servers.size(); ++server)
            {
                servers[server].own = {server};
            }
        }
    }

    bool IsLegal(const OwnWorkload& workload) const
    {
        return HasRoom(workload.path) && HasData(workload);
    }

    uint32_t Start(const OwnWorkload& workload)
    {
        Flight flight;
        flight.workload = workload;
        for (std::size_t i = 0; i + 1 < workload.path.size(); ++i)
        {
            ++m_load[{workload.path[i], workload.path[i + 1]}];
        }
        if (workload.kind == BROADCAST)
        {
            m_expected[workload.chunk].insert(workload.path.back());
        }
        else
        {
            Take(m_held[workload.chunk][workload.path.front()], workload, flight);
        }
        m_flights[m_nextFlight] = flight;
        return m_nextFlight++;
    }

    void Finish(uint32_t id)
    {
        const Flight flight = End(id);
        const OwnWorkload& workload = flight.workload;
        const NodeId target = workload.path.back();
        if (workload.kind == BROADCAST)
        {
            m_finals[workload.chunk].insert(target);
            return;
        }
        std::set<NodeId> sum = flight.own;
        for (const auto& unit : flight.apart)
        {
            sum.insert(unit.begin(), unit.end());
        }
        Held& held = m_held[workload.chunk][target];
        const bool isMerged = workload.contributors.empty() || target == m_roots[workload.chunk];
        if (isMerged)
        {
            held.own.insert(sum.begin(), sum.end());
            held.hasName = false;
        }
        else
        {
            held.apart.insert(sum);
        }
        if (target == m_roots[workload.chunk] && held.own.size() == m_topology.GetNServers())
        {
            m_finals[workload.chunk] = {target};
            m_expected[workload.chunk] = {target};
            held.own.clear();
        }
    }

    void Abort(uint32_t id)
    {
        const Flight flight = End(id);
        const OwnWorkload& workload = flight.workload;
        if (workload.kind == BROADCAST)
        {
            m_expected[workload.chunk].erase(workload.path.back());
            return;
        }
        Held& held = m_held[workload.chunk][workload.path.front()];
        if (!flight.own.empty())
        {
            held.hasName = held.own.empty() && flight.hasName;
        }
        held.own.insert(flight.own.begin(), flight.own.end());
        held.apart.insert(flight.apart.begin(), flight.apart.end());
    }

    void SetLinkUp(LinkId link, bool up)
    {
        const Link& ends = m_topology.GetLink(link);
        for (const auto& pair : {std::pair(ends.a, ends.b), std::pair(ends.b, ends.a)})
        {
            up ? m_down.erase(pair) : m_down.insert(pair).second;
        }
    }

    /// @return where the state differs from this, or ""
    std::string Compare(const AllReduceState& state) const
    {
        std::ostringstream difference;
        uint64_t nMissing = 0;
        for (ChunkId chunk = 0; chunk < m_roots.size(); ++chunk)
        {
            for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
            {
                const Held& held = m_held[chunk][server];
                const bool isPartial = !held.own.empty() || !held.apart.empty();
                const bool isFinal = m_finals[chunk].count(server);
                const bool isSame = state.GetPartials().Test(server, chunk) == isPartial &&
                                    state.GetFinals().Test(server, chunk) == isFinal &&
                                    state.GetExpected().Test(server, chunk) ==
                                        (m_expected[chunk].count(server) > 0);
                difference << (isSame ? "" : "a server's data ");
                nMissing += !isFinal;
            }
            const bool isSame =
                state.IsFinal(chunk) == !m_finals[chunk].empty() &&
                state.IsEverywhere(chunk) == (m_finals[chunk].size() == m_topology.GetNServers());
            difference << (isSame ? "" : "finality ");
        }
        difference << (state.GetNMissing() == nMissing ? "" : "missing ")
                   << (state.IsDone() == (nMissing == 0) ? "" : "done ");
        for (DirectedLinkId link = 0; link < m_topology.GetNDirectedLinks(); ++link)
        {
            const uint32_t room = GetRoom(m_topology.GetSource(link), m_topology.GetTarget(link));
            difference << (state.GetFreeCapacity(link) == room ? "" : "free capacity ");
        }
        return difference.str();
    }

    bool HasFlights() const
    {
        return !m_flights.empty();
    }

    /// @return the flight of a model and its number
    uint32_t DrawFlight(TestRandom& random) const
    {
        return std::next(m_flights.begin(), Draw(random, m_flights.size()))->first;
    }

    /// @return the sum of what is held and in flight is each contribution exactly once
    bool IsEachOnce(ChunkId chunk) const
    {
        if (!m_finals[chunk].empty())
        {
            return true;
        }
        std::multiset<NodeId> all;
        auto add = [&](const std::set<NodeId>& own, const std::multiset<std::set<NodeId>>& apart) {
            all.insert(own.begin(), own.end());
            for (const auto& unit : apart)
            {
                all.insert(unit.begin(), unit.end());
            }
        };
        for (const Held& held : m_held[chunk])
        {
            add(held.own, held.apart);
        }
        for (const auto& [id, flight] : m_flights)
        {
            if (flight.workload.chunk == chunk)
            {
                add(flight.own, flight.apart);
            }
        }
        return all.size() == m_topology.GetNServers() &&
               std::set<NodeId>(all.begin(), all.end()).size() == all.size();
    }

  private:
    /// What a server holds of a chunk.
    struct Held
    {
        std::set<NodeId> own;                  //!< the sum that merges with what comes
        bool hasName{true};                    //!< nothing came by a plain reduce
        std::multiset<std::set<NodeId>> apart; //!< sums that came by name
    };

    /// A workload that has begun, and what it took.
    struct Flight
    {
        OwnWorkload workload;                  //!< the workload
        std::set<NodeId> own;                  //!< of the sender's own sum
        bool hasName{true};                    //!< see Held
        std::multiset<std::set<NodeId>> apart; //!< of those apart
    };

    static void Take(Held& held, const OwnWorkload& workload, Flight& flight)
    {
        const std::set<NodeId> names(workload.contributors.begin(), workload.contributors.end());
        auto isTaken = [&](const std::set<NodeId>& sum) {
            return names.empty() ||
                   std::includes(names.begin(), names.end(), sum.begin(), sum.end());
        };
        if (isTaken(held.own) && (names.empty() || held.hasName))
        {
            flight.own.swap(held.own);
            flight.hasName = held.hasName;
        }
        for (auto unit = held.apart.begin(); unit != held.apart.end();)
        {
            if (isTaken(*unit))
            {
                flight.apart.insert(*unit);
                unit = held.apart.erase(unit);
            }
            else
            {
                ++unit;
            }
        }
    }

    Flight End(uint32_t id)
    {
        const Flight flight = m_flights.at(id);
        m_flights.erase(id);
        const Path& path = flight.workload.path;
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            --m_load[{path[i], path[i + 1]}];
        }
        return flight;
    }

    uint32_t GetRoom(NodeId from, NodeId to) const
    {
        const auto load = m_load.find({from, to});
        const uint32_t used = load == m_load.end() ? 0 : load->second;
        const uint32_t capacity = m_topology.GetCapacity(*m_topology.FindDirectedLink(from, to));
        return m_down.count({from, to}) ? 0 : capacity - used;
    }

    bool HasRoom(const Path& path) const
    {
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            if (GetRoom(path[i], path[i + 1]) == 0)
            {
                return false;
            }
        }
        return true;
    }

    bool HasData(const OwnWorkload& workload) const
    {
        const NodeId source = workload.path.front();
        const auto& finals = m_finals[workload.chunk];
        if (workload.kind == BROADCAST)
        {
            return workload.contributors.empty() && finals.count(source) > 0 &&
                   m_expected[workload.chunk].count(workload.path.back()) == 0;
        }
        if (!finals.empty() || source == m_roots[workload.chunk])
        {
            return false;
        }
        Held held = m_held[workload.chunk][source];
        Flight flight;
        Take(held, workload, flight);
        std::size_t nTaken = flight.own.size();
        for (const auto& unit : flight.apart)
        {
            nTaken += unit.size();
        }
        const auto& names = workload.contributors;
        if (names.empty())
        {
            return nTaken > 0;
        }
        return nTaken == names.size();
    }

    const Topology& m_topology;                           //!< the network
    std::vector<NodeId> m_roots;                          //!< by chunk
    std::vector<std::vector<Held>> m_held;                //!< [chunk][server]
    std::vector<std::set<NodeId>> m_finals;               //!< by chunk: who has the sum
    std::vector<std::set<NodeId>> m_expected;             //!< by chunk: or soon will
    std::map<std::pair<NodeId, NodeId>, uint32_t> m_load; //!< by two nodes: workloads between
    std::set<std::pair<NodeId, NodeId>> m_down;           //!< links that are down
    std::map<uint32_t, Flight> m_flights;                 //!< by number
    uint32_t m_nextFlight{0};                             //!< the next one's number
};

/// Draws workloads that may or may not be legal.
class WorkloadDraw
{
  public:
    WorkloadDraw(const Topology& topology, uint32_t nChunks, TestRandom& random)
        : m_paths(FindAllPaths(topology)),
          m_nServers(topology.GetNServers()),
          m_nChunks(nChunks),
          m_random(random)
    {
    }

    OwnWorkload operator()()
    {
        OwnWorkload workload;
        workload.chunk = Draw(m_random, m_nChunks);
        workload.kind = Draw(m_random, 2) ? REDUCE : BROADCAST;
        workload.path = m_paths[Draw(m_random, m_paths.size())];
        if (workload.kind == REDUCE && Draw(m_random, 3) == 0)
        {
            workload.contributors = {workload.path.front()};
        }
        else if (workload.kind == REDUCE && Draw(m_random, 2) == 0)
        {
            for (NodeId server = 0; server < m_nServers; ++server)
            {
                if (Draw(m_random, 3) == 0)
                {
                    workload.contributors.push_back(server);
                }
            }
            std::shuffle(workload.contributors.begin(), workload.contributors.end(), m_random);
        }
        return workload;
    }

  private:
    std::vector<Path> m_paths; //!< all paths there are
    uint32_t m_nServers;       //!< number of servers
    uint32_t m_nChunks;        //!< number of chunks
    TestRandom& m_random;      //!< random numbers
};

/// @return random roots for a few chunks
std::vector<NodeId>
DrawRoots(TestRandom& random, const Topology& topology)
{
    std::vector<NodeId> roots(1 + Draw(random, 4));
    for (NodeId& root : roots)
    {
        root = Draw(random, topology.GetNServers());
    }
    return roots;
}

/// @brief Workloads begin, end and abort, links go down and up, all at random.
class RandomWalkTestCase : public TestCase
{
  public:
    RandomWalkTestCase()
        : TestCase("random walks: the state agrees with a model of sets after every step")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 1000; ++i)
        {
            Walk(random, i);
        }
        NS_TEST_EXPECT_MSG_GT(m_nLegal, 10000, "many workloads were legal");
        NS_TEST_EXPECT_MSG_GT(m_nIllegal, 10000, "many were not");
        NS_TEST_EXPECT_MSG_GT(m_nNamed, 1000, "many named contributors");
        NS_TEST_EXPECT_MSG_GT(m_nDone, 30, "some walks came to the end");
    }

    void Walk(TestRandom& random, uint32_t number)
    {
        const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
        const std::vector<NodeId> roots = DrawRoots(random, topology);
        AllReduceState state(topology, roots);
        SetModel model(topology, roots);
        WorkloadDraw draw(topology, roots.size(), random);
        std::map<uint32_t, AllReduceState::FlightId> ids;
        for (uint32_t step = 0; step < 600 && !state.IsDone(); ++step)
        {
            const uint32_t dice = Draw(random, 20);
            if (dice == 0)
            {
                const LinkId link = Draw(random, topology.GetNLinks());
                const bool up = Draw(random, 3) > 0;
                state.SetLinkUp(link, up);
                model.SetLinkUp(link, up);
            }
            else if (dice < 6 && model.HasFlights())
            {
                const uint32_t flight = model.DrawFlight(random);
                const bool isAborted = dice == 1;
                isAborted ? state.Abort(ids[flight]) : state.Finish(ids[flight]);
                isAborted ? model.Abort(flight) : model.Finish(flight);
            }
            else
            {
                Try(draw(), state, model, ids);
            }
            Check(state, model, number, step);
        }
        m_nDone += state.IsDone();
    }

    void Try(const OwnWorkload& workload,
             AllReduceState& state,
             SetModel& model,
             std::map<uint32_t, AllReduceState::FlightId>& ids)
    {
        const bool isLegal = model.IsLegal(workload);
        NS_TEST_EXPECT_MSG_EQ(state.IsLegal(workload.Get()),
                              isLegal,
                              Describe(workload.Get()) << ": " << state.FindFault(workload.Get()));
        NS_TEST_EXPECT_MSG_EQ(state.FindFault(workload.Get()).empty(), isLegal, "so is the fault");
        if (isLegal && state.IsLegal(workload.Get()))
        {
            const AllReduceState::FlightId id = state.Start(workload.Get());
            ids[model.Start(workload)] = id;
            ++m_nLegal;
            m_nNamed += !workload.contributors.empty();
        }
        else
        {
            ++m_nIllegal;
        }
    }

    void Check(const AllReduceState& state, const SetModel& model, uint32_t number, uint32_t step)
    {
        NS_TEST_EXPECT_MSG_EQ(model.Compare(state), "", "walk " << number << ", step " << step);
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            NS_TEST_EXPECT_MSG_EQ(model.IsEachOnce(chunk), true, "the model itself is sound");
        }
    }

    uint32_t m_nLegal{0};   //!< legal workloads drawn
    uint32_t m_nIllegal{0}; //!< others
    uint32_t m_nNamed{0};   //!< legal ones that name contributors
    uint32_t m_nDone{0};    //!< walks that came to the end
};

/// @brief Random rounds until all is done make a schedule that the verifier accepts.
class RandomScheduleTestCase : public TestCase
{
  public:
    RandomScheduleTestCase()
        : TestCase("random legal rounds that end make a schedule that verifier and numbers accept")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        uint32_t nDone = 0;
        for (uint32_t i = 0; i < 400; ++i)
        {
            nDone += RunOne(random);
        }
        NS_TEST_EXPECT_MSG_GT(nDone, 250, "most random schedules come to an end");
    }

    bool RunOne(TestRandom& random)
    {
        const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
        AllReduceState state(topology, DrawRoots(random, topology));
        WorkloadDraw draw(topology, state.GetNChunks(), random);
        OwnSchedule schedule;
        schedule.collective = state.GetCollective();
        for (uint32_t round = 0; round < 400 && !state.IsDone(); ++round)
        {
            schedule.rounds.emplace_back();
            for (uint32_t i = 0; i < 20; ++i)
            {
                const OwnWorkload workload = draw();
                if (state.IsLegal(workload.Get()))
                {
                    state.Start(workload.Get());
                    schedule.rounds.back().push_back(workload);
                }
            }
            state.EndRound();
        }
        const Verdict verdict = Verify(topology, schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, state.IsDone(), verdict.reason);
        NS_TEST_EXPECT_MSG_EQ((ExecuteWithNumbers(topology, schedule).empty()),
                              state.IsDone(),
                              "numbers agree");
        if (!state.IsDone())
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(verdict.reason, "at the end: "),
                                  true,
                                  "no legal workload breaks a rule: " << verdict.reason);
        }
        return state.IsDone();
    }
};

/// @ingroup allreduce-tests
/// @brief The state on random ways, against a model of sets, the verifier and numbers.
class AllReduceStateModelTestSuite : public TestSuite
{
  public:
    AllReduceStateModelTestSuite()
        : TestSuite("allreduce-state-model", TestSuite::Type::UNIT)
    {
        AddTestCase(new RandomWalkTestCase);
        AddTestCase(new RandomScheduleTestCase);
    }
};

AllReduceStateModelTestSuite g_allReduceStateModelTestSuite; //!< registers the suite

} // namespace
