/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "chakra-player.h"
#include "run-experiment.h"
#include "session-test-utils.h"
#include "training-rows.h"

#include "ns3/chakra-export.h"
#include "ns3/chakra-iteration.h"
#include "ns3/chakra-trace.h"
#include "ns3/chakra-workload.h"
#include "ns3/schedule-verifier.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

using Traces = std::vector<std::vector<ChakraNode>>;

/// Not a multiple of the number of chunks, so that sizes differ.
constexpr uint64_t BYTES = 1000003;

std::string
WriteTrace(const std::vector<ChakraNode>& nodes)
{
    std::ostringstream out;
    WriteChakraTrace(nodes, out);
    return out.str();
}

std::vector<ChakraNode>
ReadTrace(const std::string& text)
{
    std::istringstream in(text);
    return ReadChakraTrace(in, "test.et");
}

/// @return the traces of a schedule, through files where there is protobuf
Traces
Export(const Topology& topology, const AllReduceSchedule& schedule)
{
    Traces traces;
    ExportChakra(topology, schedule, BYTES, [&](NodeId, const std::vector<ChakraNode>& nodes) {
        traces.push_back(HasChakraSupport() ? ReadTrace(WriteTrace(nodes)) : nodes);
    });
    return traces;
}

/// @return why playing a schedule's traces fails; "" if it does not
std::string
FindFault(const Topology& topology, const AllReduceSchedule& schedule, TestRandom& random)
{
    const Traces traces = Export(topology, schedule);
    uint64_t nMessages = 0;
    for (const auto& nodes : traces)
    {
        nMessages += std::count_if(nodes.begin(), nodes.end(), [](const ChakraNode& node) {
            return node.type != ChakraType::COMPUTE;
        });
    }
    if (nMessages != 2 * schedule.CountWorkloads())
    {
        return "not a send and a receive for each workload";
    }
    const ChakraPlay play = PlayChakra(traces, schedule.collective.GetNChunks(), BYTES, random);
    if (play.longestChain > schedule.rounds.size())
    {
        return "messages wait for each other that do not in the schedule";
    }
    return play.failure;
}

/// Traces of every scheduler give the sums, on networks of all families and random ones.
class SchedulersTestCase : public TestCase
{
  public:
    SchedulersTestCase()
        : TestCase("Schedules of all schedulers as Chakra traces")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(1);
        for (const Topology& topology : MakeFamiliesAndRandom(random, 20))
        {
            for (const std::string& name : GetNamesWithoutLearning())
            {
                const AllReduceSchedule schedule =
                    PlanFromStart(name, topology, 1 + Draw(random, 2));
                NS_TEST_ASSERT_MSG_EQ(FindFault(topology, schedule, random),
                                      "",
                                      topology.GetName() << " " << name);
            }
        }
    }
};

/// The same for schedules in which anything legal happens.
class RandomSchedulesTestCase : public TestCase
{
  public:
    RandomSchedulesTestCase()
        : TestCase("Random schedules as Chakra traces")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(2);
        for (uint32_t i = 0; i < 200; ++i)
        {
            const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
            const AllReduceSchedule schedule = MakeRandomSchedule(topology, i % 2 == 1, random);
            NS_TEST_ASSERT_MSG_EQ(FindFault(topology, schedule, random), "", i);
        }
    }
};

