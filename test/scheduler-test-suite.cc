/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/planned-scheduler.h"
#include "ns3/ring-order.h"
#include "ns3/round-builder.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

constexpr WorkloadKind REDUCE = WorkloadKind::REDUCE;
constexpr WorkloadKind BROADCAST = WorkloadKind::BROADCAST;

/// @return all schedulers that plan without learning
std::vector<std::string>
GetNames()
{
    std::vector<std::string> names = GetSchedulerNames();
    names.erase(std::remove(names.begin(), names.end(), "hrl"), names.end());
    return names;
}

Ptr<AllReduceScheduler>
Make(const std::string& name, uint64_t seed = 1)
{
    Ptr<AllReduceScheduler> scheduler = CreateScheduler(name);
    scheduler->SetAttribute("Seed", UintegerValue(seed));
    return scheduler;
}

AllReduceSchedule
PlanFromStart(const std::string& name,
              const Topology& topology,
              uint32_t chunksPerServer,
              uint64_t seed = 1)
{
    return Plan(*Make(name, seed),
                AllReduceState(topology, MakeRoots(topology.GetNServers(), chunksPerServer)));
}

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
                for (const std::string& name : GetNames())
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
MakeFamilies()
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
    std::vector<Topology> networks = {MakeStar(2),
                                      MakeStar(3, 3),
                                      MakeStar(9),
                                      MakeLine(2),
                                      MakeLine(7),
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
class DeterminismTestCase : public TestCase
{
  public:
    DeterminismTestCase()
        : TestCase("the same seed gives the same schedule, byte for byte")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:3,1", "dcell:3,1", "jellyfish:6,3,2", "torus:3x3"})
        {
            const Topology topology = ParseTopology(spec);
            for (const std::string& name : GetNames())
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
class ReferenceTestCase : public TestCase
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

    explicit ReferenceTestCase(const Row& row)
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
        past.roots = state.GetRoots();
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
            if (!AreServersConnected())
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

    bool AreServersConnected() const
    {
        std::vector<Link> links;
        for (LinkId link = 0; link < state.GetTopology().GetNLinks(); ++link)
        {
            if (state.IsLinkUp(link))
            {
                links.push_back(state.GetTopology().GetLink(link));
            }
        }
        return state.GetTopology().WithLinks("rest", links).AreServersConnected();
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
class RestTestCase : public TestCase
{
  public:
    RestTestCase()
        : TestCase("every scheduler finishes from any state, also when links and workloads fail")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& name : GetNames())
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
        Ptr<AllReduceScheduler> scheduler = Make(m_scheduler);
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
        Ptr<AllReduceScheduler> scheduler = Make(m_scheduler);
        RandomStart run(topology, random);
        uint32_t nTroubles = 0;
        for (uint32_t round = 0; !run.state.IsDone(); ++round)
        {
            NS_TEST_ASSERT_MSG_LT(round, 2000, "comes to an end");
            const std::string error = GetError([&] {
                const WorkloadList list = scheduler->NextRound(run.state);
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
        if (nTroubles == 0)
        {
            return;
        }
        const auto planned = DynamicCast<PlannedScheduler>(scheduler);
        NS_TEST_EXPECT_MSG_LT_OR_EQ(planned->GetNReplans(),
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

/// @brief When plans are made.
class ReplanTestCase : public TestCase
{
  public:
    ReplanTestCase()
        : TestCase("a plan is made anew only when the state is not the expected one")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:3,1");
        for (const std::string& name : GetNames())
        {
            const auto scheduler = DynamicCast<PlannedScheduler>(Make(name));
            AllReduceState state(topology, MakeRoots(9, 1));
            const std::size_t nRounds = Plan(*scheduler, state).rounds.size();
            NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 0, name << ": all went as planned");
            RunRound(*scheduler, state, 0);
            RunRound(*scheduler, state, 0);
            NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 0, name << ": once more");
            RunRound(*scheduler, state, 1);
            RunRound(*scheduler, state, 0);
            NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 1, name << ": a workload failed");
            state.SetLinkUp(0, false);
            RunRound(*scheduler, state, 0);
            NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 2, name << ": a link is down");
            Plan(*scheduler, state);
            NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 2, name << ": the rest as planned");
            AllReduceState again(topology, MakeRoots(9, 1));
            NS_TEST_EXPECT_MSG_EQ(Plan(*scheduler, again).rounds.size(),
                                  nRounds,
                                  name << ": a new beginning is not a replan");
            NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 2, name << ": nor counted");
        }
        TestDone(topology);
    }

    static void RunRound(AllReduceScheduler& scheduler, AllReduceState& state, uint32_t nFailing)
    {
        const WorkloadList round = scheduler.NextRound(state);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const auto flight = state.Start(round.Get(i));
            if (i < nFailing)
            {
                state.Abort(flight);
            }
        }
        state.EndRound();
    }

    void TestDone(const Topology& topology)
    {
        const auto scheduler = DynamicCast<PlannedScheduler>(Make("greedy"));
        AllReduceState state(topology, MakeRoots(9, 1));
        while (!state.IsDone())
        {
            RunRound(*scheduler, state, 0);
        }
        NS_TEST_EXPECT_MSG_EQ(scheduler->NextRound(state).IsEmpty(), true, "nothing is left");
        NS_TEST_EXPECT_MSG_EQ(scheduler->GetNReplans(), 0, "and nothing was planned for it");
    }
};

