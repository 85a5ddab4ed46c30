/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/plan-follower.h"
#include "ns3/ring-order.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <functional>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @brief Every scheduler, verified and not below the bound.
class PropertyTestCase : public TestCase
{
  public:
    /**
     * @param name what is tested
     * @param makeNetworks makes the networks
     * @param mostChunks chunks per server from 1 to so many
     */
    PropertyTestCase(const std::string& name,
                     std::function<std::vector<Topology>()> makeNetworks,
                     uint32_t mostChunks)
        : TestCase("every scheduler is correct and not below the bound on " + name),
          m_makeNetworks(std::move(makeNetworks)),
          m_mostChunks(mostChunks)
    {
    }

  private:
    void DoRun() override
    {
        for (const Topology& topology : m_makeNetworks())
        {
            for (uint32_t chunks = 1; chunks <= m_mostChunks; ++chunks)
            {
                const auto roots = MakeRoots(topology.GetNServers(), chunks);
                const uint64_t bound = ComputeLowerBounds(topology, roots).GetBest().rounds;
                for (const std::string& name : GetNamesWithoutLearning())
                {
                    Check(topology, name, chunks, bound);
                }
            }
        }
    }

    void Check(const Topology& topology, const std::string& name, uint32_t chunks, uint64_t bound)
    {
        std::ostringstream what;
        what << name << " on " << topology.GetName() << ", m=" << chunks << ": ";
        AllReduceSchedule schedule;
        const std::string error =
            GetError([&] { schedule = PlanFromStart(name, topology, chunks); });
        NS_TEST_ASSERT_MSG_EQ(error, "", what.str());
        const Verdict verdict = Verify(topology, schedule);
        NS_TEST_ASSERT_MSG_EQ(verdict.isCorrect, true, what.str() << verdict.reason);
        NS_TEST_ASSERT_MSG_EQ(ExecuteWithNumbers(topology, OwnSchedule(schedule)),
                              "",
                              what.str() << "numbers agree");
        NS_TEST_ASSERT_MSG_GT_OR_EQ(schedule.rounds.size(), bound, what.str() << "bound");
        for (const WorkloadList& round : schedule.rounds)
        {
            NS_TEST_ASSERT_MSG_EQ(round.IsEmpty(), false, what.str() << "no round is empty");
        }
    }

    std::function<std::vector<Topology>()> m_makeNetworks; //!< makes the networks
    uint32_t m_mostChunks;                                 //!< chunks per server at most
};

/// @return random small networks @param count how many @param size their limits
std::vector<Topology>
MakeRandomNetworks(uint32_t count, const RandomNetworkSize& size)
{
    TestRandom random(6);
    std::vector<Topology> networks;
    for (uint32_t i = 0; i < count; ++i)
    {
        networks.push_back(MakeRandomNetwork(random, size));
    }
    return networks;
}

/// @return networks of every family: whole, degraded, mixed, and both
std::vector<Topology>
MakeDegradedFamilies()
{
    std::vector<Topology> networks;
    for (const char* spec : {"bcube:3,1",
                             "bcube:2,2",
                             "dcell:3,1",
                             "jellyfish:6,3,2",
                             "jellyfish:8,3,1",
                             "fattree:4",
                             "torus:3x3",
                             "torus:2x2x3"})
    {
        const Topology whole = ParseTopology(spec);
        networks.push_back(whole);
        for (const uint64_t seed : {1, 2})
        {
            const Topology degraded = Degrade(whole, 0.1, seed);
            networks.push_back(degraded);
            networks.push_back(MixCapacity(whole, 0.3, seed));
            networks.push_back(MixCapacity(degraded, 0.3, seed));
        }
        networks.push_back(Degrade(whole, 0.4));
    }
    return networks;
}

/// @return the smallest and the oddest networks
std::vector<Topology>
MakeOddNetworks()
{
    std::vector<Topology> networks = {MakeTestStar(2),
                                      MakeTestStar(3, 3),
                                      MakeTestStar(9),
                                      MakeTestLine(2),
                                      MakeTestLine(7),
                                      ParseTopology("torus:2x2")};
    // A server pair far from all others: both are equally far from any root, and near each other.
    std::vector<Link> links;
    for (const auto& [a, b] :
         std::vector<std::pair<NodeId, NodeId>>{{0, 1}, {0, 3}, {1, 3}, {3, 4}, {4, 2}})
    {
        Link link;
        link.a = a;
        link.b = b;
        links.push_back(link);
    }
    networks.emplace_back("pair", 3, 2, links);
    return networks;
}