/// The player notices what is missing or too much.
class CorruptionTestCase : public TestCase
{
  public:
    CorruptionTestCase()
        : TestCase("Corrupted Chakra traces do not give the sums")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(3);
        for (uint32_t i = 0; i < 100; ++i)
        {
            const Topology topology = MakeRandomNetwork(random, {5, 3, 3});
            // Random schedules have broadcasts that nobody needs; plans do not.
            const AllReduceSchedule schedule =
                PlanFromStart(i % 2 == 1 ? "ps" : "greedy", topology, 1);
            for (uint32_t how = 0; how < 4; ++how)
            {
                Traces traces = Export(topology, schedule);
                if (Corrupt(traces, how, random))
                {
                    const ChakraPlay play =
                        PlayChakra(traces, schedule.collective.GetNChunks(), BYTES, random);
                    NS_TEST_ASSERT_MSG_NE(play.failure, "", i << ", " << how);
                }
            }
        }
    }

    /// @return whether there was something to corrupt
    static bool Corrupt(Traces& traces, uint32_t how, TestRandom& random)
    {
        auto& nodes = traces[Draw(random, traces.size())];
        const std::size_t first = Draw(random, nodes.size());
        for (std::size_t i = 0; i < nodes.size(); ++i)
        {
            ChakraNode& node = nodes[(first + i) % nodes.size()];
            if (how == 0 && node.type == ChakraType::SEND && !node.dataDeps.empty())
            {
                node.dataDeps.clear(); // It sends its own contribution instead.
                return true;
            }
            if (how == 1 && node.type == ChakraType::COMPUTE)
            {
                node.dataDeps.pop_back(); // It adds something else.
                return true;
            }
            if (how == 2 && node.type == ChakraType::RECEIVE)
            {
                node.tag = *node.tag + 1000000;
                return true;
            }
            if (how == 3 && node.type == ChakraType::RECEIVE)
            {
                node.bytes = *node.bytes + 1;
                return true;
            }
        }
        return false;
    }
};

/// What no trace can say is refused.
class TraceRefusalTestCase : public TestCase
{
  public:
    TraceRefusalTestCase()
        : TestCase("Schedules that are refused")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(3);
        AllReduceSchedule schedule = PlanFromStart("ring", star, 1);
        const auto ignore = [](NodeId, const std::vector<ChakraNode>&) {};
        const std::string tooSmall = GetError([&] { ExportChakra(star, schedule, 2, ignore); });
        NS_TEST_EXPECT_MSG_EQ(Contains(tooSmall, "schedule of 3 chunks"), true, tooSmall);
        schedule.rounds.pop_back();
        const std::string cut = GetError([&] { ExportChakra(star, schedule, 3, ignore); });
        NS_TEST_EXPECT_MSG_EQ(Contains(cut, "not correct"), true, cut);
        if (!HasChakraSupport())
        {
            const std::string missing = GetError([] { CheckChakraSupport("--chakra-out"); });
            NS_TEST_EXPECT_MSG_EQ(Contains(missing, "--chakra-out: this build"), true, missing);
        }
    }
};

/// The bytes of a file are Chakra's, and what is wrong with them is said in a line.
class FileTestCase : public TestCase
{
  public:
    FileTestCase()
        : TestCase("Files of Chakra traces")
    {
    }

  private:
    void DoRun() override
    {
        if (!HasChakraSupport())
        {
            return;
        }
        ChakraNode node;
        node.id = 3;
        node.name = "x";
        node.type = ChakraType::SEND;
        node.target = 1;
        node.bytes = 300;
        const std::string text = WriteTrace({node});
        // By hand: the length; field 1 = 3; field 2 = "x"; field 3 = 5; three attributes.
        const std::string attributes = std::string("\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x00", 16) +
                                       std::string("\x52\x0e\x0a\x09") + "comm_size\x48\xac\x02" +
                                       std::string("\x52\x0c\x0a\x08") + "comm_dst\x38\x01";
        const std::string head = std::string("\x08\x03\x12\x01x\x18\x05");
        const std::string message =
            std::string(1, static_cast<char>(head.size() + attributes.size())) + head + attributes;
        NS_TEST_EXPECT_MSG_EQ((text.size() > message.size()), true, "metadata before it");
        NS_TEST_EXPECT_MSG_EQ((text.substr(text.size() - message.size()) == message), true, "node");
        CheckRefused("", "is empty");
        CheckRefused(text.substr(0, text.size() - 1), "ends inside of message 1");
        CheckRefused(text + '\xff', "ends inside of the length of message 2");
        CheckRefused("\x1f\x8b", "is compressed");
        CheckRefused(std::string("\xff\xff\xff\xff\xff\xff"), "length of message 0");
        CheckRefused(std::string("\x02\x0a\x05", 3), "message 0 is no metadata");
        CheckRefused(text + "\x02\x0a\x05", "message 2 is no node");
        CheckRefused(WriteTrace({node, node}), "node 3 \"x\" is there twice");
        node.dataDeps = {9};
        CheckRefused(WriteTrace({node}), "node 3 \"x\" waits for node 9, which is not there");
        node.dataDeps = {};
        node.type = ChakraType::UNKNOWN;
        CheckRefused(WriteTrace({node}), "node 3 \"x\": type 8, expected 0 to 7");
        node.type = ChakraType::SEND;
        node.bytes = UINT64_MAX;
        CheckRefused(WriteTrace({node}), "comm_size=-1, expected 0 or more");
        std::string noNumber = text;
        noNumber[noNumber.size() - 2] = '\x6a'; // another field, which needs more bytes
        CheckRefused(noNumber, "message 1 is no node");
    }

