/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "drawn-network.h"
#include "schedule-view.h"
#include "session-test-utils.h"

#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <tuple>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

/// @brief Nodes drawn as one lose nothing.
class DrawnNetworkTestCase : public TestCase
{
  public:
    DrawnNetworkTestCase()
        : TestCase("a drawing has every server, switch and link once")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* name : {"bcube:4,1", "dcell:3,1", "jellyfish:10,3,2", "torus:3x3"})
        {
            const Topology topology = ParseTopology(name);
            const DrawnNetwork drawn = DrawNetwork(topology);
            NS_TEST_EXPECT_MSG_EQ(drawn.isAggregated, false, name);
            NS_TEST_EXPECT_MSG_EQ(drawn.nodes.size(), topology.GetNNodes(), name);
            NS_TEST_EXPECT_MSG_EQ(drawn.links.size(), topology.GetNLinks(), name);
            Check(topology, drawn);
        }
        for (const char* name : {"bcube:10,2",
                                 "dcell:10,1",
                                 "jellyfish:32,6,4",
                                 "fattree:16",
                                 "fattree:34",
                                 "torus:16x16"})
        {
            const Topology topology = ParseTopology(name);
            const DrawnNetwork drawn = DrawNetwork(topology);
            NS_TEST_EXPECT_MSG_EQ(drawn.isAggregated, true, name);
            NS_TEST_EXPECT_MSG_LT(drawn.nodes.size(), 129, name << " is readable");
            Check(topology, drawn);
            CheckRows(topology, drawn);
        }
        TestSmallest();
        TestRandom();
    }

    /// Two servers of a switch each: what is inside a rack is not drawn.
    void TestSmallest()
    {
        const Topology topology("two racks",
                                4,
                                2,
                                {{0, 4, 1}, {1, 4, 1}, {2, 5, 1}, {3, 5, 1}, {4, 5, 7}});
        const DrawnNetwork drawn = DrawNetwork(topology, 3);
        NS_TEST_ASSERT_MSG_EQ(drawn.nodes.size(), 2, "racks");
        NS_TEST_ASSERT_MSG_EQ(drawn.links.size(), 1, "the link between");
        NS_TEST_EXPECT_MSG_EQ(drawn.nodes[0].label, "0-1", "named after its servers");
        NS_TEST_EXPECT_MSG_EQ(drawn.nodes[1].label, "2-3", "named after its servers");
        NS_TEST_EXPECT_MSG_EQ(drawn.links[0].capacity, 7, "its capacity");
        NS_TEST_EXPECT_MSG_EQ(drawn.directedOf[0], DrawnNetwork::INSIDE, "inside a rack");
        NS_TEST_EXPECT_MSG_EQ(drawn.directedOf[8], 0, "one way");
        NS_TEST_EXPECT_MSG_EQ(drawn.directedOf[9], 1, "the other way");
        NS_TEST_EXPECT_MSG_EQ(DrawNetwork(topology, 4).isAggregated, false, "few enough");
    }

    void TestRandom()
    {
        allreduce::TestRandom random(1);
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology topology = MakeRandomNetwork(random, {40, 30, 3});
            Check(topology, DrawNetwork(topology, Draw(random, 41)));
        }
    }

    void Check(const Topology& topology, const DrawnNetwork& drawn)
    {
        const std::string& name = topology.GetName();
        std::vector<DrawnNode> counted(drawn.nodes.size());
        for (NodeId id = 0; id < topology.GetNNodes(); ++id)
        {
            DrawnNode& node = counted[drawn.nodeOf[id]];
            ++(topology.IsServer(id) ? node.nServers : node.nSwitches);
        }
        for (std::size_t i = 0; i < counted.size(); ++i)
        {
            const DrawnNode& node = drawn.nodes[i];
            NS_TEST_EXPECT_MSG_EQ(node.nServers, counted[i].nServers, name << ": " << node.label);
            NS_TEST_EXPECT_MSG_EQ(node.nSwitches, counted[i].nSwitches, name << ": " << node.label);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(std::min(node.position.x, node.position.y), 0, name);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(std::max(node.position.x, node.position.y), 1, name);
        }
        CheckLinks(topology, drawn);
    }

    /// Switches that are drawn as one stand in one row.
    void CheckRows(const Topology& topology, const DrawnNetwork& drawn)
    {
        for (NodeId id = topology.GetNServers(); id < topology.GetNNodes(); ++id)
        {
            const DrawnNode& node = drawn.nodes[drawn.nodeOf[id]];
            if (node.nServers == 0)
            {
                NS_TEST_EXPECT_MSG_EQ_TOL(topology.GetPositions()[id].y,
                                          node.position.y,
                                          1e-9,
                                          topology.GetName() << ": switch " << id);
            }
        }
    }

    void CheckLinks(const Topology& topology, const DrawnNetwork& drawn)
    {
        const std::string& name = topology.GetName();
        std::vector<uint64_t> capacities(2 * drawn.links.size(), 0);
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            const uint32_t from = drawn.nodeOf[topology.GetSource(link)];
            const uint32_t to = drawn.nodeOf[topology.GetTarget(link)];
            const uint32_t line = drawn.directedOf[link];
            NS_TEST_ASSERT_MSG_EQ((line == DrawnNetwork::INSIDE), (from == to), name);
            if (from != to)
            {
                const DrawnLink& ends = drawn.links.at(line / 2);
                NS_TEST_ASSERT_MSG_EQ((line % 2 == 0 ? ends.a : ends.b), from, name);
                NS_TEST_ASSERT_MSG_EQ((line % 2 == 0 ? ends.b : ends.a), to, name);
                capacities[line] += topology.GetCapacity(link);
            }
        }
        for (std::size_t line = 0; line < capacities.size(); ++line)
        {
            NS_TEST_ASSERT_MSG_EQ(drawn.links[line / 2].capacity, capacities[line], name);
        }
    }
};

