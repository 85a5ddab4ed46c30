/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/contribution-ledger.h"
#include "ns3/round-hash.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Servers whose contributions are in one sum.
using Contributors = std::set<NodeId>;

/// Who holds what, with sets and nothing else.
class SetsModel
{
  public:
    SetsModel(uint32_t nServers, const std::vector<NodeId>& roots)
        : m_roots(roots),
          m_held(roots.size(), std::vector<std::vector<Sum>>(nServers)),
          m_finals(roots.size())
    {
        for (ChunkId chunk = 0; chunk < roots.size(); ++chunk)
        {
            for (NodeId server = 0; server < nServers; ++server)
            {
                m_held[chunk][server].push_back({{server}, false});
            }
        }
    }

    void Begin(uint64_t id, const OwnWorkload& workload)
    {
        Flight& flight = m_flights[id];
        flight.workload = workload;
        if (workload.kind == BROADCAST)
        {
            return;
        }
        const Contributors named(workload.contributors.begin(), workload.contributors.end());
        auto& sums = m_held[workload.chunk][workload.path.front()];
        std::vector<Sum> kept;
        for (const Sum& sum : sums)
        {
            const bool isTaken =
                named.empty() ||
                std::includes(named.begin(), named.end(), sum.members.begin(), sum.members.end());
            (isTaken ? flight.sums : kept).push_back(sum);
        }
        sums = kept;
    }

    void End(uint64_t id)
    {
        const Flight flight = m_flights[id];
        m_flights.erase(id);
        const ChunkId chunk = flight.workload.chunk;
        const NodeId target = flight.workload.path.back();
        if (flight.workload.kind == BROADCAST)
        {
            m_finals[chunk].insert(target);
            return;
        }
        Sum all;
        all.isApart = !flight.workload.contributors.empty() && target != m_roots[chunk];
        for (const Sum& sum : flight.sums)
        {
            all.members.insert(sum.members.begin(), sum.members.end());
        }
        Put(chunk, target, all);
        if (GetSums(chunk, m_roots[chunk]).begin()->size() == m_held[chunk].size())
        {
            m_finals[chunk].insert(m_roots[chunk]);
        }
    }

    void Abort(uint64_t id)
    {
        const Flight flight = m_flights[id];
        m_flights.erase(id);
        for (const Sum& sum : flight.sums)
        {
            Put(flight.workload.chunk, flight.workload.path.front(), sum);
        }
    }

    std::set<Contributors> GetSums(ChunkId chunk, NodeId server) const
    {
        std::set<Contributors> sums;
        for (const Sum& sum : m_held[chunk][server])
        {
            sums.insert(sum.members);
        }
        return sums;
    }

    bool HasFinal(ChunkId chunk, NodeId server) const
    {
        return m_finals[chunk].count(server) > 0;
    }

  private:
    /// A sum of contributions.
    struct Sum
    {
        Contributors members; //!< whose
        bool isApart{false};  //!< does not merge
    };

    /// A workload under way.
    struct Flight
    {
        OwnWorkload workload;  //!< what it is
        std::vector<Sum> sums; //!< what it carries
    };

    void Put(ChunkId chunk, NodeId server, const Sum& sum)
    {
        for (Sum& other : m_held[chunk][server])
        {
            if (!sum.isApart && !other.isApart)
            {
                other.members.insert(sum.members.begin(), sum.members.end());
                return;
            }
        }
        m_held[chunk][server].push_back(sum);
    }

    std::vector<NodeId> m_roots;                       //!< by chunk
    std::vector<std::vector<std::vector<Sum>>> m_held; //!< [chunk][server]
    std::vector<std::set<NodeId>> m_finals;            //!< by chunk: who has the sum
    std::map<uint64_t, Flight> m_flights;              //!< workloads under way
};

/// An AllReduce on a random network, in which anything legal happens: state, ledger, model and past
/// go the same way.
class RandomRun
{
  public:
    explicit RandomRun(TestRandom& random)
        : topology(MakeRandomNetwork(random)),
          state(topology, MakeRoots(topology.GetNServers(), 1 + Draw(random, 2))),
          ledger(topology, state.GetRoots()),
          model(topology.GetNServers(), state.GetRoots()),
          m_paths(FindAllPaths(topology)),
          m_random(random)
    {
        past.collective = state.GetCollective();
    }

    RandomRun(const RandomRun&) = delete;
    RandomRun& operator=(const RandomRun&) = delete;