    void CheckRefused(const std::string& text, const std::string& part)
    {
        const std::string message = GetError([&] { ReadTrace(text); });
        NS_TEST_EXPECT_MSG_EQ(Contains(message, part), true, message << " instead of " << part);
        NS_TEST_EXPECT_MSG_EQ(Contains(message, "test.et"), true, message);
    }
};

/// @return a node that computes
ChakraNode
MakeCompute(uint64_t id, std::vector<uint64_t> deps, uint64_t micros, bool isCpuOp = false)
{
    ChakraNode node;
    node.id = id;
    node.name = "compute " + std::to_string(id);
    node.type = ChakraType::COMPUTE;
    node.dataDeps = std::move(deps);
    node.durationMicros = micros;
    node.isCpuOp = isCpuOp;
    return node;
}

/// @return a node that is an AllReduce
ChakraNode
MakeCollectiveNode(uint64_t id, std::vector<uint64_t> deps, uint64_t bytes)
{
    ChakraNode node;
    node.id = id;
    node.name = "gradient " + std::to_string(id);
    node.type = ChakraType::COLLECTIVE;
    node.dataDeps = std::move(deps);
    node.collective = CHAKRA_ALL_REDUCE;
    node.bytes = bytes;
    return node;
}

/// @return forward, three layers backward, each with its gradient, and an update; in the order of a
/// file in which the gradients need not wait for the layers behind them
std::vector<ChakraNode>
MakeThreeLayers()
{
    return {MakeCompute(1, {}, 500),
            MakeCompute(2, {1}, 1000),
            MakeCollectiveNode(3, {2}, 400'000),
            MakeCompute(4, {2}, 1000),
            MakeCollectiveNode(5, {4}, 2'000'000),
            MakeCompute(6, {4}, 1000),
            MakeCollectiveNode(7, {6}, 100'000),
            MakeCompute(8, {3, 5, 7}, 200)};
}

/// @return a workload, through a file where there is protobuf
ChakraWorkload
MakeWorkload(const std::vector<ChakraNode>& nodes, const std::string& source = "test.et")
{
    return MakeChakraWorkload(HasChakraSupport() ? ReadTrace(WriteTrace(nodes)) : nodes, source);
}

/// A training iteration of three layers is played in packets.
class TrainingTestCase : public DataCentreTestCase
{
  public:
    TrainingTestCase()
        : DataCentreTestCase("a workload trace of three layers in packets")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:2,1");
        RunOptions options = MakeOptions("raw", "barrier");
        Experiment experiment = MakeExperiment(topology, "greedy", 2'000'000);
        experiment.training =
            std::make_shared<const std::vector<ChakraWorkload>>(1, MakeWorkload(MakeThreeLayers()));
        const ExperimentResult result = RunExperiment(experiment, options);
        NS_TEST_ASSERT_MSG_EQ(result.failure, "", "sums are compared");
        NS_TEST_ASSERT_MSG_EQ(result.collectives.size(), 3, "one for each layer");
        double before = 0;
        for (std::size_t i = 0; i < 3; ++i)
        {
            const CollectiveSpan& span = result.collectives[i];
            const double ready = 0.0015 + 0.001 * i;
            NS_TEST_EXPECT_MSG_EQ_TOL(span.ready, ready, 1e-9, "what is computed before it");
            NS_TEST_EXPECT_MSG_EQ_TOL(span.begin, std::max(ready, before), 1e-9, "one at a time");
            const uint64_t bytes = experiment.training->front().collectives[i].bytes;
            const auto alone = RunExperiment(MakeExperiment(topology, "greedy", bytes), options);
            NS_TEST_EXPECT_MSG_EQ_TOL(span.end - span.begin,
                                      alone.measuredSeconds,
                                      0.001 * alone.measuredSeconds,
                                      "as long as alone");
            before = span.end;
        }
        NS_TEST_EXPECT_MSG_GT(result.collectives[1].end, 0.0035, "the last one has to wait");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.iterationSeconds, before + 0.0002, 1e-9, "the update");
        CheckRows(experiment, options, result);
    }

    void CheckRows(const Experiment& experiment,
                   const RunOptions& options,
                   const ExperimentResult& result)
    {
        const auto rows = MakeTrainingRows(experiment, options, result);
        NS_TEST_ASSERT_MSG_EQ(rows.size(), 4, "three and a total");
        for (const auto& row : rows)
        {
            for (const ResultWriter::Column& column : GetTrainingColumns())
            {
                NS_TEST_EXPECT_MSG_EQ(row.contains(column.key), true, column.key);
            }
        }
        const auto& total = rows.back();
        NS_TEST_EXPECT_MSG_EQ(total["bytes"].get<uint64_t>(), 2'500'000, "the sum");
        NS_TEST_EXPECT_MSG_EQ_TOL(total["computing_s"].get<double>(), 0.0037, 1e-9, "the sum");
        NS_TEST_EXPECT_MSG_EQ_TOL(total["exposed_s"].get<double>(),
                                  result.iterationSeconds - 0.0037,
                                  1e-9,
                                  "what does not overlap");
    }
};

