/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "drawn-network.h"
#include "html-report.h"
#include "result-writer.h"
#include "schedule-view.h"
#include "session-test-utils.h"
#include "trace-events.h"

#include "ns3/node-list.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Json = nlohmann::ordered_json;

constexpr WorkloadKind REDUCE = WorkloadKind::REDUCE;
constexpr WorkloadKind BROADCAST = WorkloadKind::BROADCAST;

/// Texts that end an element, a string or a line where they are not escaped.
const std::vector<std::string> NASTY_TEXTS = {"</script><script>alert(1)</script>",
                                              "<!-- <script>",
                                              "]]>",
                                              "\"quoted\" \\ back",
                                              "two\nlines\tand \x01",
                                              "\xc3\xa9 and \xe2\x80\xa8",
                                              "a,b;c"};

std::string
ReadFile(const std::string& path)
{
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// @return what is between two texts, the second being the next one after the first
std::string
FindBetween(const std::string& text, const std::string& begin, const std::string& end)
{
    const std::size_t from = text.find(begin);
    const std::size_t to = text.find(end, from);
    return to == std::string::npos ? ""
                                   : text.substr(from + begin.size(), to - from - begin.size());
}

uint32_t
Count(const std::string& text, const std::string& part)
{
    uint32_t count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    {
        ++count;
    }
    return count;
}

/// @return the data of a page, as a browser finds it
Json
ReadPageData(const std::string& path)
{
    return Json::parse(FindBetween(ReadFile(path), "id=\"data\">", "</script>"));
}

/// @brief The page has what it was given, whatever texts are in it.
class PageTestCase : public TestCase
{
  public:
    PageTestCase()
        : TestCase("a page has the data that it was given")
    {
    }

  private:
    void DoRun() override
    {
        m_path = CreateTempDirFilename("report.html");
        TestData();
        TestNoPage();
        TestManyViews();
        NS_TEST_EXPECT_MSG_EQ(GetError([] { Make("/nowhere/x"); }),
                              "--report: file /nowhere/x cannot be written",
                              "before any work is done");
    }

    static HtmlReport Make(const std::string& path, std::string option = "--report")
    {
        std::string program = "/some/where/allreduce-plan";
        char* arguments[] = {program.data(), option.data()};
        return HtmlReport(path, 2, arguments);
    }

    void TestData()
    {
        Json rows = Json::array();
        for (const std::string& text : NASTY_TEXTS)
        {
            rows.push_back({{"scheduler", text}, {text, 1.0 / 3}, {"none", nullptr}, {"n", -7}});
        }
        const Json line = {{"iteration", 1}, {"validation", nullptr}};
        const Json slot = {{"slot", 0}, {"policy", "gadget"}};
        const std::string& option = NASTY_TEXTS.front();
        HtmlReport report = Make(m_path, option);
        for (const Json& row : rows)
        {
            report.AddRow(row);
            report.AddView([&] { return row; });
        }
        report.AddTrainingLine(line);
        report.AddClusterSlot(slot);
        report.Write();
        report.Write(); // again: the same page, and not two of them

        const std::string page = ReadFile(m_path);
        const Json data = ReadPageData(m_path);
        NS_TEST_EXPECT_MSG_EQ((data["results"] == rows), true, "rows");
        NS_TEST_EXPECT_MSG_EQ((data["views"] == rows), true, "views");
        NS_TEST_EXPECT_MSG_EQ((data["training"] == Json::array({line})), true, "training");
        NS_TEST_EXPECT_MSG_EQ((data["cluster"] == Json::array({slot})), true, "cluster");
        NS_TEST_EXPECT_MSG_EQ(data["command"], "allreduce-plan " + option, "command");
        NS_TEST_EXPECT_MSG_EQ(data["views_left_out"], 0, "nothing left out");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "<!DOCTYPE html>"), 1, "one page");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "<script"), 2, "the data and the page's own");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "</script>"), 2, "both end once");
        NS_TEST_EXPECT_MSG_EQ(Count(page, "://"), 1, "no address but that of SVG's names");
        const auto isAscii = [](unsigned char c) { return c < 128; };
        NS_TEST_EXPECT_MSG_EQ(std::all_of(page.begin(), page.end(), isAscii), true, "ASCII");
    }

    void TestNoPage()
    {
        HtmlReport report = Make("");
        report.AddRow({{"rounds", 1}});
        report.AddView([&]() -> Json {
            NS_TEST_EXPECT_MSG_EQ(true, false, "nobody will look at this view");
            return {};
        });
        report.Write();
        NS_TEST_EXPECT_MSG_EQ(report.IsWanted(), false, "no page");
    }

    void TestManyViews()
    {
        const std::string large(30 << 20, 'x');
        HtmlReport report = Make(m_path);
        for (const std::string& text : {large, large, std::string("small")})
        {
            report.AddView([&] { return Json(text); });
        }
        report.Write();
        const Json data = ReadPageData(m_path);
        NS_TEST_EXPECT_MSG_EQ(data["views"].size(), 2, "one large view, and what still fits");
        NS_TEST_EXPECT_MSG_EQ(data["views"][1], "small", "what still fits");
        NS_TEST_EXPECT_MSG_EQ(data["views_left_out"], 1, "the other is counted");
    }

    std::string m_path; //!< where the page goes
};

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
    schedule.roots.assign(nChunks, 0);
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
                const Json view = Check(experiment.topology, experiment.plan);
                NS_TEST_EXPECT_MSG_EQ(view["steps"].size(),
                                      experiment.plan.rounds.size() + 1,
                                      name);
            }
        }
        const Topology line = MakeLine(64);
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
        const uint64_t nSums = uint64_t{topology.GetNServers()} * schedule.roots.size();
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
        for (const OwnRound& round : OwnSchedule(experiment.plan).rounds)
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
        const uint64_t chunkBytes = experiment.bytes / experiment.plan.roots.size();
        const ViewTotals planned = CountLoads(experiment.topology, experiment.plan);
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
            chunkBytes * experiment.plan.CountWorkloads(),
            "bytes of all flows");
    }
};

