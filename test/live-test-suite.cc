/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "live-play.h"
#include "random-network.h"

#include "ns3/allreduce-error.h"
#include "ns3/chunk-needs.h"
#include "ns3/live-tasks.h"
#include "ns3/path-table.h"
#include "ns3/remainder-planner.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"
#include "ns3/tree-grower.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// LiveTasks do the same as a list of tasks without any order.
class TasksTestCase : public TestCase
{
  public:
    TasksTestCase()
        : TestCase("tasks are kept in order, as a simple model has them")
    {
    }

  private:
    using Status = LiveTasks::Status;

    /// A task of the model.
    struct Model
    {
        Status status{Status::NONE};
        PathId path{NO_PATH};
        float urgency{0};
    };

    void DoRun() override
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 50; ++i)
        {
            Check(random);
        }
    }

    void Check(TestRandom& random)
    {
        const Topology topology = MakeRandomNetwork(random);
        PathTable paths(topology);
        for (const Path& path : FindAllPaths(topology))
        {
            paths.Add(FindLinks(topology, path));
        }
        const uint32_t nChunks = 1 + Draw(random, 5);
        LiveTasks tasks(topology, paths, nChunks);
        std::map<LiveTasks::Id, Model> model;
        for (const uint32_t half : {UP, DOWN})
        {
            for (ChunkId chunk = 0; chunk < nChunks; ++chunk)
            {
                for (NodeId server = 0; server < topology.GetNServers(); ++server)
                {
                    const LiveTasks::Id id = tasks.GetId(half, chunk, server);
                    NS_TEST_ASSERT_MSG_EQ(tasks.GetHalf(id), half, "the half of a name");
                    NS_TEST_ASSERT_MSG_EQ(tasks.GetChunk(id), chunk, "the chunk of a name");
                    NS_TEST_ASSERT_MSG_EQ(model.count(id), 0, "a name of its own");
                    model[id] = {};
                }
            }
        }
        for (uint32_t step = 0; step < 200; ++step)
        {
            const LiveTasks::Id id = Draw(random, model.size());
            Change(tasks, id, model[id], Draw(random, paths.GetSize()), random);
            Compare(topology, paths, tasks, model);
        }
    }

    /// Do what is possible with a task.
    static void Change(LiveTasks& tasks,
                       LiveTasks::Id id,
                       Model& model,
                       PathId path,
                       TestRandom& random)
    {
        if (Draw(random, 5) == 0)
        {
            tasks.Remove(id);
            model.status = Status::NONE;
        }
        else if (model.status == Status::NONE)
        {
            const float urgency = Draw(random, 8) - 4.0F;
            model = {Status::WAITING, path, urgency};
            tasks.Add(id, path, urgency);
        }
        else if (model.status == Status::WAITING)
        {
            model.status = Status::READY;
            tasks.SetReady(id);
        }
        else if (model.status == Status::READY)
        {
            model.status = Status::UNDER_WAY;
            tasks.Begin(id);
        }
    }

    void Compare(const Topology& topology,
                 const PathTable& paths,
                 const LiveTasks& tasks,
                 const std::map<LiveTasks::Id, Model>& model)
    {
        std::vector<std::vector<LiveTasks::Candidate>> ready(topology.GetNDirectedLinks());
        for (const auto& [id, task] : model)
        {
            NS_TEST_ASSERT_MSG_EQ((tasks.GetStatus(id) == task.status), true, "status of " << id);
            const bool isAhead = task.status == Status::WAITING || task.status == Status::READY;
            NS_TEST_ASSERT_MSG_EQ(tasks.IsAhead(id), isAhead, "whether it has not begun");
            if (task.status != Status::NONE)
            {
                NS_TEST_ASSERT_MSG_EQ(tasks.GetPath(id), task.path, "path of " << id);
            }
            if (task.status == Status::READY)
            {
                const auto links = paths.GetLinks(task.path);
                ready[links.front()].emplace_back(task.urgency, id);
                if (links.size() > 1)
                {
                    ready[links.back()].emplace_back(task.urgency, id);
                }
            }
        }
        for (DirectedLinkId port = 0; port < ready.size(); ++port)
        {
            std::sort(ready[port].begin(), ready[port].end());
            NS_TEST_ASSERT_MSG_EQ((tasks.GetReady(port) == ready[port]), true, "port " << port);
        }
    }
};