/// When things were, in microseconds.
struct IterationTimes
{
    std::vector<uint64_t> begins; //!< of AllReduces
    uint64_t end{0};              //!< of everything
};

/// Plays an iteration and looks at every microsecond what can begin. Every third node is an
/// AllReduce, which takes as many microseconds as it has bytes.
class SlowClock
{
  public:
    explicit SlowClock(const Traces& traces)
        : m_traces(traces),
          m_ends(traces.size(), std::vector<uint64_t>(traces[0].size(), NOT_YET))
    {
    }

    IterationTimes Play()
    {
        for (m_now = 0; m_now < 1000; ++m_now)
        {
            for (std::size_t server = 0; server < m_traces.size(); ++server)
            {
                Compute(server);
            }
            Communicate();
        }
        for (const auto& ends : m_ends)
        {
            m_times.end = std::max(m_times.end, *std::max_element(ends.begin(), ends.end()));
        }
        return m_times;
    }

  private:
    static constexpr uint64_t NOT_YET = UINT64_MAX;

    bool IsReady(std::size_t server, std::size_t index) const
    {
        const ChakraNode& node = m_traces[server][index];
        const auto isOver = [&](uint64_t dep) {
            return m_ends[server][dep] != NOT_YET && m_ends[server][dep] <= m_now;
        };
        return std::all_of(node.dataDeps.begin(), node.dataDeps.end(), isOver) &&
               std::all_of(node.controlDeps.begin(), node.controlDeps.end(), isOver);
    }