/// @brief Hands out what another scheduler hands out, and remembers it.
class RememberingScheduler : public AllReduceScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("allreduce_tests::RememberingScheduler")
                                .SetParent<AllReduceScheduler>()
                                .AddConstructor<RememberingScheduler>();
        return tid;
    }

    WorkloadList NextRound(const AllReduceState& state) override
    {
        if (state.IsFresh())
        {
            m_rounds.clear();
        }
        WorkloadList round = m_scheduler->NextRound(state);
        m_rounds.push_back(round);
        return round;
    }

    std::string GetPlanner() const override
    {
        return "someone";
    }

    /// @return what was handed out since the beginning
    OwnSchedule GetRounds() const
    {
        return OwnSchedule({{}, m_rounds});
    }

  private:
    Ptr<AllReduceScheduler> m_scheduler = CreateScheduler("greedy"); //!< who plans
    std::vector<WorkloadList> m_rounds;                              //!< handed out
};

NS_OBJECT_ENSURE_REGISTERED(RememberingScheduler);

/// @brief Counts what arrives in a run, from the trace sources alone.
class FlowWatcher
{
  public:
    FlowWatcher()
    {
        Simulator::ScheduleNow(&FlowWatcher::ConnectAll, this);
    }

    std::vector<std::vector<AllReduceFlow>> m_arrived; //!< by round, in barrier mode
    std::vector<AllReduceFlow> m_allArrived;           //!< in order
    uint32_t m_nStarted{0};                            //!< flows that began
    uint32_t m_nAborted{0};                            //!< flows that were aborted

  private:
    /// The applications are there only after RunOptions::prepare.
    void ConnectAll()
    {
        for (auto node = NodeList::Begin(); node != NodeList::End(); ++node)
        {
            for (uint32_t i = 0; i < (*node)->GetNApplications(); ++i)
            {
                Connect(DynamicCast<AllReduceApplication>((*node)->GetApplication(i)));
            }
        }
    }

    void Connect(Ptr<AllReduceApplication> application)
    {
        application->TraceConnectWithoutContext("FlowStarted",
                                                MakeCallback(&FlowWatcher::NoteStarted, this));
        application->TraceConnectWithoutContext("FlowFinished",
                                                MakeCallback(&FlowWatcher::NoteFinished, this));
        application->TraceConnectWithoutContext("FlowAborted",
                                                MakeCallback(&FlowWatcher::NoteAborted, this));
        if (application->GetServer() == 0)
        {
            application->GetSession()->TraceConnectWithoutContext(
                "RoundStarted",
                MakeCallback(&FlowWatcher::NoteRound, this));
        }
    }

    void NoteRound(uint32_t round)
    {
        m_arrived.resize(round + 1);
    }