    /// Begin, end and abort workloads in any order, links break and are mended.
    void Step()
    {
        const uint32_t chance = Draw(m_random, 10);
        if (chance < 5)
        {
            TryBegin();
        }
        else if (chance == 5)
        {
            SetLinkUp(Draw(m_random, state.GetTopology().GetNLinks()), Draw(m_random, 2));
        }
        else if (!m_flights.empty())
        {
            auto flight = m_flights.begin();
            std::advance(flight, Draw(m_random, m_flights.size()));
            End(flight, chance > 6);
        }
    }

    /// So many rounds of random workloads, a third of which are lost.
    void RunRounds(uint32_t count)
    {
        for (uint32_t i = 0; i < count; ++i)
        {
            RunRound();
        }
    }

    /// Take random links down, as long as the servers stay connected.
    void BreakLinks(uint32_t tries)
    {
        for (uint32_t i = 0; i < tries; ++i)
        {
            const LinkId link = Draw(m_random, state.GetTopology().GetNLinks());
            SetLinkUp(link, false);
            if (!AreServersConnected(state))
            {
                SetLinkUp(link, true);
            }
        }
    }

    void SetLinkUp(LinkId link, bool isUp)
    {
        state.SetLinkUp(link, isUp);
        ledger.SetLinkUp(link, isUp);
    }

    const Topology topology;   //!< the network
    AllReduceState state;      //!< how far it has come
    ContributionLedger ledger; //!< the same
    SetsModel model;           //!< the same
    OwnSchedule past;          //!< the rounds so far

  private:
    /// A workload under way.
    struct Flight
    {
        OwnWorkload workload;              //!< what it is
        AllReduceState::FlightId id;       //!< its name at the state
        ContributionLedger::EntryId entry; //!< its name at the ledger
    };

    void RunRound()
    {
        past.rounds.emplace_back();
        for (uint32_t i = 0; i < 12; ++i)
        {
            TryBegin();
        }
        while (!m_flights.empty())
        {
            const bool isLost = IsAlone(m_flights.begin()->second.workload) && !Draw(m_random, 3);
            if (!isLost)
            {
                past.rounds.back().push_back(m_flights.begin()->second.workload);
            }
            End(m_flights.begin(), !isLost);
        }
        state.EndRound();
    }

    /// @return whether its sender sends nothing else of the chunk: what is lost beside a reduce of
    /// all was not in that, but would be in a past without what was lost
    bool IsAlone(const OwnWorkload& workload) const
    {
        return std::count_if(m_flights.begin(), m_flights.end(), [&](const auto& flight) {
                   const OwnWorkload& other = flight.second.workload;
                   return other.chunk == workload.chunk && other.path[0] == workload.path[0];
               }) == 1;
    }

    void TryBegin()
    {
        OwnWorkload workload;
        workload.chunk = Draw(m_random, state.GetNChunks());
        workload.kind = Draw(m_random, 3) ? REDUCE : BROADCAST;
        workload.path = m_paths[Draw(m_random, m_paths.size())];
        for (uint32_t i = 0; workload.kind == REDUCE && i < Draw(m_random, 3); ++i)
        {
            workload.contributors.push_back(Draw(m_random, state.GetTopology().GetNServers()));
        }
        if (state.IsLegal(workload.Get()))
        {
            const auto flight = state.Start(workload.Get());
            const auto entry = ledger.Begin(workload.Get());
            model.Begin(m_nBegun, workload);
            m_flights[m_nBegun] = {workload, flight, entry};
            ++m_nBegun;
        }
    }

    void End(std::map<uint64_t, Flight>::iterator flight, bool hasArrived)
    {
        const auto [number, value] = *flight;
        m_flights.erase(flight);
        if (hasArrived)
        {
            state.Finish(value.id);
            ledger.End(value.entry);
            model.End(number);
        }
        else
        {
            state.Abort(value.id);
            ledger.Abort(value.entry);
            model.Abort(number);
        }
    }

    std::vector<Path> m_paths;            //!< of the network
    TestRandom& m_random;                 //!< random numbers
    uint64_t m_nBegun{0};                 //!< workloads that have begun
    std::map<uint64_t, Flight> m_flights; //!< those under way, in the order of their beginnings
};