    void Compute(std::size_t server)
    {
        bool isBusy[2] = {false, false}; // GPU, CPU
        const auto& nodes = m_traces[server];
        for (std::size_t i = 0; i < nodes.size(); ++i)
        {
            const uint64_t end = m_ends[server][i];
            isBusy[nodes[i].isCpuOp] |=
                nodes[i].type == ChakraType::COMPUTE && end != NOT_YET && end > m_now;
        }
        for (std::size_t i = 0; i < nodes.size(); ++i)
        {
            if (nodes[i].type == ChakraType::COMPUTE && m_ends[server][i] == NOT_YET &&
                !isBusy[nodes[i].isCpuOp] && IsReady(server, i))
            {
                m_ends[server][i] = m_now + nodes[i].durationMicros;
                isBusy[nodes[i].isCpuOp] = true;
            }
        }
    }

    void Communicate()
    {
        bool isReady = m_next < m_traces[0].size() && m_networkFree <= m_now;
        for (std::size_t server = 0; server < m_traces.size() && isReady; ++server)
        {
            isReady = IsReady(server, m_next);
        }
        if (isReady)
        {
            m_times.begins.push_back(m_now);
            m_networkFree = m_now + *m_traces[0][m_next].bytes;
            for (auto& ends : m_ends)
            {
                ends[m_next] = m_networkFree;
            }
            m_next += 3;
        }
    }

    const Traces& m_traces;                    //!< by server: what it does
    std::vector<std::vector<uint64_t>> m_ends; //!< by server and node: when it ends
    uint64_t m_now{0};                         //!< the time
    uint64_t m_networkFree{0};                 //!< when the last AllReduce is over
    std::size_t m_next{2};                     //!< the next AllReduce
    IterationTimes m_times;                    //!< what comes out
};

/// The clock of an iteration against one that looks at every microsecond.
class IterationTestCase : public TestCase
{
  public:
    IterationTestCase()
        : TestCase("computing and AllReduces overlap as the trace says")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(4);
        for (uint32_t i = 0; i < 300; ++i)
        {
            Traces traces;
            std::vector<ChakraWorkload> workloads;
            for (uint32_t server = 0; server < 1 + Draw(random, 3); ++server)
            {
                traces.push_back(DrawTrace(random));
                workloads.push_back(MakeWorkload(traces.back()));
            }
            CheckSameCollectives(workloads);
            const IterationTimes expected = SlowClock(traces).Play();
            const IterationTimes times = Play(workloads);
            NS_TEST_ASSERT_MSG_EQ((times.begins == expected.begins), true, i);
            NS_TEST_ASSERT_MSG_EQ(times.end, expected.end, i);
        }
    }

    /// An AllReduce takes as many microseconds as it has bytes.
    static IterationTimes Play(const std::vector<ChakraWorkload>& workloads)
    {
        ChakraIteration iteration(workloads);
        IterationTimes times;
        uint64_t now = 0;
        for (uint32_t i = 0; i < workloads[0].collectives.size(); ++i)
        {
            now = std::max(now, iteration.FindReady(i) / 1000);
            times.begins.push_back(now);
            now += workloads[0].collectives[i].bytes;
            iteration.NoteEnd(i, 1000 * now);
        }
        times.end = iteration.FindEnd() / 1000;
        return times;
    }

    /// @return nodes of which every third is an AllReduce, the same in all traces but for the rest
    static std::vector<ChakraNode> DrawTrace(TestRandom& random)
    {
        std::vector<ChakraNode> nodes;
        for (uint64_t id = 0; id < 12; ++id)
        {
            std::vector<uint64_t> deps;
            for (uint64_t before = 0; before < id; ++before)
            {
                if (Draw(random, 3) == 0)
                {
                    deps.push_back(before);
                }
            }
            nodes.push_back(id % 3 == 2
                                ? MakeCollectiveNode(id, deps, 1 + id % 5)
                                : MakeCompute(id, deps, 1 + Draw(random, 6), Draw(random, 2)));
            std::swap(nodes.back().controlDeps, nodes.back().dataDeps);
            if (Draw(random, 2))
            {
                std::swap(nodes.back().controlDeps, nodes.back().dataDeps);
            }
        }
        return nodes;
    }
};