    void NoteStarted(const AllReduceFlow& flow)
    {
        ++m_nStarted;
    }

    void NoteFinished(const AllReduceFlow& flow)
    {
        m_arrived.back().push_back(flow);
        m_allArrived.push_back(flow);
    }

    void NoteAborted(const AllReduceFlow& flow)
    {
        ++m_nAborted;
    }
};

/// @brief After a failure a view has what ran, not what was planned.
class FailedLinkViewTestCase : public DataCentreTestCase
{
  public:
    FailedLinkViewTestCase()
        : DataCentreTestCase("the view of a run is what ran")
    {
    }

  private:
    /// What a server has of a chunk: whose contributions, as bits.
    using Held = std::vector<std::vector<uint64_t>>;

    void DoRun() override
    {
        for (const std::string& sync : SYNCS)
        {
            Run(sync, {});
            TestNoFault(sync);
            Run(sync, {"0-16@1ms", "5-17@1500us,2ms"});
            TestFault(sync);
        }
        TestBarrierRounds();
        TestIterations();
        TestCutOff();
    }

    void Run(const std::string& sync,
             const std::vector<std::string>& faults,
             uint32_t iterations = 1,
             const std::string& topology = "bcube:4,1")
    {
        const Topology network = ParseTopology(topology);
        const auto roots = MakeRoots(network.GetNServers(), 2);
        m_scheduler = CreateObject<RememberingScheduler>();
        AllReduceSchedule plan = PlanVerified(network, roots, "someone", *m_scheduler);
        m_experiment.emplace(Experiment{network, "someone", m_scheduler, std::move(plan), 4 << 20});
        m_options = MakeOptions("raw", sync);
        m_options.recordsFlows = true;
        m_options.iterations = iterations;
        m_options.faults.fail = faults;
        m_options.prepare = [&](const auto&) {
            return m_watcher = std::make_shared<FlowWatcher>();
        };
        m_result = RunExperiment(*m_experiment, m_options);
        m_view = MakeRunView(*m_experiment, m_result);
    }

