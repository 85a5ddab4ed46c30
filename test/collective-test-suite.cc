/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"
#include "run-experiment.h"
#include "schedule-mutations.h"
#include "session-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-helper.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/collective.h"
#include "ns3/cut-bound.h"
#include "ns3/cut-checker.h"
#include "ns3/groups-apart.h"
#include "ns3/round-hash.h"
#include "ns3/schedule-file.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/server-flow.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <sstream>

/**
 * @file
 * @ingroup allreduce-tests
 * Collectives besides AllReduce, and groups of servers.
 */

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

constexpr CollectiveKind KINDS[] = {CollectiveKind::ALL_REDUCE,
                                    CollectiveKind::REDUCE_SCATTER,
                                    CollectiveKind::ALL_GATHER,
                                    CollectiveKind::BROADCAST,
                                    CollectiveKind::REDUCE};

/// @return one group of all servers
Collective
MakeOfAll(CollectiveKind kind, uint32_t nServers, uint32_t chunksPerServer)
{
    Group group{kind, std::vector<NodeId>(nServers), 0};
    std::iota(group.servers.begin(), group.servers.end(), 0);
    return MakeCollective({group}, nServers, chunksPerServer, true);
}

/// Something to plan.
struct Case
{
    Topology topology;     //!< the network
    Collective collective; //!< what is to be summed where
    std::string scheduler; //!< who plans
};

/// @return 1 to 4 groups of servers of a network, each of any kind, in no order
std::vector<Group>
DrawGroups(uint32_t nServers, TestRandom& random)
{
    std::vector<NodeId> servers(nServers);
    std::iota(servers.begin(), servers.end(), 0);
    std::shuffle(servers.begin(), servers.end(), random);
    const uint32_t nGroups = 1 + Draw(random, std::min(4U, nServers / 2));
    std::vector<Group> groups;
    for (uint32_t i = 0; i < nGroups; ++i)
    {
        const uint32_t most = servers.size() - 2 * (nGroups - 1 - i);
        const uint32_t size = 2 + Draw(random, most - 1);
        Group group;
        group.kind = KINDS[Draw(random, std::size(KINDS))];
        group.servers.assign(servers.end() - size, servers.end());
        group.root = group.servers[Draw(random, size)];
        servers.resize(servers.size() - size);
        groups.push_back(std::move(group));
    }
    return groups;
}

Case
DrawCase(uint32_t number, TestRandom& random)
{
    static const std::vector<std::string> FAMILIES = {"bcube:3,1",
                                                      "dcell:3,1",
                                                      "jellyfish:6,3,2",
                                                      "fattree:4",
                                                      "torus:3x3",
                                                      "bcube:2,2",
                                                      "bcube:2,3"};
    Topology topology = number % 2 == 0 ? DrawNetwork(number, 10)
                                        : ParseTopology(FAMILIES[number / 2 % FAMILIES.size()]);
    const std::vector<Group> groups = DrawGroups(topology.GetNServers(), random);
    const bool mayRelay = Draw(random, 4) > 0;
    Collective collective =
        MakeCollective(groups, topology.GetNServers(), 1 + Draw(random, 2), mayRelay);
    const char* scheduler = number % 10 == 9 ? "hrl" : number % 3 == 0 ? "forest" : "greedy";
    return {std::move(topology), std::move(collective), scheduler};
}

/// @return whether a chunk's servers can reach each other over nobody else
bool
IsConnectedAlone(const Topology& topology, const std::vector<NodeId>& servers)
{
    std::set<NodeId> reached{servers.front()};
    std::vector<NodeId> queue{servers.front()};
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        for (const Topology::Port& port : topology.GetPorts(queue[i]))
        {
            const bool mayPass =
                !topology.IsServer(port.neighbor) ||
                std::find(servers.begin(), servers.end(), port.neighbor) != servers.end();
            if (mayPass && reached.insert(port.neighbor).second)
            {
                queue.push_back(port.neighbor);
            }
        }
    }
    return std::all_of(servers.begin(), servers.end(), [&](NodeId s) { return reached.count(s); });
}