/// What cannot be played is refused in a line that names file and node.
class WorkloadRefusalTestCase : public TestCase
{
  public:
    WorkloadRefusalTestCase()
        : TestCase("workload traces that are refused")
    {
    }

  private:
    void DoRun() override
    {
        Check([](auto& nodes) { nodes.clear(); }, "no COMM_COLL_NODE");
        Check([](auto& nodes) { nodes[2].collective = 2; },
              "node 3 \"gradient 3\": ALL_GATHER, expected ALL_REDUCE");
        Check([](auto& nodes) { nodes[2].collective = 99; }, "collective 99, expected ALL_REDUCE");
        Check([](auto& nodes) { nodes[2].collective.reset(); }, "no comm_type");
        Check([](auto& nodes) { nodes[2].bytes.reset(); }, "no comm_size");
        Check([](auto& nodes) { nodes[2].bytes = 0; }, "comm_size=0, expected 1 or more");
        Check([](auto& nodes) { nodes[4].group = "tp"; }, "process group \"tp\" beside \"\"");
        Check([](auto& nodes) { nodes[1].type = ChakraType::RECEIVE; },
              "node 2 \"compute 2\": COMM_RECV_NODE, expected computing");
        Check([](auto& nodes) { nodes[0].durationMicros = UINT64_MAX; }, "all nodes take more");
        Check([](auto& nodes) { nodes[0].dataDeps = {6}; }, "waits for itself");
        Check([](auto& nodes) { nodes[0].controlDeps = {1}; }, "node 1 \"compute 1\" waits for");
        Check(
            [](auto& nodes) {
                std::swap(nodes[2], nodes[6]);
                nodes[5].dataDeps = {3};
            },
            "a collective that comes later in the file");
        const auto first = MakeWorkload(MakeThreeLayers(), "a.et");
        auto nodes = MakeThreeLayers();
        nodes[4].bytes = 7;
        CheckDifference({first, MakeWorkload(nodes, "b.et")},
                        "b.et: node 5 \"gradient 5\" is ALL_REDUCE 2 of 7 bytes");
        nodes = MakeThreeLayers();
        nodes[4].type = ChakraType::METADATA;
        nodes[6].type = ChakraType::METADATA;
        CheckDifference({first, MakeWorkload(nodes, "b.et")}, "b.et: 1 collectives, but ");
        CheckDifference({MakeWorkload(nodes, "b.et"), first}, "b.et, which has 1");
    }

    void Check(const std::function<void(std::vector<ChakraNode>&)>& change, const std::string& part)
    {
        auto nodes = MakeThreeLayers();
        change(nodes);
        const std::string message = GetError([&] { MakeChakraWorkload(nodes, "test.et"); });
        NS_TEST_EXPECT_MSG_EQ(Contains(message, part), true, message << " instead of " << part);
        NS_TEST_EXPECT_MSG_EQ(Contains(message, "test.et"), true, message);
    }

    void CheckDifference(const std::vector<ChakraWorkload>& workloads, const std::string& part)
    {
        const std::string message = GetError([&] { CheckSameCollectives(workloads); });
        NS_TEST_EXPECT_MSG_EQ(Contains(message, part), true, message << " instead of " << part);
    }
};

class ChakraTestSuite : public TestSuite
{
  public:
    ChakraTestSuite()
        : TestSuite("allreduce-chakra", TestSuite::Type::UNIT)
    {
        AddTestCase(new SchedulersTestCase, EXTENSIVE);
        AddTestCase(new RandomSchedulesTestCase);
        AddTestCase(new CorruptionTestCase);
        AddTestCase(new TraceRefusalTestCase);
        AddTestCase(new FileTestCase);
        AddTestCase(new TrainingTestCase);
        AddTestCase(new IterationTestCase);
        AddTestCase(new WorkloadRefusalTestCase);
    }
};

ChakraTestSuite g_chakraTestSuite; //!< registers the suite

} // namespace