/// @brief A scheduler outside of the module: all to the root and back, one at a time.
class OneByOneScheduler : public AllReduceScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::OneByOneScheduler")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<OneByOneScheduler>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState& state) override
    {
        WorkloadList round;
        for (ChunkId chunk = 0; chunk < state.GetNChunks() && round.IsEmpty(); ++chunk)
        {
            const NodeId root = state.GetRoots()[chunk];
            for (NodeId server = 0; server < state.GetTopology().GetNServers(); ++server)
            {
                const bool isReduce = state.GetPartials().Test(server, chunk) && server != root;
                const bool isBroadcast =
                    state.IsFinal(chunk) && !state.GetFinals().Test(server, chunk);
                if ((isReduce || isBroadcast) && round.IsEmpty())
                {
                    round.Add(chunk,
                              isReduce ? REDUCE : BROADCAST,
                              isReduce ? FindShortestPath(state.GetTopology(), server, root)
                                       : FindShortestPath(state.GetTopology(), root, server));
                }
            }
        }
        return round;
    }
};

NS_OBJECT_ENSURE_REGISTERED(OneByOneScheduler);

/// @brief A scheduler that hands out the same round for ever.
class StubbornScheduler : public AllReduceScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::StubbornScheduler")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<StubbornScheduler>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState& state) override
    {
        WorkloadList list;
        if (!rounds.empty())
        {
            for (const OwnWorkload& workload : rounds[state.GetRound() % rounds.size()])
            {
                list.Add(workload.Get());
            }
        }
        return list;
    }

    std::vector<OwnRound> rounds; //!< handed out in turn
};

NS_OBJECT_ENSURE_REGISTERED(StubbornScheduler);

/// @brief What users who wait are told.
class ProgressTestCase : public TestCase
{
  public:
    ProgressTestCase()
        : TestCase("planners say how far they have come, as long as somebody listens")
    {
    }

  private:
    void DoRun() override
    {
        TestParts();
        // Plans for this one do not get to the bound, so that they are searched for, too.
        const Topology uneven = Degrade(ParseTopology("dcell:4,1"), 0.1, 1);
        TestPlanner(uneven, "greedy", 1, "round");
        TestPlanner(uneven, "greedy", 3, "sample 2 of 3");
        TestPlanner(uneven, "forest", 1, "tree 2 of");
        TestPlanner(uneven, "hrl", 1, "search 2 of");
        TestPlanner(uneven, "hrl", 3, "sample 2 of 3");
        TestPlanner(MakeStar(3), "allreduce_tests::OneByOneScheduler", 1, "round 2");
    }

    void TestParts()
    {
        std::string text;
        double done = 0;
        const PlanningProgress whole([&](const std::string& what, double share) {
            text = what;
            done = share;
        });
        whole.GetPart(0.5, 1, "half").GetPart("try", 1, 4).ShowRound(7, 0.5);
        NS_TEST_EXPECT_MSG_EQ(text, "half, try 2 of 4, round 7", "names from outside inwards");
        NS_TEST_EXPECT_MSG_EQ_TOL(done, 0.5 + 0.5 * 1.5 / 4, 1e-9, "a part of a part");
        PlanningProgress().GetPart("try", 0, 2).Show("", 1); // nobody need listen
    }