    void TestNoFault(const std::string& sync)
    {
        Json steps = m_view;
        steps.erase("run");
        steps.erase("size");
        NS_TEST_EXPECT_MSG_EQ(m_result.failure, "", sync);
        const Json planned =
            MakeScheduleView(m_experiment->topology, m_experiment->plan, "someone");
        NS_TEST_EXPECT_MSG_EQ((steps == planned), true, sync << ": the plan is what ran");
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["marks"].size(), 0, sync << ": nothing to mark");
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["cut"].size(), 0, sync << ": nothing was cut");
    }

    /// What holds in either mode.
    void TestFault(const std::string& sync)
    {
        NS_TEST_ASSERT_MSG_EQ(m_result.failure, "", sync);
        NS_TEST_EXPECT_MSG_GT(m_watcher->m_nAborted, 0, sync << ": flows were aborted");
        NS_TEST_EXPECT_MSG_EQ(m_watcher->m_nAborted, m_result.nAborted, sync << ": trace source");
        const Json& run = m_view["run"];
        NS_TEST_EXPECT_MSG_EQ(run["cut"].size(), m_watcher->m_nAborted, sync << ": aborted flows");
        for (const Json& flow : run["cut"])
        {
            NS_TEST_EXPECT_MSG_EQ(flow[7], "aborted", sync << ": says so");
        }
        NS_TEST_EXPECT_MSG_EQ(run["flows"].size(), m_watcher->m_allArrived.size(), sync);
        NS_TEST_EXPECT_MSG_EQ(m_watcher->m_nStarted,
                              m_watcher->m_nAborted + m_watcher->m_allArrived.size(),
                              sync << ": flows");
        CheckMarks(sync);
        CheckStepsAgainstFlows(sync);
        NS_TEST_EXPECT_MSG_EQ(m_view["steps"].size(), m_result.rounds + 1, sync << ": rounds");
        const Json& last = m_view["steps"].back();
        const auto finals = last["final"].get<std::vector<uint64_t>>();
        NS_TEST_EXPECT_MSG_EQ(std::accumulate(finals.begin(), finals.end(), uint64_t{0}),
                              16 * 32,
                              sync << ": all sums are there in the end");
    }

    void CheckMarks(const std::string& sync)
    {
        std::map<std::string, uint32_t> counts;
        int64_t time = 0;
        for (const Json& mark : m_view["run"]["marks"])
        {
            ++counts[mark["text"].get<std::string>()];
            NS_TEST_EXPECT_MSG_GT_OR_EQ(mark["time"].get<int64_t>(), time, "in order");
            time = mark["time"].get<int64_t>();
        }
        NS_TEST_EXPECT_MSG_EQ(counts["link 0-16 broke"], 1, sync);
        NS_TEST_EXPECT_MSG_EQ(counts["link 5-17 broke"], 1, sync);
        NS_TEST_EXPECT_MSG_EQ(counts["link 5-17 was mended"], 1, sync);
        NS_TEST_EXPECT_MSG_EQ(counts["someone planned what was left"], m_result.nReplans, sync);
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["marks"][0]["time"], 1'000'000, sync << ": when");
        NS_TEST_EXPECT_MSG_GT(m_result.nReplans, 0, sync << ": something to mark");
    }

    /// Every step has the flows whose trace names its round, arrived or aborted.
    void CheckStepsAgainstFlows(const std::string& sync)
    {
        std::vector<uint64_t> arrived(m_view["steps"].size(), 0);
        for (const AllReduceFlow& flow : m_watcher->m_allArrived)
        {
            ++arrived.at(flow.round + 1);
        }
        uint64_t nAborted = 0;
        for (std::size_t i = 0; i < arrived.size(); ++i)
        {
            const Json& step = m_view["steps"][i];
            NS_TEST_EXPECT_MSG_EQ(step["flow_count"], arrived[i], sync << ": round " << i);
            const uint64_t aborted = step.value("aborted", uint64_t{0});
            NS_TEST_EXPECT_MSG_EQ(step["flows"].size(), arrived[i] + aborted, sync << ": listed");
            nAborted += aborted;
        }
        NS_TEST_EXPECT_MSG_EQ(nAborted, m_watcher->m_nAborted, sync << ": aborted");
    }

    /// With barriers rounds, links and cells follow from what was handed out and what then arrived.
    void TestBarrierRounds()
    {
        Run("barrier", {"0-16@1ms", "5-17@1500us,2ms"});
        const OwnSchedule handedOut = m_scheduler->GetRounds();
        const Json& steps = m_view["steps"];
        NS_TEST_ASSERT_MSG_EQ(handedOut.rounds.size() + 1, steps.size(), "rounds");
        NS_TEST_ASSERT_MSG_EQ(m_watcher->m_arrived.size() + 1, steps.size(), "rounds that began");
        const uint32_t nServers = m_experiment->topology.GetNServers();
        Held held(nServers);
        for (NodeId server = 0; server < nServers; ++server)
        {
            held[server].assign(m_experiment->plan.roots.size(), uint64_t{1} << server);
        }
        std::map<uint64_t, uint32_t> cells;
        for (std::size_t round = 0; round < handedOut.rounds.size(); ++round)
        {
            const OwnRound ran = FindRan(handedOut.rounds[round], m_watcher->m_arrived[round]);
            CheckLoads(ran, steps[round + 1]["load"]);
            Carry(ran, held);
            CheckCells(held, steps, round + 1, cells);
        }
    }

    /// @return those workloads of a round that arrived, matched by what can be seen of them
    OwnRound FindRan(OwnRound round, const std::vector<AllReduceFlow>& arrived)
    {
        OwnRound ran;
        for (const AllReduceFlow& flow : arrived)
        {
            const auto isSame = [&](const OwnWorkload& w) {
                return w.chunk == flow.chunk && w.kind == flow.kind &&
                       w.path.front() == flow.source && w.path.back() == flow.target;
            };
            const auto place = std::find_if(round.begin(), round.end(), isSame);
            NS_TEST_EXPECT_MSG_EQ((place != round.end()), true, "what arrived was handed out");
            if (place != round.end())
            {
                ran.push_back(*place);
                round.erase(place);
            }
        }
        return ran;
    }

    void CheckLoads(const OwnRound& ran, const Json& load)
    {
        std::map<uint32_t, std::pair<uint32_t, uint32_t>> counted;
        for (const OwnWorkload& workload : ran)
        {
            for (std::size_t i = 1; i < workload.path.size(); ++i)
            {
                const auto link = *m_experiment->topology.FindDirectedLink(workload.path[i - 1],
                                                                           workload.path[i]);
                auto& [reduces, broadcasts] = counted[link];
                ++(workload.kind == REDUCE ? reduces : broadcasts);
            }
        }
        Json expected = Json::array();
        for (const auto& [link, counts] : counted)
        {
            expected.insert(expected.end(), {link, counts.first, counts.second});
        }
        NS_TEST_EXPECT_MSG_EQ((load == expected), true, "what crossed the links");
    }

    /// All senders send what they hold at the beginning of the round.
    static void Carry(const OwnRound& ran, Held& held)
    {
        const Held before = held;
        for (const OwnWorkload& w : ran)
        {
            if (w.kind == REDUCE)
            {
                held[w.path.front()][w.chunk] &= ~before[w.path.front()][w.chunk];
            }
        }
        for (const OwnWorkload& w : ran)
        {
            held[w.path.back()][w.chunk] |= before[w.path.front()][w.chunk];
        }
    }

    void CheckCells(const Held& held,
                    const Json& steps,
                    std::size_t step,
                    std::map<uint64_t, uint32_t>& cells)
    {
        for (std::size_t i = step == 1 ? 0 : step; i <= step; ++i)
        {
            const Json& changes = steps[i]["cells"];
            for (std::size_t j = 0; j < changes.size(); j += 2)
            {
                cells[changes[j].get<uint64_t>()] = changes[j + 1].get<uint32_t>();
            }
        }
        const uint64_t all = (uint64_t{1} << held.size()) - 1;
        uint32_t nWrong = 0;
        for (std::size_t server = 0; server < held.size(); ++server)
        {
            for (std::size_t chunk = 0; chunk < held[server].size(); ++chunk)
            {
                const uint64_t parts = held[server][chunk];
                const uint32_t expected = parts == all ? 2 : parts != 0 ? 1 : 0;
                nWrong += cells[server * held[server].size() + chunk] != expected;
            }
        }
        NS_TEST_EXPECT_MSG_EQ(nWrong, 0, "what servers hold after round " << step);
    }

    /// The rounds shown are those of the last AllReduce, the flows those of all.
    void TestIterations()
    {
        Run("barrier", {"0-16@1ms"}, 3);
        NS_TEST_ASSERT_MSG_EQ(m_result.failure, "", "runs");
        const Json& run = m_view["run"];
        NS_TEST_EXPECT_MSG_EQ(run["iterations"], 3, "AllReduces");
        NS_TEST_EXPECT_MSG_EQ(run["flows"].size(), m_watcher->m_allArrived.size(), "of all");
        NS_TEST_EXPECT_MSG_EQ(run["cut"].size(), m_watcher->m_nAborted, "of all");
        NS_TEST_EXPECT_MSG_GT(m_watcher->m_nAborted, 0, "in the first");
        NS_TEST_EXPECT_MSG_EQ(m_view["steps"].size(), m_result.rounds + 1, "of the last");
        uint64_t nSteps = 0;
        for (const Json& step : m_view["steps"])
        {
            nSteps += step["flow_count"].get<uint64_t>();
            NS_TEST_EXPECT_MSG_EQ(step.count("aborted"), 0, "none in the last");
        }
        const auto isLast = [](const AllReduceFlow& flow) { return flow.iteration == 2; };
        const auto& arrived = m_watcher->m_allArrived;
        const std::size_t nLast = std::count_if(arrived.begin(), arrived.end(), isLast);
        NS_TEST_EXPECT_MSG_EQ(nLast, nSteps, "the last one's");
        for (const Json& mark : run["marks"])
        {
            const bool isLink = mark.count("link") > 0;
            NS_TEST_EXPECT_MSG_EQ((mark["iteration"] == 0 || !isLink), true, "in the first");
            NS_TEST_EXPECT_MSG_EQ((mark["round"] == 1 || mark["iteration"] == 0), true, "anew");
        }
    }

    /// A run that fails has what came to pass, and what was under way.
    void TestCutOff()
    {
        Run("barrier", {"0-4@100us", "0-6@100us"}, 1, "bcube:2,1");
        NS_TEST_EXPECT_MSG_NE(m_result.failure, "", "a server is cut off");
        NS_TEST_EXPECT_MSG_EQ(m_view["run"]["cut"].size(), m_result.nAborted, "aborted");
        NS_TEST_EXPECT_MSG_EQ(m_view["steps"].size(), m_watcher->m_arrived.size() + 1, "rounds");
        m_options.watchdog = "5us";
        m_options.faults.fail.clear();
        m_result = RunExperiment(*m_experiment, m_options);
        m_view = MakeRunView(*m_experiment, m_result);
        NS_TEST_EXPECT_MSG_NE(m_result.failure, "", "the watchdog does not wait so long");
        const Json& cut = m_view["run"]["cut"];
        NS_TEST_EXPECT_MSG_GT(cut.size(), 0, "flows were under way");
        NS_TEST_EXPECT_MSG_EQ(cut.size() + m_view["run"]["flows"].size(),
                              m_watcher->m_nStarted,
                              "nothing is lost");
        NS_TEST_EXPECT_MSG_EQ(cut[0][7], "unfinished", "says so");
    }

    Ptr<RememberingScheduler> m_scheduler;  //!< who planned
    std::shared_ptr<FlowWatcher> m_watcher; //!< what it saw of the last run
    std::optional<Experiment> m_experiment; //!< what was run
    RunOptions m_options;                   //!< how
    ExperimentResult m_result;              //!< what came out
    Json m_view;                            //!< the view of that
};