/// However slow links are, trees join all servers.
class SlowTreesTestCase : public TestCase
{
  public:
    SlowTreesTestCase()
        : TestCase("trees over links that are next to nothing")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (uint32_t i = 0; i < 100; ++i)
        {
            const Topology topology = MakeRandomNetwork(random);
            PathTable paths(topology);
            TreeGrower grower(topology, paths);
            std::vector<double> capacities(topology.GetNDirectedLinks());
            for (double& capacity : capacities)
            {
                capacity = std::pow(10, -static_cast<double>(Draw(random, 13)));
            }
            grower.SetCapacities(capacities);
            for (uint32_t tree = 0; tree < 20; ++tree)
            {
                const bool isReduced = Draw(random, 2) == 0;
                grower.SetUse(isReduced, !isReduced || Draw(random, 2) == 0);
                std::vector<PathId> toParent(topology.GetNServers(), NO_PATH);
                grower.Grow({Draw(random, topology.GetNServers())}, toParent.data());
                NS_TEST_EXPECT_MSG_EQ(std::count(toParent.begin(), toParent.end(), NO_PATH),
                                      1,
                                      "all but the root are joined, network " << i);
            }
        }
    }
};

/// A test that uses the clock of ns-3.
class ClockTestCase : public TestCase
{
  public:
    using TestCase::TestCase;

  private:
    void DoTeardown() override
    {
        Simulator::Destroy();
    }
};

/// @return rounds that somebody plans; one empty round: nobody does
std::vector<WorkloadList>
DrawPlan(const Topology& topology, const Collective& collective, TestRandom& random)
{
    const AllReduceState state(topology, collective);
    std::vector<std::string> names = {"forest", "greedy"};
    if (collective.IsOfAll())
    {
        names = GetNamesWithoutLearning();
    }
    const std::string name = names[Draw(random, names.size())];
    return Draw(random, 3) == 0 ? std::vector{WorkloadList()}
                                : Plan(*CreateScheduler(name), state).rounds;
}

/// Whatever surprises there are, all sums are right in the end, and nothing illegal was chosen.
class SurprisesTestCase : public ClockTestCase
{
  public:
    /// @param first seed of the first case @param last seed of the last case
    SurprisesTestCase(uint64_t first, uint64_t last)
        : ClockTestCase("random surprises " + std::to_string(first) + " to " +
                        std::to_string(last)),
          m_first(first),
          m_last(last)
    {
    }

  private:
    void DoRun() override
    {
        for (uint64_t seed = m_first; seed <= m_last; ++seed)
        {
            Check(seed);
        }
    }

    void Check(uint64_t seed)
    {
        TestRandom random(seed);
        const Topology topology = DrawNetwork(seed, 16);
        const Collective collective = DrawCollective(topology, random);
        if (!FindCutOff(AllReduceState(topology, collective), false).empty())
        {
            return; // It would need relays that it may not have.
        }
        LiveTroubles troubles;
        troubles.nSurprises = Draw(random, 3) * Draw(random, 20);
        troubles.hasOutages = Draw(random, 2) == 0;
        troubles.areLate = Draw(random, 3) == 0;
        troubles.isFluid = Draw(random, 2) == 0;
        const std::vector<WorkloadList> plan = DrawPlan(topology, collective, random);
        uint64_t nPlanned = 0;
        for (const WorkloadList& round : plan)
        {
            nPlanned += round.GetSize();
        }
        LivePlay play(topology, collective, CreateScheduler("live"), plan, troubles, random);
        const std::string wrong = play.Play();
        NS_TEST_EXPECT_MSG_EQ(wrong, "", "seed " << seed);
        if (troubles.nSurprises == 0 && !troubles.areLate)
        {
            const uint64_t least = CountLeastWorkloads(collective, topology.GetNServers());
            const uint64_t most = std::max(nPlanned, collective.IsOfAll() ? least : 4 * least + 40);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(play.GetNBegun(), most, "no detours, seed " << seed);
        }
    }

    const uint64_t m_first; //!< seed of the first case
    const uint64_t m_last;  //!< seed of the last case
};

/// Chooses as a test says, and writes down what it is told.
class TransferPuppet : public AllReduceScheduler
{
  public:
    /// Answers NextTransfer.
    using Chooser = std::function<std::optional<ChosenTransfer>(const LiveView&, DirectedLinkId)>;

    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::TransferPuppet")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<TransferPuppet>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState&) override
    {
        return {};
    }

    bool ChoosesByTransfer() const override
    {
        return true;
    }

    void BeginTransfers(const LiveView&) override
    {
        ++nBegun;
    }

    void NotifySurprise(const LiveView& view) override
    {
        ++nSurprises;
        believed = view.believedBps;
    }