    void TestPlanner(const Topology& topology,
                     const std::string& name,
                     uint32_t samples,
                     const std::string& expected)
    {
        const auto scheduler = CreateScheduler(name);
        scheduler->SetAttributeFailSafe("Samples", UintegerValue(samples));
        scheduler->SetAttributeFailSafe("SearchEffort", UintegerValue(100'000));
        const AllReduceState state(topology, MakeRoots(topology.GetNServers(), 1));
        std::mutex mutex;
        std::size_t nCalls = 0;
        bool isExpected = false;
        bool isShare = true;
        Plan(*scheduler, state, PlanningProgress([&](const std::string& what, double share) {
            const std::lock_guard lock(mutex);
            ++nCalls;
            isExpected = isExpected || what.find(expected) != std::string::npos;
            isShare = isShare && share >= 0 && share <= 1;
        }));
        NS_TEST_EXPECT_MSG_EQ(isExpected, true, name << " says " << expected);
        NS_TEST_EXPECT_MSG_EQ(isShare, true, name << ": shares are from 0 to 1");
        const std::size_t nBefore = nCalls;
        scheduler->NextRound(AllReduceState(MakeStar(4), MakeRoots(4, 1)));
        NS_TEST_EXPECT_MSG_EQ(nCalls, nBefore, name << ": nobody listens any more");
    }
};

/// @brief Choosing schedulers by name.
class FactoryTestCase : public TestCase
{
  public:
    FactoryTestCase()
        : TestCase("a scheduler is chosen by short name or TypeId name, also from outside")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeStar(3);
        const AllReduceSchedule schedule =
            Plan(*CreateScheduler("allreduce_tests::OneByOneScheduler"),
                 AllReduceState(star, MakeRoots(3, 1)));
        NS_TEST_EXPECT_MSG_EQ(schedule.rounds.size(), 12, "two reduces and two broadcasts each");
        NS_TEST_EXPECT_MSG_EQ(Verify(star, schedule).isCorrect, true, "correct");
        NS_TEST_EXPECT_MSG_EQ(
            CreateScheduler("ring-aware")->GetInstanceTypeId().GetName(),
            CreateScheduler("ns3::allreduce::RingScheduler")->GetInstanceTypeId().GetName(),
            "a short name stands for a type");
        BooleanValue isAware;
        CreateScheduler("ring-aware")->GetAttribute("TopologyAware", isAware);
        NS_TEST_EXPECT_MSG_EQ(isAware.Get(), true, "and an attribute");
        TestUnknown();
    }

    void TestUnknown()
    {
        for (const char* name : {"greedyy",
                                 "",
                                 "Greedy",
                                 "ns3::Object",
                                 "ns3::allreduce::AllReduceScheduler",
                                 "ns3::allreduce::PlannedScheduler",
                                 "ns3::allreduce::Nothing"})
        {
            const std::string error = GetError([&] { CreateScheduler(name); });
            const std::string begin = std::string("scheduler \"") + name + "\": expected ps, ";
            NS_TEST_EXPECT_MSG_EQ(error.rfind(begin, 0), 0, error);
            for (const std::string& known : GetSchedulerNames())
            {
                NS_TEST_EXPECT_MSG_EQ(Contains(error, known + ", "), true, error);
            }
            NS_TEST_EXPECT_MSG_EQ(Contains(error, "TypeId name"), true, error);
            NS_TEST_EXPECT_MSG_EQ(Contains(error, "\n"), false, "one line");
        }
        const std::vector<std::string> names = GetSchedulerNames();
        if (std::find(names.begin(), names.end(), "hrl") == names.end())
        {
            NS_TEST_EXPECT_MSG_EQ(Contains(GetError([] { CreateScheduler("hrl"); }), "LibTorch"),
                                  true,
                                  "says what is missing");
        }
    }
};

/// First come, first served: the example of README.md.
struct SimpleScheduler : AllReduceScheduler
{
    WorkloadList NextRound(const AllReduceState& state) override
    {
        RoundBuilder round(state);
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            for (NodeId from = 0; from < round.GetNServers(); ++from)
            {
                for (const NodeId to : round.GetNeighbors(from))
                {
                    const bool isNearer =
                        round.GetHopsToRoot(to, chunk) < round.GetHopsToRoot(from, chunk);
                    state.IsFinal(chunk) ? round.TryBroadcast(chunk, from, to)
                                         : isNearer&& round.TryReduce(chunk, from, to);
                }
            }
        }
        return round.GetWorkloads();
    }
};

const TypeId g_simpleType = RegisterScheduler<SimpleScheduler>("allreduce_tests::Simple");

