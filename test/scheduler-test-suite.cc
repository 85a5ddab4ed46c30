/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/planned-scheduler.h"
#include "ns3/round-builder.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <mutex>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

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
        const auto testPolicies = [&] {
            TestPlanner(uneven, "hrl", 1, "search 2 of");
            TestPlanner(uneven, "hrl", 3, "sample 2 of 3");
        };
        NS_TEST_EXPECT_MSG_EQ(GetError(testPolicies), "", "there are policies");
        TestPlanner(MakeTestStar(3), "allreduce_tests::OneByOneScheduler", 1, "round 2");
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
        scheduler->NextRound(AllReduceState(MakeTestStar(4), MakeRoots(4, 1)));
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
        const Topology star = MakeTestStar(3);
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

/// A plan of nothing.
struct EmptyScheduler : PlannedScheduler
{
    std::vector<WorkloadList> PlanAll(const AllReduceState&) override
    {
        return {};
    }
};

const TypeId g_emptyType = RegisterScheduler<EmptyScheduler>("allreduce_tests::Empty");

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
        TestAttributes();
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
        const Topology line = MakeTestLine(4); // 0 - 1 - 2 - 3, no switches
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
        const auto names = GetSchedulerNames();
        NS_TEST_EXPECT_MSG_EQ(std::count(names.begin(), names.end(), g_simpleType.GetName()),
                              0,
                              "not a short name");
        for (const char* name : {"greedy", "allreduce_tests::Simple", "ns3::Object"})
        {
            const auto message = GetAbortMessage([&] { RegisterScheduler<SimpleScheduler>(name); });
            const std::string expected = std::string("the name \"") + name + "\" is taken";
            NS_TEST_EXPECT_MSG_EQ(Contains(message, expected), true, message);
        }
    }

    void TestAttributes()
    {
        NS_TEST_EXPECT_MSG_EQ(g_emptyType.GetParent(), PlannedScheduler::GetTypeId(), "parent");
        const auto scheduler = CreateScheduler("allreduce_tests::Empty");
        NS_TEST_EXPECT_MSG_EQ(scheduler->SetAttributeFailSafe("Seed", UintegerValue(7)),
                              true,
                              "the Seed of PlannedScheduler");
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
        const Topology star = MakeTestStar(3);
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
        for (const std::string& name : GetNamesWithoutLearning())
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
        const Topology line = MakeTestLine(4);
        for (const std::string& name : GetNamesWithoutLearning())
        {
            const auto scheduler = CreateScheduler(name);
            AllReduceState state(line, MakeRoots(4, 1));
            state.SetLinkUp(1, false);
            const std::string error = GetError([&] { Plan(*scheduler, state); });
            const bool isNamed = Contains(error, "server") || Contains(error, "line");
            NS_TEST_EXPECT_MSG_EQ(isNamed, true, name << ": " << error);
        }
    }
};

/// @brief How schedulers are chosen and asked for rounds, and what happens if they do wrong.
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
        AddTestCase(new ProgressTestCase, EXTENSIVE);
    }
};

SchedulerTestSuite g_schedulerTestSuite; //!< registers the suite

} // namespace