/// @brief The ledger against sets, whatever happens.
class LedgerTestCase : public TestCase
{
  public:
    LedgerTestCase()
        : TestCase("the ledger knows where every contribution is")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(11);
        for (uint32_t i = 0; i < 150; ++i)
        {
            RandomRun run(random);
            for (uint32_t step = 0; step < 200; ++step)
            {
                run.Step();
                Compare(run);
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nFinal, 1000, "chunks became final");
        NS_TEST_EXPECT_MSG_GT(m_nApart, 1000, "contributions were kept apart");
        TestCounts();
    }

    void Compare(const RandomRun& run)
    {
        const uint32_t nServers = run.state.GetTopology().GetNServers();
        for (ChunkId chunk = 0; chunk < run.state.GetNChunks(); ++chunk)
        {
            std::map<NodeId, std::map<NodeId, Contributors>> held;
            for (NodeId contributor = 0; contributor < nServers; ++contributor)
            {
                const auto where = run.ledger.Find(chunk, contributor);
                held[where.holder][where.unit].insert(contributor);
                m_nApart += where.isApart;
            }
            for (NodeId server = 0; server < nServers; ++server)
            {
                std::set<Contributors> sums;
                for (const auto& [unit, members] : held[server])
                {
                    sums.insert(members);
                }
                NS_TEST_ASSERT_MSG_EQ((sums == run.model.GetSums(chunk, server)), true, "sums");
                NS_TEST_ASSERT_MSG_EQ(run.ledger.HasFinal(chunk, server),
                                      run.model.HasFinal(chunk, server),
                                      "final sums");
                NS_TEST_ASSERT_MSG_EQ(run.ledger.HasFinal(chunk, server),
                                      run.state.GetFinals().Test(server, chunk),
                                      "final sums of the state");
            }
            NS_TEST_ASSERT_MSG_EQ(run.ledger.IsFinal(chunk), run.state.IsFinal(chunk), "final");
            m_nFinal += run.ledger.IsFinal(chunk);
        }
        NS_TEST_ASSERT_MSG_EQ(run.ledger.IsDone(), run.state.IsDone(), "done");
        NS_TEST_ASSERT_MSG_EQ(run.ledger.IsFresh(), run.state.IsFresh(), "fresh");
    }

    void TestCounts()
    {
        const Topology line = MakeTestLine(3);
        ContributionLedger ledger(line, {0});
        NS_TEST_EXPECT_MSG_EQ(ledger.IsFresh(), true, "at the beginning");
        const OwnWorkload workload{0, REDUCE, {2, 1}, {}};
        const auto lost = ledger.Begin(workload.Get());
        NS_TEST_EXPECT_MSG_EQ(ledger.GetNInFlight(), 1, "one under way");
        NS_TEST_EXPECT_MSG_EQ(ledger.IsFresh(), false, "something is under way");
        ledger.Abort(lost);
        NS_TEST_EXPECT_MSG_EQ(ledger.IsFresh(), true, "as if nothing had happened");
        NS_TEST_EXPECT_MSG_EQ(ledger.GetNUpsets(), 1, "but something has");
        ledger.SetLinkUp(0, true);
        NS_TEST_EXPECT_MSG_EQ(ledger.GetNUpsets(), 1, "it was up");
        ledger.SetLinkUp(0, false);
        ledger.SetLinkUp(0, true);
        NS_TEST_EXPECT_MSG_EQ(ledger.GetNUpsets(), 3, "down and up");
        // What is not there moves nothing.
        ledger.End(ledger.Begin(OwnWorkload{0, BROADCAST, {0, 1}, {}}.Get()));
        NS_TEST_EXPECT_MSG_EQ(ledger.HasFinal(0, 1), false, "there was no sum to copy");
    }

    uint64_t m_nFinal{0}; //!< how often a chunk was found final
    uint64_t m_nApart{0}; //!< how often a contribution was kept apart
};

/// @brief Rests from the middle of AllReduces, right ones and corrupted ones.
class RestProofTestCase : public TestCase
{
  public:
    RestProofTestCase()
        : TestCase("rests of all schedulers are proven, corrupted ones are refused")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(5);
        for (const std::string& name : GetNamesWithoutLearning())
        {
            for (uint32_t i = 0; i < 100; ++i)
            {
                RandomRun run(random);
                run.RunRounds(Draw(random, 6));
                run.BreakLinks(i % 3 * 2);
                m_what = name + " on " + run.topology.GetName() + " " + std::to_string(i);
                Check(run, OwnSchedule(Plan(*CreateScheduler(name), run.state)), random);
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nDropped, 100, "workloads were left out");
        NS_TEST_EXPECT_MSG_GT(m_nEarly, 100, "sums were copied too early");
    }