/// @brief The same seed gives the same schedule.
class PlanDeterminismTestCase : public TestCase
{
  public:
    PlanDeterminismTestCase()
        : TestCase("the same seed gives the same schedule, byte for byte")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:3,1", "dcell:3,1", "jellyfish:6,3,2", "torus:3x3"})
        {
            const Topology topology = ParseTopology(spec);
            for (const std::string& name : GetNamesWithoutLearning())
            {
                for (const uint64_t seed : {1, 7})
                {
                    const std::string first =
                        FormatSchedule(topology, PlanFromStart(name, topology, 2, seed));
                    const std::string second =
                        FormatSchedule(topology, PlanFromStart(name, topology, 2, seed));
                    NS_TEST_EXPECT_MSG_EQ((first == second), true, name << " on " << spec);
                }
            }
        }
    }
};

/// @brief Rounds on reference instances.
class PlanReferenceTestCase : public TestCase
{
  public:
    /// Rounds at most, by scheduler.
    struct Row
    {
        const char* spec;   //!< the instance
        uint32_t ps;        //!< parameter server
        uint32_t psMerge;   //!< with merging
        uint32_t ring;      //!< in server order
        uint32_t ringAware; //!< along the topology
        uint32_t greedy;    //!< with one sample
    };

    explicit PlanReferenceTestCase(const Row& row)
        : TestCase(std::string("no worse than the reference rounds on ") + row.spec),
          m_row(row)
    {
    }

  private:
    void DoRun() override
    {
        const std::pair<const char*, uint32_t> columns[] = {{"ps", m_row.ps},
                                                            {"ps-merge", m_row.psMerge},
                                                            {"ring", m_row.ring},
                                                            {"ring-aware", m_row.ringAware},
                                                            {"greedy", m_row.greedy}};
        const Topology topology = ParseTopology(m_row.spec);
        for (const auto& [name, most] : columns)
        {
            const AllReduceSchedule schedule = PlanFromStart(name, topology, 1);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(schedule.rounds.size(), most, name);
            const Verdict verdict = Verify(topology, schedule);
            NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, name << ": " << verdict.reason);
        }
    }

    Row m_row; //!< the instance and its rounds
};

/// An AllReduce that has come some way, and how it came there.
class RandomStart
{
  public:
    RandomStart(const Topology& topology, TestRandom& random)
        : state(topology, MakeRoots(topology.GetNServers(), 1 + Draw(random, 2)))
    {
        past.collective = state.GetCollective();
        const std::vector<Path> paths = FindAllPaths(topology);
        const uint32_t nRounds = Draw(random, 12);
        for (uint32_t i = 0; i < nRounds; ++i)
        {
            AddRound(paths, random);
        }
    }

    /// Take random links down, as long as the servers stay connected.
    void BreakLinks(TestRandom& random, uint32_t tries)
    {
        for (uint32_t i = 0; i < tries; ++i)
        {
            const LinkId link = Draw(random, state.GetTopology().GetNLinks());
            state.SetLinkUp(link, false);
            if (!AreServersConnected(state))
            {
                state.SetLinkUp(link, true);
            }
        }
    }

    AllReduceState state; //!< how far it has come
    OwnSchedule past;     //!< the rounds so far

  private:
    void AddRound(const std::vector<Path>& paths, TestRandom& random)
    {
        past.rounds.emplace_back();
        for (uint32_t i = 0; i < 12; ++i)
        {
            OwnWorkload workload;
            workload.chunk = Draw(random, state.GetNChunks());
            workload.kind = Draw(random, 2) ? REDUCE : BROADCAST;
            workload.path = paths[Draw(random, paths.size())];
            if (workload.kind == REDUCE && Draw(random, 2) == 0)
            {
                workload.contributors = {Draw(random, state.GetTopology().GetNServers())};
            }
            if (state.IsLegal(workload.Get()))
            {
                state.Start(workload.Get());
                past.rounds.back().push_back(workload);
            }
        }
        state.EndRound();
    }
};

/// @return random networks that have something to break
std::vector<Topology>
MakeRestNetworks()
{
    std::vector<Topology> networks = MakeRandomNetworks(25, {6, 4, 2});
    for (const char* spec : {"bcube:2,1", "dcell:2,1", "jellyfish:4,3,1", "torus:2x3"})
    {
        networks.push_back(ParseTopology(spec));
    }
    return networks;
}