/// @return whether relays are needed that are not allowed
bool
IsImpossible(const Case& drawn)
{
    const Collective& collective = drawn.collective;
    return !collective.IsOfAll() && !collective.mayRelay &&
           std::any_of(collective.sets.begin(), collective.sets.end(), [&](const auto& set) {
               return !IsConnectedAlone(drawn.topology, set);
           });
}

/// @brief What MakeCollective makes and refuses.
class DefinitionTestCase : public TestCase
{
  public:
    DefinitionTestCase()
        : TestCase("each kind has its contributors and receivers, and wrong groups are refused")
    {
    }

  private:
    void DoRun() override
    {
        for (const CollectiveKind kind : KINDS)
        {
            NS_TEST_EXPECT_MSG_EQ((ParseCollectiveKind(ToString(kind), "test") == kind),
                                  true,
                                  "a name is read back");
            CheckKind(kind);
        }
        const Collective all = MakeOfAll(CollectiveKind::ALL_REDUCE, 4, 2);
        NS_TEST_EXPECT_MSG_EQ((all == Collective(MakeRoots(4, 2))), true, "the AllReduce of all");
        Refuse({{CollectiveKind::ALL_REDUCE, {0}, 0}}, "a group of 1 servers, expected 2 or more");
        Refuse({{CollectiveKind::ALL_REDUCE, {0, 6}, 0}}, "server 6 of a group, expected");
        Refuse({{CollectiveKind::ALL_REDUCE, {0, 1}, 0}, {CollectiveKind::ALL_GATHER, {1, 2}, 0}},
               "server 1 is in two groups or twice in one");
        Refuse({{CollectiveKind::REDUCE, {0, 1}, 2}}, "root 2 is not in its group");
        NS_TEST_EXPECT_MSG_EQ(Contains(GetError([] { ParseCollectiveKind("sum", "--collective"); }),
                                       "--collective \"sum\": expected allreduce, reduce-scatter"),
                              true,
                              "an unknown kind");
    }

    void CheckKind(CollectiveKind kind)
    {
        const Collective made = MakeCollective({{kind, {4, 1, 3}, 3}}, 6, 2, true);
        const bool hasOneRoot = kind == CollectiveKind::BROADCAST || kind == CollectiveKind::REDUCE;
        const bool sums = kind != CollectiveKind::BROADCAST && kind != CollectiveKind::ALL_GATHER;
        const bool spreads =
            kind != CollectiveKind::REDUCE_SCATTER && kind != CollectiveKind::REDUCE;
        NS_TEST_ASSERT_MSG_EQ(made.GetNChunks(), 6, ToString(kind));
        const std::size_t nFrom = sums ? 3 : 1;
        const std::size_t nTo = spreads ? 3 : 1;
        const std::vector<NodeId> inTurn = {1, 1, 3, 3, 4, 4};
        for (ChunkId chunk = 0; chunk < 6; ++chunk)
        {
            NS_TEST_EXPECT_MSG_EQ(made.roots[chunk], (hasOneRoot ? 3 : inTurn[chunk]), "root");
            NS_TEST_EXPECT_MSG_EQ(made.sets[made.contributors[chunk]].size(), nFrom, "from");
            NS_TEST_EXPECT_MSG_EQ(made.sets[made.receivers[chunk]].size(), nTo, "to");
        }
    }

    void Refuse(const std::vector<Group>& groups, const std::string& expected)
    {
        const std::string error = GetError([&] { MakeCollective(groups, 6, 1, true); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, expected), true, error);
    }
};

/// @brief Rounds that can be counted by hand.
class KnownBoundTestCase : public TestCase
{
  public:
    KnownBoundTestCase()
        : TestCase("bounds that can be counted by hand")
    {
    }