    void Check(const RandomRun& run, const OwnSchedule& rest, TestRandom& random)
    {
        const Verdict verdict = Prove(run.ledger, rest);
        NS_TEST_ASSERT_MSG_EQ(verdict.reason, "", m_what);
        CheckPrefix(run, rest);
        if (rest.rounds.empty())
        {
            NS_TEST_EXPECT_MSG_EQ(run.ledger.IsDone(), true, m_what << ": nothing is left");
            return;
        }
        const uint32_t round = Draw(random, rest.rounds.size());
        const uint32_t place = Draw(random, rest.rounds[round].size());
        CheckDropped(run, rest, round, place);
        CheckDoubled(run, rest, round, place);
        CheckLinkDown(run, rest, rest.rounds[round][place].path);
        CheckEarlyBroadcast(run, rest);
    }

    static Verdict Prove(const ContributionLedger& ledger,
                         const OwnSchedule& rest,
                         RoundsEnd end = RoundsEnd::DONE)
    {
        const AllReduceSchedule schedule = rest.Get();
        return Verify(ledger, MakeRoundRange(schedule.rounds), end);
    }

    /// What has been done and what is left must together be an AllReduce, and the other way round.
    void CheckAgainstWhole(const RandomRun& run, const OwnSchedule& rest, const Verdict& verdict)
    {
        OwnSchedule all = run.past;
        all.rounds.insert(all.rounds.end(), rest.rounds.begin(), rest.rounds.end());
        const Verdict whole = Verify(run.state.GetTopology(), all.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, whole.isCorrect, m_what << whole.reason);
        if (verdict.isCorrect)
        {
            NS_TEST_EXPECT_MSG_EQ(ExecuteWithNumbers(run.state.GetTopology(), all), "", m_what);
        }
    }

    void CheckPrefix(const RandomRun& run, OwnSchedule rest)
    {
        CheckAgainstWhole(run, rest, Prove(run.ledger, rest));
        if (!rest.rounds.empty())
        {
            rest.rounds.pop_back();
            NS_TEST_EXPECT_MSG_EQ(Prove(run.ledger, rest, RoundsEnd::OPEN).reason, "", m_what);
            NS_TEST_EXPECT_MSG_EQ(Contains(Prove(run.ledger, rest).reason, "at the end: "),
                                  true,
                                  m_what << ": something is missing");
        }
    }

    void CheckDropped(const RandomRun& run, OwnSchedule rest, uint32_t round, uint32_t place)
    {
        rest.rounds[round].erase(rest.rounds[round].begin() + place);
        const Verdict verdict = Prove(run.ledger, rest);
        CheckAgainstWhole(run, rest, verdict);
        m_nDropped += !verdict.isCorrect;
    }

    void CheckDoubled(const RandomRun& run, OwnSchedule rest, uint32_t round, uint32_t place)
    {
        rest.rounds.insert(rest.rounds.begin() + round + 1, {rest.rounds[round][place]});
        CheckAgainstWhole(run, rest, Prove(run.ledger, rest));
        rest.rounds.erase(rest.rounds.begin() + round + 1);
        rest.rounds[round].push_back(rest.rounds[round][place]);
        NS_TEST_EXPECT_MSG_EQ(Prove(run.ledger, rest).isCorrect, false, m_what << ": doubled");
    }

    void CheckLinkDown(const RandomRun& run, const OwnSchedule& rest, const Path& path)
    {
        ContributionLedger ledger = run.ledger;
        ledger.SetLinkUp(*run.state.GetTopology().FindDirectedLink(path[0], path[1]) / 2, false);
        NS_TEST_EXPECT_MSG_EQ(Contains(Prove(ledger, rest).reason, " is down"), true, m_what);
    }

    void CheckEarlyBroadcast(const RandomRun& run, const OwnSchedule& rest)
    {
        for (const Path& path : FindAllPaths(run.state.GetTopology()))
        {
            for (ChunkId chunk = 0; chunk < run.state.GetNChunks(); ++chunk)
            {
                OwnSchedule wrong = rest;
                wrong.rounds.insert(wrong.rounds.begin(), {{chunk, BROADCAST, path, {}}});
                const std::string reason = Prove(run.ledger, wrong).reason;
                if (!run.state.IsFinal(chunk) && !Contains(reason, " is down"))
                {
                    ++m_nEarly;
                    NS_TEST_EXPECT_MSG_EQ(Contains(reason, "broadcast before the sum is final"),
                                          true,
                                          m_what << ": " << reason);
                }
            }
        }
    }