/// What a view says of a schedule, counted by chunk, line or server.
struct ViewTotals
{
    std::vector<uint64_t> reduces;    //!< by line and direction
    std::vector<uint64_t> broadcasts; //!< by line and direction
    uint64_t nFlows{0};               //!< in all steps
};

ViewTotals
SumSteps(const Json& view)
{
    ViewTotals totals;
    totals.reduces.resize(2 * view["links"].size());
    totals.broadcasts.resize(totals.reduces.size());
    for (const Json& step : view["steps"])
    {
        const Json& load = step["load"];
        for (std::size_t i = 0; i < load.size(); i += 3)
        {
            totals.reduces.at(load[i].get<uint32_t>()) += load[i + 1].get<uint64_t>();
            totals.broadcasts.at(load[i].get<uint32_t>()) += load[i + 2].get<uint64_t>();
        }
        totals.nFlows += step["flow_count"].get<uint64_t>();
    }
    return totals;
}

/// @return the same, counted in the schedule
ViewTotals
CountLoads(const Topology& topology, const AllReduceSchedule& schedule)
{
    const DrawnNetwork drawn = DrawNetwork(topology);
    ViewTotals totals;
    totals.reduces.resize(2 * drawn.links.size());
    totals.broadcasts.resize(totals.reduces.size());
    for (const OwnRound& round : OwnSchedule(schedule).rounds)
    {
        for (const OwnWorkload& workload : round)
        {
            auto& loads = workload.kind == REDUCE ? totals.reduces : totals.broadcasts;
            for (std::size_t i = 1; i < workload.path.size(); ++i)
            {
                const auto link =
                    *topology.FindDirectedLink(workload.path[i - 1], workload.path[i]);
                const uint32_t line = drawn.directedOf[link];
                loads.at(line == DrawnNetwork::INSIDE ? 0 : line) += line != DrawnNetwork::INSIDE;
            }
        }
        totals.nFlows += round.size();
    }
    return totals;
}

/**
 * @param nServers servers in a row
 * @param nChunks how many chunks, all with root 0
 * @return a schedule with one workload a round
 */
AllReduceSchedule
MakeLongSchedule(uint32_t nServers, uint32_t nChunks)
{
    OwnSchedule schedule;
    schedule.collective.roots.assign(nChunks, 0);
    for (ChunkId chunk = 0; chunk < nChunks; ++chunk)
    {
        for (NodeId server = nServers - 1; server > 0; --server)
        {
            schedule.rounds.push_back({{chunk, REDUCE, {server, server - 1}, {}}});
        }
        for (NodeId server = 0; server + 1 < nServers; ++server)
        {
            schedule.rounds.push_back({{chunk, BROADCAST, {server, server + 1}, {}}});
        }
    }
    return schedule.Get();
}