  private:
    void DoRun() override
    {
        // A star: a server has one port. m chunks for each of n servers.
        Expect("fattree:2", CollectiveKind::BROADCAST, 1, 2);
        // 16 servers with two ports and 32 chunks: each gets 30 of them, and sends 30.
        Expect("bcube:4,1", CollectiveKind::ALL_GATHER, 2, 15);
        Expect("bcube:4,1", CollectiveKind::REDUCE_SCATTER, 2, 15);
        // The root sends 32 chunks, or gets them.
        Expect("bcube:4,1", CollectiveKind::BROADCAST, 2, 16);
        Expect("bcube:4,1", CollectiveKind::REDUCE, 2, 16);
        const Topology bcube = ParseTopology("bcube:4,1");
        const Collective rack =
            MakeCollective({{CollectiveKind::ALL_REDUCE, {0, 1, 2, 3}, 0}}, 16, 2, false);
        // Without relays only the port to the switch of the four is of use: a ring of four.
        NS_TEST_EXPECT_MSG_EQ(ComputeLowerBounds(bcube, rack).GetBest().rounds, 12, "one port");
    }

    void Expect(const std::string& spec, CollectiveKind kind, uint32_t m, uint64_t rounds)
    {
        const Topology topology = ParseTopology(spec);
        const Collective collective = MakeOfAll(kind, topology.GetNServers(), m);
        const LowerBounds bounds = ComputeLowerBounds(topology, collective);
        NS_TEST_EXPECT_MSG_EQ(bounds.GetBest().rounds,
                              rounds,
                              spec << " " << ToString(kind) << ": " << bounds.GetBest().bottleneck);
    }
};

/// @brief All sides of small networks, one by one.
class ExhaustiveCutTestCase : public TestCase
{
  public:
    ExhaustiveCutTestCase()
        : TestCase("of one group, no side of a small network proves more than the one found")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(7);
        for (uint32_t i = 0; i < 60; ++i)
        {
            const Topology topology = DrawNetwork(i, 6);
            if (topology.GetNNodes() > 12)
            {
                continue;
            }
            std::vector<Group> groups = DrawGroups(topology.GetNServers(), random);
            groups.resize(1);
            const Collective collective =
                MakeCollective(groups, topology.GetNServers(), 2, Draw(random, 2) == 0);
            if (!collective.IsOfAll() && !IsImpossible({topology, collective, ""}))
            {
                CheckAllSides(topology, collective);
                ++m_nChecked;
            }
        }
        NS_TEST_EXPECT_MSG_GT(m_nChecked, 20, "networks");
    }

    void CheckAllSides(const Topology& topology, const Collective& collective)
    {
        const std::vector<int64_t> capacities = GetCapacities(topology);
        const CutBound found =
            FindBestCut(topology, collective, {capacities.begin(), capacities.end()});
        NS_TEST_ASSERT_MSG_EQ(FindFlaw(topology, collective, found), "", topology.GetName());
        const double best = static_cast<double>(found.crossings) / found.width;
        for (uint32_t bits = 1; bits < (1U << topology.GetNNodes()); ++bits)
        {
            // The checker says what a side proves: the claim of a width too small is refuted.
            CutBound side{std::vector<uint32_t>(topology.GetNNodes(), NO_SIDE), 1, 0, 0};
            for (NodeId node = 0; node < topology.GetNNodes(); ++node)
            {
                side.side[node] = bits >> node & 1 ? 0 : NO_SIDE;
            }
            if (ClaimAsMuchAsHolds(topology, collective, side))
            {
                NS_TEST_ASSERT_MSG_LT(side.crossings,
                                      (best + 1e-9) * side.width,
                                      topology.GetName() << ", side " << bits);
            }
        }
    }

    /// @return whether something crosses the border @param [in,out] side gets its claim
    static bool ClaimAsMuchAsHolds(const Topology& topology,
                                   const Collective& collective,
                                   CutBound& side)
    {
        while (Contains(FindFlaw(topology, collective, side), "a width of"))
        {
            ++side.width;
        }
        while (FindFlaw(topology, collective, side).empty())
        {
            ++side.crossings;
        }
        --side.crossings;
        return side.crossings > 0 && side.width > 0;
    }

    uint32_t m_nChecked{0}; //!< networks
};