    std::string m_what;     //!< for messages
    uint32_t m_nDropped{0}; //!< workloads that were missed
    uint32_t m_nEarly{0};   //!< broadcasts that came too early
};

/// @brief Whatever goes on in the middle is judged as it would be with all that was before.
class RandomRoundsTestCase : public TestCase
{
  public:
    RandomRoundsTestCase()
        : TestCase("random rounds from the middle, right and wrong ones")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(8);
        for (uint32_t i = 0; i < 1500; ++i)
        {
            RandomRun run(random);
            run.RunRounds(Draw(random, 4));
            OwnSchedule more;
            more.rounds = {DrawRound(run, random), DrawRound(run, random)};
            Compare(run, more);
        }
        NS_TEST_EXPECT_MSG_GT(m_nRight, 200, "some are right");
        NS_TEST_EXPECT_MSG_GT(m_nWrong, 200, "some are wrong");
    }

    /// @return workloads most of which are legal at the start, many of them with contributors
    static OwnRound DrawRound(const RandomRun& run, TestRandom& random)
    {
        AllReduceState state = run.state;
        const std::vector<Path> paths = FindAllPaths(state.GetTopology());
        OwnRound round;
        for (uint32_t i = 0; i < 40 && round.size() < 3; ++i)
        {
            OwnWorkload workload;
            workload.chunk = Draw(random, state.GetNChunks());
            workload.kind = Draw(random, 4) ? REDUCE : BROADCAST;
            workload.path = paths[Draw(random, paths.size())];
            for (uint32_t k = Draw(random, 3); workload.kind == REDUCE && k > 0; --k)
            {
                workload.contributors.push_back(Draw(random, state.GetTopology().GetNServers()));
            }
            const bool isLegal = state.IsLegal(workload.Get());
            if (isLegal)
            {
                state.Start(workload.Get());
            }
            if (isLegal || Draw(random, 40) == 0)
            {
                round.push_back(workload);
            }
        }
        return round;
    }

    void Compare(const RandomRun& run, const OwnSchedule& more)
    {
        OwnSchedule all = run.past;
        all.rounds.insert(all.rounds.end(), more.rounds.begin(), more.rounds.end());
        const AllReduceSchedule rounds = more.Get();
        const AllReduceSchedule allRounds = all.Get();
        const ContributionLedger fresh(run.state.GetTopology(), run.state.GetRoots());
        const Verdict here = Verify(run.ledger, MakeRoundRange(rounds.rounds), RoundsEnd::OPEN);
        const Verdict whole = Verify(fresh, MakeRoundRange(allRounds.rounds), RoundsEnd::OPEN);
        NS_TEST_ASSERT_MSG_EQ(here.isCorrect, whole.isCorrect, here.reason << whole.reason);
        (here.isCorrect ? m_nRight : m_nWrong) += 1;
        if (!here.isCorrect && !whole.isCorrect)
        {
            NS_TEST_ASSERT_MSG_EQ(here.round + run.past.rounds.size(), whole.round, "the round");
            NS_TEST_ASSERT_MSG_EQ(here.workload, whole.workload, "the workload");
            NS_TEST_ASSERT_MSG_EQ(here.reason.substr(here.reason.find("): ")),
                                  whole.reason.substr(whole.reason.find("): ")),
                                  "the reason");
        }
    }

    uint32_t m_nRight{0}; //!< rounds that are correct
    uint32_t m_nWrong{0}; //!< rounds that are not
};

/// @brief A start that cannot be judged is refused.
class InFlightTestCase : public TestCase
{
  public:
    InFlightTestCase()
        : TestCase("nothing is proven while workloads are in flight")
    {
    }

  private:
    void DoRun() override
    {
        const Topology line = MakeTestLine(3);
        ContributionLedger ledger(line, {0});
        const OwnWorkload workload{0, REDUCE, {2, 1}, {}};
        ledger.Begin(workload.Get());
        NS_TEST_EXPECT_MSG_EQ(Verify(ledger, {}, RoundsEnd::OPEN).reason,
                              "at the end: 1 workloads were in flight at the start",
                              "one is");
    }
};