/// @brief The steps of a view add up to the schedule.
class ScheduleViewTestCase : public TestCase
{
  public:
    ScheduleViewTestCase()
        : TestCase("the steps of a view add up to its schedule")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* name :
             {"bcube:4,1", "dcell:3,1", "jellyfish:10,3,2", "fattree:4", "jellyfish:40,4,2"})
        {
            for (const char* scheduler : {"ps", "ring-aware", "greedy"})
            {
                const Experiment experiment =
                    MakeExperiment(ParseTopology(name), scheduler, 1 << 20, 1);
                const Json view = Check(experiment.topology, experiment.plan.GetSchedule());
                NS_TEST_EXPECT_MSG_EQ(view["steps"].size(),
                                      experiment.plan.GetRounds().size() + 1,
                                      name);
            }
        }
        const Topology line = MakeTestLine(64);
        const auto schedule = MakeLongSchedule(64, 70);
        const Json view = Check(line, schedule);
        NS_TEST_EXPECT_MSG_LT(view["steps"].size(),
                              schedule.rounds.size(),
                              "rounds are put together");
    }

    Json Check(const Topology& topology, const AllReduceSchedule& schedule)
    {
        const std::string& name = topology.GetName();
        Json view = MakeScheduleView(topology, schedule, "someone");
        const ViewTotals shown = SumSteps(view);
        const ViewTotals planned = CountLoads(topology, schedule);
        NS_TEST_EXPECT_MSG_EQ(view["scheduler"], "someone", name);
        NS_TEST_EXPECT_MSG_EQ(view["topology"], name, name);
        NS_TEST_EXPECT_MSG_EQ((shown.reduces == planned.reduces), true, name << ": reduces");
        NS_TEST_EXPECT_MSG_EQ((shown.broadcasts == planned.broadcasts), true, name << ": sums");
        NS_TEST_EXPECT_MSG_EQ(shown.nFlows, planned.nFlows, name << ": flows");
        CheckUse(view, planned, schedule.rounds.size());
        CheckSteps(view, topology, schedule);
        return view;
    }

    void CheckUse(const Json& view, const ViewTotals& planned, std::size_t nRounds)
    {
        for (std::size_t line = 0; line < planned.reduces.size(); ++line)
        {
            const double most = view["links"][line / 2][2].get<double>() * nRounds;
            const double use = (planned.reduces[line] + planned.broadcasts[line]) / most;
            NS_TEST_EXPECT_MSG_EQ_TOL(view["use"][line].get<double>(), use, 1e-12, "line " << line);
        }
    }

    void CheckSteps(const Json& view, const Topology& topology, const AllReduceSchedule& schedule)
    {
        const std::string& name = topology.GetName();
        const uint64_t nSums = uint64_t{topology.GetNServers()} * schedule.collective.GetNChunks();
        std::map<uint64_t, uint32_t> cells;
        int64_t round = -1;
        for (const Json& step : view["steps"])
        {
            NS_TEST_EXPECT_MSG_GT(step["round"].get<int64_t>(), round, name << ": time goes on");
            round = step["round"].get<int64_t>();
            const auto count = [&](const char* key) {
                const auto counts = step[key].get<std::vector<uint64_t>>();
                return std::accumulate(counts.begin(), counts.end(), uint64_t{0});
            };
            if (!view["is_aggregated"].get<bool>())
            {
                ApplyCells(step["cells"], cells);
                NS_TEST_EXPECT_MSG_EQ(step["flows"].size(), step["flow_count"], name << ": flows");
                NS_TEST_EXPECT_MSG_EQ(CountCells(cells, 2), count("final"), name << ": final");
                NS_TEST_EXPECT_MSG_EQ(CountCells(cells, 1), count("partial"), name << ": partial");
            }
            const bool isFirst = round == 0;
            const bool isLast = round == int64_t(schedule.rounds.size());
            NS_TEST_EXPECT_MSG_EQ((count("partial") == nSums), isFirst, name << ": the beginning");
            NS_TEST_EXPECT_MSG_EQ((count("final") == nSums), isLast, name << ": the end");
        }
    }

    static void ApplyCells(const Json& changes, std::map<uint64_t, uint32_t>& cells)
    {
        for (std::size_t i = 0; i < changes.size(); i += 2)
        {
            cells[changes[i].get<uint64_t>()] = changes[i + 1].get<uint32_t>();
        }
    }

    static uint64_t CountCells(const std::map<uint64_t, uint32_t>& cells, uint32_t kind)
    {
        return std::count_if(cells.begin(), cells.end(), [=](const auto& cell) {
            return cell.second == kind;
        });
    }
};