/// @brief Many random collectives, planned, proven, executed and corrupted.
class RandomCollectivesTestCase : public TestCase
{
  public:
    RandomCollectivesTestCase()
        : TestCase("500 random collectives of 1 to 4 groups: exact, none below its bound, and no "
                   "corruption that changes the result passes")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(20);
        for (uint32_t number = 0; number < 500; ++number)
        {
            const Case drawn = DrawCase(number, random);
            if (IsImpossible(drawn))
            {
                ++m_nImpossible;
                const std::string error = GetError([&] { MakePlan(drawn); });
                NS_TEST_EXPECT_MSG_EQ(Contains(error, "cannot reach"), true, error);
                continue;
            }
            CheckCase(drawn, number, random);
        }
        NS_TEST_EXPECT_MSG_LT(m_nImpossible, 100, "most are possible");
        NS_TEST_EXPECT_MSG_GT(m_nAtBound, 60, "some plans are at their bound");
        NS_TEST_EXPECT_MSG_GT(m_nWrong, m_nMutants / 2, "most corruptions are harmful");
    }

    static AllReduceSchedule MakePlan(const Case& drawn)
    {
        return Plan(*CreateScheduler(drawn.scheduler),
                    AllReduceState(drawn.topology, drawn.collective));
    }

    void CheckCase(const Case& drawn, uint32_t number, TestRandom& random)
    {
        const std::string name =
            drawn.topology.GetName() + " " + drawn.scheduler + " " + std::to_string(number);
        const AllReduceSchedule plan = MakePlan(drawn);
        CheckCorrect(drawn.topology, plan, name);
        const LowerBounds bounds = ComputeLowerBounds(drawn.topology, drawn.collective);
        NS_TEST_EXPECT_MSG_GT_OR_EQ(plan.rounds.size(), bounds.GetBest().rounds, name);
        m_nAtBound += plan.rounds.size() == bounds.GetBest().rounds;
        if (!drawn.collective.IsOfAll())
        {
            NS_TEST_EXPECT_MSG_EQ(FindFlaw(drawn.topology, drawn.collective, bounds.cut), "", name);
        }
        CheckFile(drawn.topology, plan, name);
        CheckMutants(drawn.topology, OwnSchedule(plan), random);
        if (number % 5 == 0)
        {
            const auto makeScheduler = [&] { return CreateScheduler(drawn.scheduler); };
            CheckCorrect(drawn.topology,
                         PlanApart(drawn.topology, drawn.collective, makeScheduler),
                         name + " apart");
        }
    }

    void CheckCorrect(const Topology& topology,
                      const AllReduceSchedule& plan,
                      const std::string& name)
    {
        const Verdict verdict = Verify(topology, plan);
        NS_TEST_ASSERT_MSG_EQ(verdict.isCorrect, true, name << ": " << verdict.reason);
        NS_TEST_EXPECT_MSG_EQ(ExecuteWithNumbers(topology, OwnSchedule(plan)), "", name);
        NS_TEST_EXPECT_MSG_EQ(ExecuteOnState(topology, OwnSchedule(plan)), "", name);
    }

    void CheckFile(const Topology& topology, const AllReduceSchedule& plan, const std::string& name)
    {
        std::istringstream in(FormatSchedule(topology, plan));
        const ScheduleFile file = ReadSchedule(in, "test");
        NS_TEST_EXPECT_MSG_EQ((file.schedule.collective == plan.collective), true, name);
        NS_TEST_EXPECT_MSG_EQ(FormatSchedule(file.topology, file.schedule), in.str(), name);
    }

    void CheckMutants(const Topology& topology, const OwnSchedule& schedule, TestRandom& random)
    {
        for (const auto& [name, mutate] : GetMutations())
        {
            OwnSchedule mutant = schedule;
            if (mutate(mutant, topology, random))
            {
                ++m_nMutants;
                const Verdict verdict = Verify(topology, mutant.Get());
                const bool isFaulty = !FindFault(mutant.collective, topology).empty();
                const std::string wrong =
                    isFaulty ? "faulty" : ExecuteWithNumbers(topology, mutant);
                const std::string fault = ExecuteOnState(topology, mutant);
                m_nWrong += !wrong.empty();
                NS_TEST_EXPECT_MSG_EQ((verdict.isCorrect && !wrong.empty()),
                                      false,
                                      name << " on " << topology.GetName() << ": " << wrong);
                NS_TEST_EXPECT_MSG_EQ((!verdict.isCorrect && fault.empty()),
                                      false,
                                      name << ": verifier says " << verdict.reason);
            }
        }
    }

    uint32_t m_nImpossible{0}; //!< collectives that need relays which are not allowed
    uint32_t m_nAtBound{0};    //!< plans that are as short as possible
    uint32_t m_nMutants{0};    //!< corruptions
    uint32_t m_nWrong{0};      //!< that give a wrong result
};