/// @brief Trace events are JSON that Perfetto can draw.
class TraceEventsTestCase : public TestCase
{
  public:
    TraceEventsTestCase()
        : TestCase("trace events")
    {
    }

  private:
    void DoRun() override
    {
        TestFlows();
        TestFaults();
        TestNothing();
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:3,1"), "greedy", 1 << 20);
        TestSchedule(experiment.plan);
    }

    void TestFlows()
    {
        // Not in order; two of server 3 at the same time, then one when the first has ended.
        ExperimentResult result;
        result.flows = {{7, BROADCAST, 3, 1, 100, MicroSeconds(30), MicroSeconds(10)},
                        {5, REDUCE, 3, 0, 200, MicroSeconds(10), MicroSeconds(20)},
                        {6, REDUCE, 3, 2, 300, NanoSeconds(15250), MicroSeconds(40)},
                        {6, REDUCE, 0, 2, 400, MicroSeconds(10), MicroSeconds(20)}};
        std::ostringstream out;
        result.roundSpans = {{0, MicroSeconds(10), MicroSeconds(46)}};
        WriteTraceEvents(result, out);
        const std::vector<Json> spans = CheckEvents(out.str());
        NS_TEST_ASSERT_MSG_EQ(spans.size(), 5, "a round and four flows");
        NS_TEST_EXPECT_MSG_EQ(spans[0]["name"], "round 0", "round");
        NS_TEST_EXPECT_MSG_EQ(spans[0]["dur"], 46, "in microseconds");
        const Json& second = spans[3];
        NS_TEST_EXPECT_MSG_EQ(second["name"], "reduce chunk 6", "name");
        NS_TEST_EXPECT_MSG_EQ(second["ts"], 15.25, "nanoseconds are not lost");
        NS_TEST_EXPECT_MSG_EQ(second["pid"], 4, "a process for each server, after the rounds'");
        NS_TEST_EXPECT_MSG_EQ(second["args"]["bytes"], 300, "bytes");
        NS_TEST_EXPECT_MSG_EQ(second["args"]["to"], 2, "receiver");
        NS_TEST_EXPECT_MSG_EQ(spans[4]["tid"], 0, "the first thread is free again");
    }