/// @brief The view of a packet run has its flows, its rounds and the use of its links.
class RunViewTestCase : public DataCentreTestCase
{
  public:
    RunViewTestCase()
        : DataCentreTestCase("the view of a run has what was measured")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 1 << 20;
        RunOptions options = MakeOptions("raw", "barrier");
        options.recordsFlows = true;
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:2,1"), "greedy", BYTES);
        const ExperimentResult result = RunExperiment(experiment, options);
        NS_TEST_ASSERT_MSG_EQ(result.failure, "", "runs");
        const Json view = MakeRunView(experiment, result);
        CheckFlows(view["run"]["flows"], experiment, result);
        CheckRounds(view["run"]["rounds"], result);
        CheckLinks(view, experiment, result);
        NS_TEST_EXPECT_MSG_EQ(view["run"]["flow_count"], result.flows.size(), "flows");
        NS_TEST_EXPECT_MSG_EQ(view["size"], "1MiB", "size");
    }

    /// Every workload of the plan is a flow, from beginning to end within the run.
    void CheckFlows(const Json& flows, const Experiment& experiment, const ExperimentResult& result)
    {
        using Key = std::tuple<NodeId, NodeId, ChunkId, bool>;
        std::multiset<Key> shown;
        for (const Json& flow : flows)
        {
            shown.emplace(flow[0].get<NodeId>(),
                          flow[1].get<NodeId>(),
                          flow[2].get<ChunkId>(),
                          flow[3].get<bool>());
            const int64_t end = flow[4].get<int64_t>() + flow[5].get<int64_t>();
            NS_TEST_EXPECT_MSG_GT(flow[5].get<int64_t>(), 0, "takes time");
            NS_TEST_EXPECT_MSG_LT_OR_EQ(end,
                                        Seconds(result.measuredSeconds).GetNanoSeconds() + 1,
                                        "ends in time");
        }
        std::multiset<Key> planned;
        for (const OwnRound& round : OwnSchedule(experiment.plan.GetSchedule()).rounds)
        {
            for (const OwnWorkload& w : round)
            {
                planned.emplace(w.path.front(), w.path.back(), w.chunk, w.kind == BROADCAST);
            }
        }
        NS_TEST_EXPECT_MSG_EQ((shown == planned), true, "the flows are the plan's");
    }

    void CheckRounds(const Json& rounds, const ExperimentResult& result)
    {
        NS_TEST_ASSERT_MSG_EQ(rounds.size(), result.roundSeconds.size(), "rounds");
        int64_t end = 0;
        for (std::size_t i = 0; i < rounds.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(rounds[i][0], i, "in order");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(rounds[i][1].get<int64_t>(), end, "one after another");
            NS_TEST_EXPECT_MSG_EQ_TOL(1e-9 * rounds[i][2].get<double>(),
                                      result.roundSeconds[i],
                                      1e-9,
                                      "as long as measured");
            end = rounds[i][1].get<int64_t>() + rounds[i][2].get<int64_t>();
        }
    }

    /// What the plan sends over a link is what the link has carried, but for headers.
    void CheckLinks(const Json& view, const Experiment& experiment, const ExperimentResult& result)
    {
        const uint64_t chunkBytes = experiment.bytes / experiment.plan.GetCollective().GetNChunks();
        const ViewTotals planned = CountLoads(experiment.topology, experiment.plan.GetSchedule());
        for (const LinkUse& use : result.links)
        {
            const uint64_t bytes =
                chunkBytes * (planned.reduces[use.link] + planned.broadcasts[use.link]);
            NS_TEST_EXPECT_MSG_GT_OR_EQ(use.bytes, bytes, "link " << use.link);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(use.bytes, 1.02 * bytes, "link " << use.link);
            NS_TEST_EXPECT_MSG_EQ(view["run"]["use"][use.link], use.utilization, use.link);
        }
        const auto add = [](uint64_t sum, const AllReduceFlow& flow) { return sum + flow.bytes; };
        NS_TEST_EXPECT_MSG_EQ(
            std::accumulate(result.flows.begin(), result.flows.end(), uint64_t{0}, add),
            chunkBytes * experiment.plan.GetSchedule().CountWorkloads(),
            "bytes of all flows");
    }
};

/// @ingroup allreduce-tests
/// @brief The view of a plan and of its run: what is drawn is what was planned and measured.
class ScheduleViewTestSuite : public TestSuite
{
  public:
    ScheduleViewTestSuite()
        : TestSuite("allreduce-schedule-view", TestSuite::Type::UNIT)
    {
        AddTestCase(new DrawnNetworkTestCase);
        AddTestCase(new ScheduleViewTestCase, EXTENSIVE);
        AddTestCase(new RunViewTestCase);
    }
};

ScheduleViewTestSuite g_scheduleViewTestSuite; //!< registers the suite

} // namespace
