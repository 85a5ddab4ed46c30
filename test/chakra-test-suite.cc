/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "chakra-player.h"

#include "ns3/chakra-export.h"
#include "ns3/chakra-trace.h"
#include "ns3/schedule-verifier.h"
#include "ns3/test.h"

#include <algorithm>
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
    const ChakraPlay play = PlayChakra(traces, schedule.roots.size(), BYTES, random);
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
                        PlayChakra(traces, schedule.roots.size(), BYTES, random);
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
class RefusalTestCase : public TestCase
{
  public:
    RefusalTestCase()
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

class ChakraTestSuite : public TestSuite
{
  public:
    ChakraTestSuite()
        : TestSuite("allreduce-chakra", TestSuite::Type::UNIT)
    {
        AddTestCase(new SchedulersTestCase);
        AddTestCase(new RandomSchedulesTestCase);
        AddTestCase(new CorruptionTestCase);
        AddTestCase(new RefusalTestCase);
        AddTestCase(new FileTestCase);
    }
};

ChakraTestSuite g_chakraTestSuite; //!< registers the suite

} // namespace