    void TestFaults()
    {
        ExperimentResult result;
        result.abortedFlows = {{7, BROADCAST, 3, 1, 100, MicroSeconds(30), MicroSeconds(10)}};
        result.unfinishedFlows = {{5, REDUCE, 3, 0, 200, MicroSeconds(20), MicroSeconds(25)}};
        result.marks = {{RunMark::LINK_BROKE, NanoSeconds(40250), 0, 1, 3, 16, ""},
                        {RunMark::LINK_MENDED, MicroSeconds(42), 0, 1, 3, 16, ""},
                        {RunMark::REPLANNED, MicroSeconds(45), 0, 2, 0, 0, "greedy"}};
        std::ostringstream out;
        WriteTraceEvents(result, out);
        const std::vector<Json> spans = CheckEvents(out.str());
        NS_TEST_ASSERT_MSG_EQ(spans.size(), 2, "two flows");
        NS_TEST_EXPECT_MSG_EQ(spans[0]["name"], "unfinished reduce chunk 5", "name");
        NS_TEST_EXPECT_MSG_EQ(spans[1]["name"], "aborted broadcast chunk 7", "name");
        NS_TEST_EXPECT_MSG_EQ(spans[1]["dur"], 10, "until the link broke");
        std::vector<Json> instants;
        const Json json = Json::parse(out.str());
        for (const Json& event : json["traceEvents"])
        {
            if (event["ph"] == "i")
            {
                instants.push_back(event);
            }
        }
        NS_TEST_ASSERT_MSG_EQ(instants.size(), 3, "marks");
        NS_TEST_EXPECT_MSG_EQ(instants[0]["name"], "link 3-16 broke", "which link");
        NS_TEST_EXPECT_MSG_EQ(instants[0]["ts"], 40.25, "when");
        NS_TEST_EXPECT_MSG_EQ(instants[0]["s"], "g", "of all processes");
        NS_TEST_EXPECT_MSG_EQ(instants[1]["name"], "link 3-16 was mended", "which link");
        NS_TEST_EXPECT_MSG_EQ(instants[2]["name"], "greedy planned what was left", "by whom");
    }