/// @brief Servers that may not relay, and relays that are not needed.
class RelayTestCase : public TestCase
{
  public:
    RelayTestCase()
        : TestCase("who takes no part relays only if it may, for the state and for the verifier")
    {
    }

  private:
    void DoRun() override
    {
        // 0 - 1 - 2: servers in a line; 0 and 2 sum, 1 is in between.
        const Topology line = MakeTestLine(3);
        const std::vector<Group> ends = {{CollectiveKind::ALL_REDUCE, {0, 2}, 0}};
        const Collective relayed = MakeCollective(ends, 3, 1, true);
        OwnSchedule schedule(Plan(*CreateScheduler("greedy"), AllReduceState(line, relayed)));
        NS_TEST_EXPECT_MSG_EQ(Verify(line, schedule.Get()).isCorrect, true, "over server 1");
        schedule.collective.mayRelay = false;
        const Verdict verdict = Verify(line, schedule.Get());
        NS_TEST_EXPECT_MSG_EQ(
            Contains(verdict.reason, "server 1 takes no part in the chunk, nor may it relay"),
            true,
            verdict.reason);
        const std::string fault = ExecuteOnState(line, schedule);
        NS_TEST_EXPECT_MSG_EQ(Contains(fault, "takes no part in the chunk, and may not relay"),
                              true,
                              fault);
        for (const char* name : {"greedy", "forest", "hrl"})
        {
            const std::string error = GetError(
                [&] { Plan(*CreateScheduler(name), AllReduceState(line, schedule.collective)); });
            NS_TEST_EXPECT_MSG_EQ(Contains(error, "cannot reach"), true, name << ": " << error);
        }
    }
};

/// @brief Relays that were chosen, and of which nobody made use.
class UnusedRelayTestCase : public TestCase
{
  public:
    UnusedRelayTestCase()
        : TestCase("a relay that nobody relied on has nothing to send, and is not asked to")
    {
    }

  private:
    void DoRun() override
    {
        const Topology bcube = ParseTopology("bcube:2,3");
        std::vector<Group> groups(3);
        groups[0].servers = {4, 10, 11, 12, 13};
        groups[1].servers = {0, 1, 3, 6, 15};
        groups[2].servers = {2, 5, 8, 9, 14};
        const Collective collective = MakeCollective(groups, 16, 1, true);
        const AllReduceSchedule plan =
            Plan(*CreateScheduler("greedy"), AllReduceState(bcube, collective));
        const Verdict verdict = Verify(bcube, plan);
        NS_TEST_EXPECT_MSG_EQ(verdict.isCorrect, true, verdict.reason);
    }
};

/// @brief Schedulers that plan AllReduces of all servers say so.
class GroupRefusalTestCase : public TestCase
{
  public:
    GroupRefusalTestCase()
        : TestCase("a scheduler either plans all collectives or says that it does not")
    {
    }