/// @brief A scheduler that uses RoundBuilder and RegisterScheduler.
class RoundBuilderTestCase : public TestCase
{
  public:
    RoundBuilderTestCase()
        : TestCase("rounds that are built one workload after another")
    {
    }

  private:
    void DoRun() override
    {
        TestRounds();
        TestRefusals();
        TestBrokenLink();
        TestNames();
    }

    void TestRounds()
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 100; ++i)
        {
            const Topology topology = MakeRandomNetwork(random);
            const AllReduceState state(topology, MakeRoots(topology.GetNServers(), 2));
            const auto schedule = Plan(*CreateScheduler("allreduce_tests::Simple"), state);
            const Verdict verdict = Verify(topology, schedule);
            NS_TEST_EXPECT_MSG_EQ(verdict.reason, "", topology.GetName());
        }
    }

    void TestRefusals()
    {
        const Topology line = MakeLine(4); // 0 - 1 - 2 - 3, no switches
        const AllReduceState state(line, {0, 3});
        RoundBuilder round(state);
        NS_TEST_EXPECT_MSG_EQ(round.GetNServers(), 4, "servers");
        NS_TEST_EXPECT_MSG_EQ(round.GetHopsToRoot(2, 0), 2, "to server 0");
        NS_TEST_EXPECT_MSG_EQ(round.GetHopsToRoot(2, 1), 1, "to server 3");
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(0, 3, 1), false, "server 2 is in between");
        NS_TEST_EXPECT_MSG_EQ(round.TryBroadcast(0, 0, 1), false, "not final");
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(1, 3, 2), false, "its root keeps it");
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(0, 3, 2), true, "may be sent");
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(0, 3, 2), false, "has been sent");
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(1, 2, 3), true, "the other direction is free");
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(0, 2, 3), false, "the link is full");
        NS_TEST_EXPECT_MSG_EQ(round.GetWorkloads().GetSize(), 2, "what was taken");
    }

    void TestBrokenLink()
    {
        const Topology bcube = ParseTopology("bcube:2,1");
        AllReduceState state(bcube, {0});
        state.SetLinkUp(0, false);
        const Link broken = bcube.GetLink(0);
        RoundBuilder round(state);
        NS_TEST_ASSERT_MSG_EQ(broken.a, 0, "it is one of server 0");
        NS_TEST_EXPECT_MSG_EQ(round.GetNeighbors(0).size(), 1, "it has another port");
        const NodeId lost = 1; // shares the switch of this link with server 0
        NS_TEST_EXPECT_MSG_EQ(round.TryReduce(0, lost, 0), false, "no path");
        NS_TEST_EXPECT_MSG_EQ(round.GetHopsToRoot(lost, 0), 3, "the way round");
    }

    void TestNames()
    {
        NS_TEST_EXPECT_MSG_EQ(g_simpleType.GetName(), "allreduce_tests::Simple", "named");
        for (const char* name : {"greedy", "allreduce_tests::Simple", "ns3::Object"})
        {
            const auto message = GetAbortMessage([&] { RegisterScheduler<SimpleScheduler>(name); });
            const std::string expected = std::string("the name \"") + name + "\" is taken";
            NS_TEST_EXPECT_MSG_EQ(Contains(message, expected), true, message);
        }
    }
};

/// @brief Schedulers that do wrong.
class MisbehaviorTestCase : public TestCase
{
  public:
    MisbehaviorTestCase()
        : TestCase("a scheduler that stalls, goes round in circles or breaks a rule is named")
    {
    }

  private:
    void DoRun() override
    {
        const std::string name = "allreduce_tests::StubbornScheduler";
        NS_TEST_EXPECT_MSG_EQ(RunWith({}),
                              name +
                                  " does not come to an end: in round 0 9 sums are still missing",
                              "stalls");
        NS_TEST_EXPECT_MSG_EQ(RunWith({{{0, REDUCE, {1, 3, 2}, {}}}, {{0, REDUCE, {2, 3, 1}, {}}}}),
                              name +
                                  " does not come to an end: in round 55 9 sums are still missing",
                              "goes round in circles");
        NS_TEST_EXPECT_MSG_EQ(RunWith({{{0, REDUCE, {1, 3, 0}, {}}, {0, REDUCE, {0, 3, 1}, {}}}}),
                              name + ", round 0: reduce of chunk 0 along 0-3-1: the sender is the "
                                     "chunk's root, which collects",
                              "breaks a rule");
        NS_TEST_EXPECT_MSG_EQ(RunWith({{{0, REDUCE, {1, 3, 0}, {}}, {1, REDUCE, {2, 3, 0}, {}}}}),
                              name + ", round 0: reduce of chunk 1 along 2-3-0: the path uses a "
                                     "link that is full",
                              "legal alone, but not together");
    }