    std::optional<ChosenTransfer> NextTransfer(const LiveView& view, DirectedLinkId port) override
    {
        asked.push_back(port);
        nUnderWay = view.underWay.size();
        free = view.freeBps;
        return choose ? choose(view, port) : std::nullopt;
    }

    void NotifyArrived(const LiveView&, const Workload& transfer) override
    {
        arrived.push_back(Describe(transfer));
    }

    Chooser choose;                    //!< nothing is chosen if empty
    uint32_t nBegun{0};                //!< calls of BeginTransfers
    uint32_t nSurprises{0};            //!< calls of NotifySurprise
    std::vector<uint64_t> believed;    //!< in the last one
    std::vector<DirectedLinkId> asked; //!< ports, in order
    std::size_t nUnderWay{0};          //!< when it was asked last
    std::vector<uint64_t> free;        //!< then
    std::vector<std::string> arrived;  //!< transfers, in order
};

/// Three servers at a switch, and a dispatcher that asks a puppet.
struct PuppetStage
{
    Topology topology{MakeTestStar(3)};
    AllReduceState state{topology, MakeRoots(3, 2)};
    Ptr<TransferPuppet> puppet{CreateObject<TransferPuppet>()};
    LiveDispatcher dispatcher{topology, puppet, state, 1000};

    /// @return a reduce over the switch @param chunk the chunk @param from sender @param to
    /// receiver
    static ChosenTransfer MakeReduce(ChunkId chunk, NodeId from, NodeId to)
    {
        return {chunk, WorkloadKind::REDUCE, {from, 3, to}};
    }

    /// @return the link @param from a node @param to a neighbor
    DirectedLinkId Find(NodeId from, NodeId to) const
    {
        return *topology.FindDirectedLink(from, to);
    }

    /// Begin what is chosen once. @param transfer what @return its index
    std::optional<uint32_t> BeginOnce(const ChosenTransfer& transfer)
    {
        const DirectedLinkId port = Find(transfer.path[0], transfer.path[1]);
        bool isChosen = false;
        puppet->choose = [&](const LiveView&, DirectedLinkId asked) {
            const bool isNow = asked == port && !isChosen;
            isChosen = isChosen || isNow;
            return isNow ? std::optional(transfer) : std::nullopt;
        };
        const auto index = dispatcher.BeginNext();
        puppet->choose = nullptr;
        return index;
    }
};

/// A dispatcher asks about each port that could do something, and about no other.
class AskingTestCase : public ClockTestCase
{
  public:
    AskingTestCase()
        : ClockTestCase("which ports are asked about, and when")
    {
    }

  private:
    void DoRun() override
    {
        PuppetStage stage;
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.BeginNext().has_value(), false, "not begun yet");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->asked.empty(), true, "nobody is asked");
        stage.dispatcher.Begin(std::vector<WorkloadList>(2));
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.BeginNext().has_value(), false, "nothing chosen");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nBegun, 1, "it begins");
        std::vector<DirectedLinkId> out = {stage.Find(0, 3), stage.Find(1, 3), stage.Find(2, 3)};
        ExpectAsked(stage, out, "all ports are asked about");
        stage.dispatcher.BeginNext();
        ExpectAsked(stage, {}, "and not again");

        stage.dispatcher.NotifySurprise();
        const auto first = stage.BeginOnce(PuppetStage::MakeReduce(0, 1, 0));
        NS_TEST_ASSERT_MSG_EQ(first.has_value(), true, "chosen");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nBegun, 1, "it begins once");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nSurprises, 2, "and is told of the surprise");
        stage.puppet->asked.clear();
        stage.dispatcher.BeginNext();
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nUnderWay, 1, "it sees what is under way");
        ExpectAsked(stage, {stage.Find(2, 3)}, "a port that is full is not asked about");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->free[stage.Find(1, 3)], 0, "full");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->free[stage.Find(3, 0)], 0, "full");

        stage.dispatcher.FreePorts(*first);
        stage.dispatcher.BeginNext();
        ExpectAsked(stage, {stage.Find(1, 3), stage.Find(3, 0)}, "those that it left");
        stage.dispatcher.NotifyArrived(*first);
        NS_TEST_EXPECT_MSG_EQ((stage.dispatcher.CompleteNext() == first), true, "complete");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.CompleteNext().has_value(), false, "once");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->arrived.empty(), true, "told when it is asked next");
        stage.dispatcher.BeginNext();
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->arrived.size(), 1, "told");
        ExpectAsked(stage, {stage.Find(0, 3)}, "the server where data has arrived");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nUnderWay, 0, "nothing is under way");
        stage.dispatcher.Halt();
        stage.dispatcher.NotifySurprise();
        stage.dispatcher.BeginNext();
        ExpectAsked(stage, {}, "nothing begins after a halt");
    }

    void ExpectAsked(PuppetStage& stage, std::vector<DirectedLinkId> expected, const char* what)
    {
        std::vector<DirectedLinkId> asked = std::exchange(stage.puppet->asked, {});
        std::sort(asked.begin(), asked.end());
        std::sort(expected.begin(), expected.end());
        NS_TEST_EXPECT_MSG_EQ((asked == expected), true, what);
    }
};