  private:
    void DoRun() override
    {
        const Topology bcube = ParseTopology("bcube:2,1");
        const std::set<std::string> able = {"forest", "greedy", "hrl", "live"};
        for (const std::string& name : GetSchedulerNames())
        {
            for (const CollectiveKind kind : KINDS)
            {
                const Collective collective = MakeOfAll(kind, 4, 1);
                const std::string error = GetError(
                    [&] { Plan(*CreateScheduler(name), AllReduceState(bcube, collective)); });
                const bool isAble = able.count(name) > 0 || collective.IsOfAll();
                NS_TEST_EXPECT_MSG_EQ(error.empty(), isAble, name << ": " << error);
                NS_TEST_EXPECT_MSG_EQ(
                    (isAble || Contains(error, "plans AllReduces of all servers")),
                    true,
                    name << ": " << error);
            }
        }
    }
};

/// @brief All-gathers and reduce-scatters are halves of AllReduces.
class ReferenceTestCase : public TestCase
{
  public:
    ReferenceTestCase()
        : TestCase("all-gather and reduce-scatter of hrl take the rounds that the bound says")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:2,1", "bcube:3,1", "bcube:4,1", "dcell:3,1", "dcell:4,1"})
        {
            const Topology topology = ParseTopology(spec);
            for (const CollectiveKind kind :
                 {CollectiveKind::ALL_GATHER, CollectiveKind::REDUCE_SCATTER})
            {
                const Collective collective =
                    MakeOfAll(kind, topology.GetNServers(), ComputeMeanPorts(topology));
                const AllReduceSchedule plan =
                    Plan(*CreateScheduler("hrl"), AllReduceState(topology, collective));
                NS_TEST_EXPECT_MSG_EQ(plan.rounds.size(),
                                      ComputeLowerBounds(topology, collective).GetBest().rounds,
                                      spec << " " << ToString(kind));
            }
        }
    }
};

/// @brief Who plans with effort is no worse than who plans quickly.
class QuickFirstTestCase : public TestCase
{
  public:
    QuickFirstTestCase()
        : TestCase("hrl is no longer than greedy, and trees that go one way balance that way")
    {
    }

  private:
    std::size_t CountRounds(const Topology& topology, const char* scheduler, uint32_t m)
    {
        const Collective collective =
            MakeOfAll(CollectiveKind::ALL_GATHER, topology.GetNServers(), m);
        return Plan(*CreateScheduler(scheduler), AllReduceState(topology, collective))
            .rounds.size();
    }

    void DoRun() override
    {
        const Topology broken = ParseDegrade(ParseTopology("jellyfish:16,4,2"), "0.1,3");
        NS_TEST_EXPECT_MSG_EQ(CountRounds(broken, "hrl", 1), 31, "as greedy, at the bound");
        NS_TEST_EXPECT_MSG_EQ(CountRounds(broken, "hrl", 3), 93, "as greedy, at the bound");
        const Topology mixed = ParseMixed(ParseTopology("dcell:3,1"), "0.6,3");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(CountRounds(mixed, "forest", 3), 17, "trees of ForestColl");
        NS_TEST_EXPECT_MSG_LT_OR_EQ(CountRounds(mixed, "forest", 12), 65, "trees of ForestColl");
    }
};