    static std::string RunWith(std::vector<OwnRound> rounds)
    {
        const Topology star = MakeStar(3);
        const auto scheduler =
            DynamicCast<StubbornScheduler>(CreateScheduler("allreduce_tests::StubbornScheduler"));
        scheduler->rounds = std::move(rounds);
        return GetError([&] { Plan(*scheduler, AllReduceState(star, MakeRoots(3, 1))); });
    }
};

/// @brief Servers that cannot reach each other.
class DisconnectedTestCase : public TestCase
{
  public:
    DisconnectedTestCase()
        : TestCase("servers that cannot reach each other are named, or their network")
    {
    }

  private:
    void DoRun() override
    {
        std::vector<Link> links(4);
        const std::pair<NodeId, NodeId> ends[] = {{0, 4}, {1, 4}, {2, 5}, {3, 5}};
        for (std::size_t i = 0; i < links.size(); ++i)
        {
            links[i].a = ends[i].first;
            links[i].b = ends[i].second;
        }
        const Topology islands("islands", 4, 2, links);
        for (const std::string& name : GetNames())
        {
            const std::string error = GetError([&] { PlanFromStart(name, islands, 1); });
            const bool isNamed = Contains(error, "server") || Contains(error, "islands");
            NS_TEST_EXPECT_MSG_EQ(isNamed, true, name << ": " << error);
            NS_TEST_EXPECT_MSG_EQ(Contains(error, "\n"), false, "one line");
        }
        TestCutOff();
    }

    /// The same after a link has broken.
    void TestCutOff()
    {
        const Topology line = MakeLine(4);
        for (const std::string& name : GetNames())
        {
            const auto scheduler = Make(name);
            AllReduceState state(line, MakeRoots(4, 1));
            state.SetLinkUp(1, false);
            const std::string error = GetError([&] { Plan(*scheduler, state); });
            const bool isNamed = Contains(error, "server") || Contains(error, "line");
            NS_TEST_EXPECT_MSG_EQ(isNamed, true, name << ": " << error);
        }
    }
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
        const auto scheduler = Make("greedy");
        scheduler->SetAttribute("Samples", UintegerValue(samples));
        const AllReduceSchedule schedule =
            Plan(*scheduler, AllReduceState(topology, MakeRoots(topology.GetNServers(), 1)));
        NS_TEST_EXPECT_MSG_EQ(Verify(topology, schedule).isCorrect, true, "correct");
        return schedule.rounds.size();
    }
};

/// @brief What all schedulers have in common.
class SchedulerTestSuite : public TestSuite
{
  public:
    SchedulerTestSuite()
        : TestSuite("allreduce-scheduler", TestSuite::Type::UNIT)
    {
        AddTestCase(new FactoryTestCase);
        AddTestCase(new RoundBuilderTestCase);
        AddTestCase(new MisbehaviorTestCase);
        AddTestCase(new DisconnectedTestCase);
        AddTestCase(new ReplanTestCase);
        AddTestCase(new SamplesTestCase);
        AddTestCase(new ProgressTestCase);
        AddTestCase(new RingPathsTestCase);
        AddTestCase(new DeterminismTestCase);
        AddTestCase(new PropertyTestCase("the smallest and oddest networks", MakeOddNetworks, 3));
        AddTestCase(new PropertyTestCase(
            "random networks",
            [] {
                return MakeRandomNetworks(150, {7, 5, 3});
            },
            3));
        AddTestCase(new PropertyTestCase(
            "larger random networks",
            [] {
                return MakeRandomNetworks(20, {14, 10, 2});
            },
            2));
        AddTestCase(
            new PropertyTestCase("networks of every family, degraded and mixed", MakeFamilies, 2));
        AddTestCase(new RestTestCase);
        AddReferences();
    }

  private:
    void AddReferences()
    {
        const ReferenceTestCase::Row rows[] = {
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
            AddTestCase(new ReferenceTestCase(row));
        }
    }
};

SchedulerTestSuite g_schedulerTestSuite; //!< registers the suite

} // namespace