/// What is believed of links decides about rates; what was announced, how fast is sent.
class BelievedRatesTestCase : public ClockTestCase
{
  public:
    BelievedRatesTestCase()
        : ClockTestCase("believed rates, links that are down, servers that are late")
    {
    }

  private:
    static constexpr uint64_t RATE = DEFAULT_LINK_RATE_BPS;

    void DoRun() override
    {
        CheckBelieved();
        CheckUsable();
        CheckDropped();
    }

    void CheckBelieved()
    {
        PuppetStage stage;
        stage.dispatcher.Begin(std::vector<WorkloadList>(1));
        std::vector<uint64_t> believed(stage.topology.GetNDirectedLinks(), RATE);
        believed[stage.Find(1, 3)] = RATE / 4;
        stage.dispatcher.SetBelieved(believed);
        const auto slow = stage.BeginOnce(PuppetStage::MakeReduce(0, 1, 0));
        NS_TEST_ASSERT_MSG_EQ(slow.has_value(), true, "chosen");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetExpectedRate(*slow), RATE / 4, "as believed");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetRate(*slow), RATE, "sent as fast as announced");
        const auto other = stage.BeginOnce(PuppetStage::MakeReduce(1, 2, 0));
        NS_TEST_ASSERT_MSG_EQ(other.has_value(), true, "a port that has rate left");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetExpectedRate(*other), RATE / 4 * 3, "the rest");
        stage.dispatcher.BeginNext();
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->free[stage.Find(3, 0)],
                              0,
                              "the receiver's port is full");
        // It holds its ports until it has arrived: what is sent waits in queues.
        stage.dispatcher.FreePorts(*slow);
        stage.dispatcher.NotifySurprise();
        stage.dispatcher.BeginNext();
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->free[stage.Find(1, 3)], 0, "held");
        stage.dispatcher.NotifyArrived(*slow);
        stage.dispatcher.CompleteNext();
        stage.dispatcher.NotifySurprise();
        stage.dispatcher.BeginNext();
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->free[stage.Find(1, 3)], RATE / 4, "free again");
    }

    void CheckUsable()
    {
        PuppetStage stage;
        stage.dispatcher.SetReady(1, false);
        stage.state.SetLinkUp(GetLinkId(stage.Find(2, 3)), false);
        stage.dispatcher.Begin(std::vector<WorkloadList>(1));
        stage.dispatcher.BeginNext();
        for (const auto& [from, to] : {std::pair{1, 3}, {3, 1}, {2, 3}, {3, 2}})
        {
            NS_TEST_EXPECT_MSG_EQ(stage.puppet->believed[stage.Find(from, to)], 0, "not usable");
        }
        NS_TEST_EXPECT_MSG_EQ((stage.puppet->asked == std::vector{stage.Find(0, 3)}), true, "one");
        const std::string error =
            GetError([&] { Choose(stage, 0, PuppetStage::MakeReduce(2, 0, 1)); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "TransferPuppet"), true, error);
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "0-3-1"), true, error);
        stage.dispatcher.SetReady(1, true);
        NS_TEST_EXPECT_MSG_EQ(stage.BeginOnce(PuppetStage::MakeReduce(0, 1, 0)).has_value(),
                              true,
                              "it is ready");
    }

    /// Choose something about a port of a server, whatever it is.
    static void Choose(PuppetStage& stage, NodeId server, const ChosenTransfer& transfer)
    {
        stage.puppet->choose = [&](const LiveView&, DirectedLinkId port) {
            return port == stage.Find(server, 3) ? std::optional(transfer) : std::nullopt;
        };
        stage.dispatcher.NotifySurprise();
        stage.dispatcher.BeginNext();
    }

    void CheckDropped()
    {
        PuppetStage stage;
        stage.dispatcher.Begin(std::vector<WorkloadList>(1));
        const auto lost = stage.BeginOnce(PuppetStage::MakeReduce(0, 1, 0));
        stage.dispatcher.Drop(*lost);
        stage.dispatcher.BeginNext();
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nSurprises, 2, "a loss is a surprise");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->nUnderWay, 0, "it is not under way");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->free[stage.Find(1, 3)], RATE, "its links are free");
        NS_TEST_EXPECT_MSG_EQ(stage.puppet->arrived.empty(), true, "it has not arrived");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.CompleteNext().has_value(),
                              false,
                              "nor is complete");
    }
};