/// @brief Collectives packet by packet, with real numbers.
class PacketsTestCase : public DataCentreTestCase
{
  public:
    PacketsTestCase()
        : DataCentreTestCase("500 random collectives in packets: every receiver has the exact sums")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(11);
        for (uint32_t number = 0; number < 500; ++number)
        {
            Case drawn = DrawCase(number, random);
            drawn.scheduler = number % 3 == 0 ? "forest" : "greedy";
            if (!IsImpossible(drawn))
            {
                Run(drawn, number);
            }
        }
        RunWithBrokenLink();
    }

    void Run(const Case& drawn, uint32_t number)
    {
        const std::vector<std::string> transports = {"raw", "udp", "tcp"};
        const auto scheduler = CreateScheduler(drawn.scheduler);
        auto plan = PlanVerified(drawn.topology, drawn.collective, *scheduler);
        const Experiment experiment{drawn.topology,
                                    drawn.scheduler,
                                    scheduler,
                                    std::move(plan),
                                    10000 + number};
        RunOptions options =
            MakeOptions(transports[number % 3], number % 2 == 0 ? "barrier" : "dependency");
        options.control = number % 4 == 0 ? "packets" : "ideal";
        const ExperimentResult result = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", drawn.topology.GetName() << " " << number);
        NS_TEST_EXPECT_MSG_EQ(result.isVerified, true, "proven");
    }

    void RunWithBrokenLink()
    {
        const Topology bcube = ParseTopology("bcube:3,1");
        for (const CollectiveKind kind : KINDS)
        {
            const Collective collective =
                MakeCollective({{kind, {0, 2, 4, 6, 8}, 4}, {kind, {1, 3, 5, 7}, 3}}, 9, 2, true);
            const auto scheduler = CreateScheduler("forest");
            auto plan = PlanVerified(bcube, collective, *scheduler);
            const Experiment experiment{bcube, "forest", scheduler, std::move(plan), 1 << 18};
            RunOptions options = MakeOptions("raw", "barrier");
            options.faults.fail = {"4-10@20us"};
            const ExperimentResult result = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", ToString(kind));
            NS_TEST_EXPECT_MSG_EQ(result.nReplans, 1, ToString(kind) << ": planned anew");
            NS_TEST_EXPECT_MSG_EQ(result.isVerified, true, "proven");
        }
    }
};

/// @brief Two jobs on groups of one network, as a simulation script has them.
class HelperTestCase : public TestCase
{
  public:
    HelperTestCase()
        : TestCase("the helper takes a group for each session, and each starts when it is to")
    {
    }

  private:
    void DoRun() override
    {
        const Ptr<AllReduceNetwork> network = TopologyHelper(ParseTopology("bcube:4,1")).Install();
        std::vector<Ptr<AllReduceSession>> sessions;
        for (const NodeId first : {0, 8})
        {
            AllReduceHelper helper(network);
            Group group{CollectiveKind::ALL_REDUCE, std::vector<NodeId>(8), 0};
            std::iota(group.servers.begin(), group.servers.end(), first);
            helper.SetGroups({group});
            helper.SetChunksPerServer(2);
            helper.SetAttribute("Bytes", UintegerValue(1 << 16));
            helper.SetAttribute("VerifyData", BooleanValue(true));
            sessions.push_back(helper.Install("greedy", "raw"));
            helper.GetApplications().Start(MicroSeconds(10 * first));
        }
        Simulator::Run();
        for (const auto& session : sessions)
        {
            NS_TEST_EXPECT_MSG_EQ(session->IsFinished(), true, session->GetFailure());
            NS_TEST_EXPECT_MSG_EQ(session->IsVerified(), true, "proven");
        }
        NS_TEST_EXPECT_MSG_EQ(sessions[0]->GetBegin(), MicroSeconds(0), "at once");
        NS_TEST_EXPECT_MSG_EQ(sessions[1]->GetBegin(), MicroSeconds(80), "later");
        Simulator::Destroy();
    }
};

/// @brief The suite.
class CollectiveTestSuite : public TestSuite
{
  public:
    CollectiveTestSuite()
        : TestSuite("allreduce-collective", TestSuite::Type::UNIT)
    {
        AddTestCase(new DefinitionTestCase);
        AddTestCase(new KnownBoundTestCase);
        AddTestCase(new ExhaustiveCutTestCase);
        AddTestCase(new RelayTestCase);
        AddTestCase(new UnusedRelayTestCase);
        AddTestCase(new GroupRefusalTestCase);
        AddTestCase(new QuickFirstTestCase);
        AddTestCase(new ReferenceTestCase);
        AddTestCase(new RandomCollectivesTestCase, EXTENSIVE);
        AddTestCase(new PacketsTestCase, EXTENSIVE);
        AddTestCase(new HelperTestCase);
    }
};

CollectiveTestSuite g_collectiveTestSuite; //!< registers the suite

} // namespace