/// @brief From any state, every scheduler finishes.
class PlanRestTestCase : public TestCase
{
  public:
    PlanRestTestCase()
        : TestCase("every scheduler finishes from any state, also when links and workloads fail")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& name : GetNamesWithoutLearning())
        {
            m_scheduler = name;
            TestScheduler();
        }
    }

    void TestScheduler()
    {
        TestRandom random(7);
        for (const Topology& topology : MakeRestNetworks())
        {
            for (uint32_t i = 0; i < 12; ++i)
            {
                RandomStart start(topology, random);
                start.BreakLinks(random, i % 3 * 2);
                Finish(topology, start);
                TestTroubledRun(topology, random);
            }
        }
    }

    void Finish(const Topology& topology, const RandomStart& start)
    {
        Ptr<AllReduceScheduler> scheduler = CreateScheduler(m_scheduler);
        AllReduceSchedule rest;
        const std::string error = GetError([&] { rest = Plan(*scheduler, start.state); });
        NS_TEST_ASSERT_MSG_EQ(error, "", m_scheduler << " on " << topology.GetName());
        OwnSchedule all = start.past;
        const OwnSchedule own(rest);
        for (const OwnRound& round : own.rounds)
        {
            CheckLinksUp(start.state, round);
            all.rounds.push_back(round);
        }
        Check(topology, all);
    }

    /// The world does not do what was planned: workloads fail, links break and are mended.
    void TestTroubledRun(const Topology& topology, TestRandom& random)
    {
        Ptr<AllReduceScheduler> scheduler = CreateScheduler(m_scheduler);
        RandomStart run(topology, random);
        PlanFollower follower;
        std::vector<WorkloadList> plan;
        uint32_t nPlans = 0;
        uint32_t nTroubles = 0;
        for (uint32_t round = 0; !run.state.IsDone(); ++round)
        {
            NS_TEST_ASSERT_MSG_LT(round, 2000, "comes to an end");
            const std::string error = GetError([&] {
                if (!follower.IsExpected(run.state))
                {
                    plan = Plan(*scheduler, run.state).rounds;
                    follower.Begin(MakeRoundRange(plan));
                    ++nPlans;
                }
                const WorkloadList list = follower.TakeRound(run.state);
                const bool isTrouble = round < 20 && Draw(random, 4) == 0;
                nTroubles += isTrouble;
                CarryOut(list, run, isTrouble ? 2 : 0, random);
            });
            NS_TEST_ASSERT_MSG_EQ(error, "", m_scheduler << " on " << topology.GetName());
            NS_TEST_ASSERT_MSG_EQ(run.past.rounds.back().empty() && nTroubles == 0,
                                  false,
                                  "no round is empty");
        }
        Check(topology, run.past);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(nPlans,
                                    2 * nTroubles + 1,
                                    "one plan for each trouble, and one where it begins");
    }

    /// Carry out a round of which some workloads fail; then links change.
    void CarryOut(const WorkloadList& list, RandomStart& run, uint32_t trouble, TestRandom& random)
    {
        run.past.rounds.emplace_back();
        std::vector<AllReduceState::FlightId> failing;
        AllReduceSchedule one;
        one.rounds.push_back(list);
        const OwnSchedule own(one);
        for (const OwnWorkload& workload : own.rounds[0])
        {
            const auto flight = run.state.Start(workload.Get());
            if (trouble > 0 && Draw(random, 3) == 0)
            {
                failing.push_back(flight);
            }
            else
            {
                run.past.rounds.back().push_back(workload);
            }
        }
        for (const auto flight : failing)
        {
            run.state.Abort(flight);
        }
        run.state.EndRound();
        if (trouble > 0)
        {
            for (LinkId link = 0; link < run.state.GetTopology().GetNLinks(); ++link)
            {
                run.state.SetLinkUp(link, true);
            }
            run.BreakLinks(random, trouble);
        }
    }

    void CheckLinksUp(const AllReduceState& state, const OwnRound& round)
    {
        for (const OwnWorkload& workload : round)
        {
            for (std::size_t i = 0; i + 1 < workload.path.size(); ++i)
            {
                const auto link =
                    state.GetTopology().FindDirectedLink(workload.path[i], workload.path[i + 1]);
                NS_TEST_EXPECT_MSG_EQ(state.IsLinkUp(*link / 2), true, "uses what is up");
            }
        }
    }

    void Check(const Topology& topology, const OwnSchedule& all)
    {
        const Verdict verdict = Verify(topology, all.Get());
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, m_scheduler << ": " << verdict.reason);
        NS_TEST_EXPECT_MSG_EQ(ExecuteWithNumbers(topology, all), "", "numbers agree");
    }

    std::string m_scheduler; //!< the present one
};

/// The ring of a network whose servers have one port each.
class RingPathsTestCase : public TestCase
{
  public:
    RingPathsTestCase()
        : TestCase("A ring that follows the network shares no link and makes no detours")
    {
    }

  private:
    void DoRun() override
    {
        // The way back of the tour itself has 18 links in fattree:4, whose pods are 6 apart.
        CheckRing("fattree:4", 6);
        CheckRing("fattree:6", 6);
        CheckRing("jellyfish:10,3,2", 5);
        CheckRing("jellyfish:20,5,3", 6);
        CheckRing("bcube:8,0", 2);
    }