    void TestNothing()
    {
        std::ostringstream out;
        WriteTraceEvents(ExperimentResult(), out);
        NS_TEST_EXPECT_MSG_EQ(CheckEvents(out.str()).size(), 0, "no spans");
    }

    void TestSchedule(const AllReduceSchedule& schedule)
    {
        std::ostringstream out;
        WriteTraceEvents(schedule, out);
        const std::vector<Json> spans = CheckEvents(out.str());
        const std::size_t nRounds = schedule.rounds.size();
        NS_TEST_ASSERT_MSG_EQ(spans.size(), nRounds + schedule.CountWorkloads(), "spans");
        std::vector<std::size_t> nFlows(nRounds, 0);
        for (const Json& span : spans)
        {
            const std::size_t round = span["ts"].get<double>() / 1000;
            nFlows.at(round) += span["cat"] != "round";
        }
        for (std::size_t round = 0; round < nRounds; ++round)
        {
            NS_TEST_EXPECT_MSG_EQ(nFlows[round], schedule.rounds[round].GetSize(), round);
        }
    }

    /// @return the spans, after checking that time goes on and none overlaps another of its row
    std::vector<Json> CheckEvents(const std::string& text)
    {
        std::vector<Json> spans;
        std::map<std::pair<int, int>, double> ends;
        std::set<int> named;
        const Json json = Json::parse(text);
        std::map<bool, double> last;
        for (const Json& event : json["traceEvents"])
        {
            if (event["ph"] == "M")
            {
                named.insert(event["pid"].get<int>());
                continue;
            }
            if (event["ph"] == "i")
            {
                continue;
            }
            spans.push_back(event);
            const double begin = event["ts"].get<double>();
            const std::pair<int, int> row{event["pid"].get<int>(), event["tid"].get<int>()};
            double& latest = last[event["cat"] == "round"];
            NS_TEST_EXPECT_MSG_EQ(event["ph"], "X", "a span");
            NS_TEST_EXPECT_MSG_EQ(named.count(row.first), 1, "its process has a name");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(begin, latest, "time goes on");
            NS_TEST_EXPECT_MSG_GT_OR_EQ(begin, ends[row], "no overlap in a row");
            latest = begin;
            ends[row] = begin + event["dur"].get<double>();
        }
        return spans;
    }
};