/// What began within the time of a chunk is a round.
class LiveRoundsTestCase : public ClockTestCase
{
  public:
    LiveRoundsTestCase()
        : ClockTestCase("rounds for traces and pages")
    {
    }

  private:
    void DoRun() override
    {
        PuppetStage stage; // A chunk takes 800 ns.
        stage.dispatcher.Begin(std::vector<WorkloadList>(1));
        const auto first = stage.BeginOnce(PuppetStage::MakeReduce(0, 1, 0));
        Wait(500);
        stage.dispatcher.NotifySurprise();
        const auto second = stage.BeginOnce(PuppetStage::MakeReduce(2, 0, 1));
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetRound(*second), 0, "in the same round");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetPosition(*second), 1, "its second");
        Wait(500);
        stage.dispatcher.NotifySurprise();
        const std::string error =
            GetError([&] { stage.BeginOnce(PuppetStage::MakeReduce(1, 2, 0)); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, "link 3-0 has no rate left"), true, error);
        for (const auto index : {first, second})
        {
            NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.IsRoundOver(0), false, "something is under way");
            stage.dispatcher.NotifyArrived(*index);
            stage.dispatcher.CompleteNext();
        }
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.IsRoundOver(0), true, "all have arrived");
        const auto last = stage.BeginOnce(PuppetStage::MakeReduce(1, 2, 0));
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetRound(*last), 1, "in the next round");
        const std::vector<WorkloadList> rounds = stage.dispatcher.ListRounds();
        NS_TEST_ASSERT_MSG_EQ(rounds.size(), 2, "two rounds");
        NS_TEST_EXPECT_MSG_EQ(rounds[0].GetSize(), 2, "of two transfers");
        NS_TEST_EXPECT_MSG_EQ(rounds[1].GetSize(), 1, "and of one");
        NS_TEST_EXPECT_MSG_EQ(stage.dispatcher.GetNBegun(0), 2, "begun in the first");
    }

    static void Wait(int64_t ns)
    {
        Simulator::Stop(NanoSeconds(ns));
        Simulator::Run();
    }
};

/// One collective after another, by the same scheduler, which has seen the one before.
class AgainTestCase : public ClockTestCase
{
  public:
    AgainTestCase()
        : ClockTestCase("a scheduler serves one collective after another")
    {
    }

  private:
    void DoRun() override
    {
        for (uint64_t seed = 1; seed <= 60; ++seed)
        {
            TestRandom random(seed);
            const Topology topology = DrawNetwork(seed, 8);
            const Collective collective = MakeRoots(topology.GetNServers(), 1 + Draw(random, 3));
            const Ptr<AllReduceScheduler> scheduler = CreateScheduler("live");
            for (uint32_t i = 0; i < 3; ++i)
            {
                LiveTroubles troubles;
                troubles.nSurprises = Draw(random, 10);
                troubles.hasOutages = true;
                troubles.areLate = i > 0;
                const auto plan = DrawPlan(topology, collective, random);
                LivePlay play(topology, collective, scheduler, plan, troubles, random);
                if (i > 0)
                {
                    play.BreakFirst();
                }
                const std::string wrong = play.Play();
                NS_TEST_EXPECT_MSG_EQ(wrong, "", "seed " << seed << ", collective " << i);
            }
        }
    }
};

class LiveTestSuite : public TestSuite
{
  public:
    LiveTestSuite()
        : TestSuite("allreduce-live", TestSuite::Type::UNIT)
    {
        AddTestCase(new TasksTestCase);
        AddTestCase(new SlowTreesTestCase);
        AddTestCase(new AskingTestCase);
        AddTestCase(new BelievedRatesTestCase);
        AddTestCase(new LiveRoundsTestCase);
        AddTestCase(new AgainTestCase);
        AddTestCase(new SurprisesTestCase(1, 200));
        AddTestCase(new SurprisesTestCase(201, 2000), EXTENSIVE);
    }
};

LiveTestSuite g_liveTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