    void CheckRing(const std::string& spec, std::size_t longest)
    {
        const Topology topology = ParseTopology(spec);
        const Ring ring = FindRing(topology, 1);
        std::vector<uint32_t> used(topology.GetNDirectedLinks(), 0);
        std::size_t most = 0;
        for (std::size_t i = 0; i < ring.order.size(); ++i)
        {
            const Path& path = ring.paths[i];
            NS_TEST_ASSERT_MSG_EQ(path.front(), ring.order[i], spec);
            NS_TEST_ASSERT_MSG_EQ(path.back(), ring.order[(i + 1) % ring.order.size()], spec);
            for (std::size_t k = 0; k + 1 < path.size(); ++k)
            {
                const auto link = topology.FindDirectedLink(path[k], path[k + 1]);
                NS_TEST_ASSERT_MSG_EQ(link.has_value(), true, spec);
                NS_TEST_ASSERT_MSG_LT_OR_EQ(++used[*link], topology.GetCapacity(*link), spec);
            }
            most = std::max(most, path.size() - 1);
        }
        NS_TEST_EXPECT_MSG_EQ(most, longest, spec);
    }
};

/// @brief More samples are never worse.
class SamplesTestCase : public TestCase
{
  public:
    SamplesTestCase()
        : TestCase("more samples are never worse")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:3,1", "dcell:3,1", "jellyfish:8,3,2"})
        {
            const Topology topology = ParseTopology(spec);
            std::size_t before = SIZE_MAX;
            for (const uint32_t samples : {1, 4, 16})
            {
                const std::size_t nRounds = CountRounds(topology, samples);
                NS_TEST_EXPECT_MSG_LT_OR_EQ(nRounds, before, spec);
                before = nRounds;
            }
        }
    }

    std::size_t CountRounds(const Topology& topology, uint32_t samples)
    {
        const auto scheduler = CreateScheduler("greedy");
        scheduler->SetAttribute("Samples", UintegerValue(samples));
        const AllReduceSchedule schedule =
            Plan(*scheduler, AllReduceState(topology, MakeRoots(topology.GetNServers(), 1)));
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, schedule).isCorrect, true, "correct");
        return schedule.rounds.size();
    }
};

/// @ingroup allreduce-tests
/// @brief What every scheduler plans: correct plans, never too short, and not too long.
class SchedulerPlansTestSuite : public TestSuite
{
  public:
    SchedulerPlansTestSuite()
        : TestSuite("allreduce-scheduler-plans", TestSuite::Type::UNIT)
    {
        AddTestCase(new SamplesTestCase);
        AddTestCase(new RingPathsTestCase);
        AddTestCase(new PlanDeterminismTestCase);
        AddTestCase(new PropertyTestCase("the smallest and oddest networks", MakeOddNetworks, 3));
        AddTestCase(new PropertyTestCase(
                        "random networks",
                        [] {
                            return MakeRandomNetworks(150, {7, 5, 3});
                        },
                        3),
                    EXTENSIVE);
        AddTestCase(new PropertyTestCase(
            "larger random networks",
            [] {
                return MakeRandomNetworks(20, {14, 10, 2});
            },
            2));
        AddTestCase(new PropertyTestCase("networks of every family, degraded and mixed",
                                         MakeDegradedFamilies,
                                         2),
                    EXTENSIVE);
        AddTestCase(new PlanRestTestCase, EXTENSIVE);
        AddReferences();
    }

  private:
    void AddReferences()
    {
        const PlanReferenceTestCase::Row rows[] = {
            {"bcube:3,1", 19, 11, 32, 16, 10},
            {"bcube:4,1", 34, 20, 38, 30, 16},
            {"bcube:5,1", 54, 32, 96, 48, 24},
            {"bcube:6,1", 79, 45, 140, 70, 36},
            {"bcube:3,2", 56, 26, 105, 52, 18},
            {"bcube:4,2", 128, 58, 253, 126, 42},
            {"dcell:3,1", 29, 14, 45, 22, 12},
            {"dcell:4,1", 54, 26, 79, 38, 20},
            {"dcell:5,1", 87, 44, 121, 58, 32},
            {"dcell:6,1", 128, 64, 170, 82, 42},
            {"dcell:2,2", 136, 38, 167, 82, 28},
            {"jellyfish:10,3,2", 59, 57, 38, 38, 38},
            {"jellyfish:16,4,2", 104, 102, 131, 62, 64},
            {"jellyfish:20,4,1", 47, 46, 77, 38, 38},
            {"jellyfish:20,5,3", 201, 198, 354, 118, 118},
            {"jellyfish:32,6,4", 640, 548, 508, 254, 256},
        };
        for (const auto& row : rows)
        {
            AddTestCase(new PlanReferenceTestCase(row), EXTENSIVE);
        }
    }
};

SchedulerPlansTestSuite g_schedulerPlansTestSuite; //!< registers the suite

} // namespace