/// @brief Every format of a table has its rows.
class ResultWriterTestCase : public TestCase
{
  public:
    ResultWriterTestCase()
        : TestCase("the rows of a table in every format")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& text : NASTY_TEXTS)
        {
            m_rows.push_back(
                {{"name", text}, {"ratio", 1.0 / 3}, {"none", nullptr}, {"good", true}});
        }
        NS_TEST_EXPECT_MSG_EQ((Json::parse(Write("json")) == m_rows), true, "JSON");
        NS_TEST_EXPECT_MSG_EQ(Json::parse(Write("json", 0)).size(), 0, "JSON without rows");
        TestCsv();
        TestGnuplot();
        TestTable();
        NS_TEST_EXPECT_MSG_EQ(GetError([] { ParseFormat("xml"); }),
                              "--format \"xml\": expected table, json, csv or gnuplot",
                              "names what there is");
    }

    std::string Write(const std::string& format, std::size_t nRows = 100) const
    {
        std::ostringstream out;
        {
            ResultWriter writer(out,
                                ParseFormat(format),
                                {{"name", "name", 6},
                                 {"ratio", "ratio", 7, 3},
                                 {"none", "none", 4},
                                 {"good", "good", 4}});
            for (std::size_t i = 0; i < std::min(nRows, m_rows.size()); ++i)
            {
                writer.Add(m_rows[i]);
            }
        }
        return out.str();
    }

    /// Reads CSV as RFC 4180 has it.
    static std::vector<std::vector<std::string>> ParseCsv(const std::string& text)
    {
        std::vector<std::vector<std::string>> lines(1, {""});
        bool isQuoted = false;
        for (std::size_t i = 0; i < text.size(); ++i)
        {
            const bool isQuote = text[i] == '"';
            if (isQuote && isQuoted && text[i + 1] == '"')
            {
                lines.back().back() += text[i++];
            }
            else if (isQuote)
            {
                isQuoted = !isQuoted;
            }
            else if (text[i] == ',' && !isQuoted)
            {
                lines.back().emplace_back();
            }
            else if (text[i] == '\n' && !isQuoted)
            {
                lines.push_back({""});
            }
            else
            {
                lines.back().back() += text[i];
            }
        }
        lines.pop_back();
        return lines;
    }

    void TestCsv()
    {
        const auto lines = ParseCsv(Write("csv"));
        NS_TEST_ASSERT_MSG_EQ(lines.size(), NASTY_TEXTS.size() + 1, "a line for each row");
        NS_TEST_EXPECT_MSG_EQ(
            (lines[0] == std::vector<std::string>{"name", "ratio", "none", "good"}),
            true,
            "titles");
        for (std::size_t i = 0; i < NASTY_TEXTS.size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(lines[i + 1].size(), 4, "columns");
            NS_TEST_EXPECT_MSG_EQ(lines[i + 1][0], NASTY_TEXTS[i], "text");
            NS_TEST_EXPECT_MSG_EQ(std::stod(lines[i + 1][1]), 1.0 / 3, "all digits");
            NS_TEST_EXPECT_MSG_EQ(lines[i + 1][2], "", "nothing");
        }
    }

    void TestGnuplot()
    {
        const std::string script = Write("gnuplot", 1);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, "\nname ratio none good\n"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, " NaN 1\nEND\n"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, "what = \"ratio\"\n"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Contains(script, "xtic(strcol(\"name\"))"), true, script);
        NS_TEST_EXPECT_MSG_EQ(Write("gnuplot", 0), "", "nothing to draw");
        std::ostringstream out;
        ResultWriter(out, ParseFormat("gnuplot"), {{"n", "n", 1}}).Add({{"n", 1}});
        NS_TEST_EXPECT_MSG_EQ(Contains(out.str(), "xtic(strcol(1))"), true, "a row without names");
        {
            ResultWriter writer(out, ParseFormat("gnuplot"), {{"a", "a", 1}, {"b", "b", 1}});
            writer.Add({{"a", "same"}, {"b", "x"}});
            writer.Add({{"a", "same"}, {"b", "y"}});
        }
        NS_TEST_EXPECT_MSG_EQ(Contains(out.str(), "xtic(strcol(\"b\"))"), true, "what differs");
    }

    void TestTable()
    {
        m_rows = {{{"name", "a"}, {"ratio", 1.0 / 3}, {"none", nullptr}, {"good", true}}};
        NS_TEST_EXPECT_MSG_EQ(Write("table"),
                              "name      ratio  none  good\n"
                              "a         0.333     -   yes\n",
                              "names to the left, numbers to the right");
        std::ostringstream out;
        ResultWriter(out, ParseFormat("table"), {{"bps", "Gb/s", 4, -1, 1e-9}})
            .Add({{"bps", 2500000000}});
        ResultWriter(out, ParseFormat("csv"), {{"bps", "Gb/s", 4, -1, 1e-9}})
            .Add({{"bps", 2500000000}});
        NS_TEST_EXPECT_MSG_EQ(out.str(), "Gb/s\n 2.5\nbps\n2500000000\n", "scaled for people");
    }

    Json m_rows = Json::array(); //!< what is written
};

/// @brief The suite of what people look at.
class ReportTestSuite : public TestSuite
{
  public:
    ReportTestSuite()
        : TestSuite("allreduce-report", TestSuite::Type::UNIT)
    {
        AddTestCase(new PageTestCase);
        AddTestCase(new DrawnNetworkTestCase);
        AddTestCase(new ScheduleViewTestCase);
        AddTestCase(new RunViewTestCase);
        AddTestCase(new FailedLinkViewTestCase);
        AddTestCase(new TraceEventsTestCase);
        AddTestCase(new ResultWriterTestCase);
    }
};

ReportTestSuite g_reportTestSuite; //!< registers the suite

} // namespace