/// @brief Plans that differ in anything have other hashes.
class HashTestCase : public TestCase
{
  public:
    HashTestCase()
        : TestCase("the hash of rounds")
    {
    }

  private:
    static uint64_t Hash(const std::vector<OwnRound>& rounds)
    {
        OwnSchedule schedule;
        schedule.rounds = rounds;
        const AllReduceSchedule own = schedule.Get();
        return HashRounds(MakeRoundRange(own.rounds));
    }

    void DoRun() override
    {
        const OwnWorkload x{3, REDUCE, {5, 7, 1}, {}};
        const OwnWorkload y{4, BROADCAST, {1, 7, 5}, {}};
        const std::vector<std::vector<OwnRound>> plans = {
            {},
            {{}},
            {{}, {}},
            {{x}},
            {{y}},
            {{x, y}},
            {{y, x}},
            {{x}, {y}},
            {{y}, {x}},
            {{x, x}},
            {{x}, {}},
            {{}, {x}},
            {{{2, REDUCE, {5, 7, 1}, {}}}},
            {{{3, BROADCAST, {5, 7, 1}, {}}}},
            {{{3, REDUCE, {5, 6, 1}, {}}}},
            {{{3, REDUCE, {1, 7, 5}, {}}}},
            {{{3, REDUCE, {5, 7}, {1}}}},
            {{{3, REDUCE, {5, 7, 1}, {5}}}},
            {{{3, REDUCE, {5, 7, 1}, {5, 6}}}},
            {{{3, REDUCE, {5, 7, 1}, {6, 5}}}},
        };
        std::set<uint64_t> hashes;
        for (const auto& plan : plans)
        {
            NS_TEST_EXPECT_MSG_EQ(Hash(plan), Hash(plan), "the same again");
            hashes.insert(Hash(plan));
        }
        NS_TEST_EXPECT_MSG_EQ(hashes.size(), plans.size(), "all differ");
        NS_TEST_EXPECT_MSG_EQ(FormatHash(0x0123456789abcdef), "0123456789abcdef", "as text");
    }
};

/// @brief A scheduler says who made its last plan.
class PlannerNameTestCase : public TestCase
{
  public:
    PlannerNameTestCase()
        : TestCase("who made the last plan")
    {
    }

  private:
    void DoRun() override
    {
        const auto scheduler = CreateScheduler("ring");
        const Topology bcube = ParseTopology("bcube:2,1");
        const AllReduceState whole(bcube, MakeRoots(4, 1));
        AllReduceState broken = whole;
        broken.SetLinkUp(0, false);
        Plan(*scheduler, whole);
        NS_TEST_EXPECT_MSG_EQ(scheduler->GetPlanner(), "", "by itself");
        Plan(*scheduler, broken);
        NS_TEST_EXPECT_MSG_EQ(scheduler->GetPlanner(), "greedy", "handed over");
        Plan(*scheduler, whole);
        NS_TEST_EXPECT_MSG_EQ(scheduler->GetPlanner(), "", "by itself again");
    }
};

/// @brief Schedulers are called what a user calls them.
class SchedulerNameTestCase : public TestCase
{
  public:
    SchedulerNameTestCase()
        : TestCase("the name of a scheduler")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& name : GetSchedulerNames())
        {
            NS_TEST_EXPECT_MSG_EQ(GetSchedulerName(*CreateScheduler(name)), name, "short");
        }
        const auto ring = CreateScheduler("ns3::allreduce::RingScheduler");
        NS_TEST_EXPECT_MSG_EQ(GetSchedulerName(*ring), "ring", "chosen by type");
        ring->SetAttribute("TopologyAware", BooleanValue(true));
        NS_TEST_EXPECT_MSG_EQ(GetSchedulerName(*ring), "ring-aware", "by attribute");
    }
};

/// @ingroup allreduce-tests
class ProofTestSuite : public TestSuite
{
  public:
    ProofTestSuite()
        : TestSuite("allreduce-proof", TestSuite::Type::UNIT)
    {
        AddTestCase(new LedgerTestCase);
        AddTestCase(new RestProofTestCase, EXTENSIVE);
        AddTestCase(new RandomRoundsTestCase);
        AddTestCase(new InFlightTestCase);
        AddTestCase(new HashTestCase);
        AddTestCase(new PlannerNameTestCase);
        AddTestCase(new SchedulerNameTestCase);
    }
};

ProofTestSuite g_proofTestSuite; //!< registers the suite

} // namespace
