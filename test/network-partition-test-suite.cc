/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-state.h"
#include "ns3/network-partition.h"
#include "ns3/scheduler-factory.h"
#include "ns3/test.h"
#include "ns3/token-barrier.h"
#include "ns3/topology-generators.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/transfer-numbers.h"

#include <algorithm>
#include <set>
#include <sstream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

AllReduceSchedule
PlanGreedy(const Topology& topology)
{
    return Plan(*CreateScheduler("greedy"),
                AllReduceState(topology, MakeRoots(topology.GetNServers(), 1)),
                {});
}

/// What a partition promises.
class PartitionTestCase : public TestCase
{
  public:
    PartitionTestCase()
        : TestCase("Every rank has a server and its share, and short links are not cut")
    {
    }

  private:
    void DoRun() override
    {
        for (const char* spec : {"bcube:4,1", "dcell:4,1", "jellyfish:10,3,2", "fattree:4"})
        {
            const Topology topology = ParseTopology(spec);
            for (const uint32_t nRanks : {2, 3, 4})
            {
                CheckShares(topology, nRanks);
            }
        }
        for (uint64_t seed = 1; seed <= 100; ++seed)
        {
            CheckRandom(DrawNetwork(seed, 12));
        }
        CheckLongLinks();
        CheckNoDelay();
    }

    void CheckShares(const Topology& topology, uint32_t nRanks)
    {
        const AllReduceSchedule plan = PlanGreedy(topology);
        const NetworkPartition partition = PartitionNetwork(topology, plan, nRanks);
        NS_TEST_ASSERT_MSG_EQ((partition == PartitionNetwork(topology, plan, nRanks)),
                              true,
                              "the same for all ranks");
        std::vector<uint32_t> nServers(nRanks, 0);
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            ++nServers[partition[server]];
        }
        const double mean = static_cast<double>(topology.GetNServers()) / nRanks;
        for (const uint32_t n : nServers)
        {
            NS_TEST_ASSERT_MSG_GT(n, 0.4 * mean, topology.GetName() << " in " << nRanks);
            NS_TEST_ASSERT_MSG_LT(n, 1.6 * mean, topology.GetName() << " in " << nRanks);
        }
    }

    void CheckRandom(const Topology& topology)
    {
        const AllReduceSchedule plan = PlanGreedy(topology);
        NetworkPartition partition;
        const std::string error =
            GetError([&] { partition = PartitionNetwork(topology, plan, 2); });
        if (error.empty())
        {
            NS_TEST_ASSERT_MSG_EQ(GetError([&] { CheckPartition(topology, partition, 2, "it"); }),
                                  "",
                                  topology.GetName());
        }
        else
        {
            NS_TEST_ASSERT_MSG_EQ(Contains(error, "has no server"), true, error);
        }
    }

    /// Two stars of four servers, joined by a link that is ten times as long as the others.
    void CheckLongLinks()
    {
        std::vector<Link> links;
        for (NodeId server = 0; server < 8; ++server)
        {
            Link link{};
            link.a = server;
            link.b = server < 4 ? 8 : 9;
            links.push_back(link);
        }
        Link joint{};
        joint.a = 8;
        joint.b = 9;
        joint.delayNs = 10'000;
        links.push_back(joint);
        const Topology topology("two stars", 8, 2, links);
        const NetworkPartition partition = PartitionNetwork(topology, PlanGreedy(topology), 2);
        for (LinkId link = 0; link < 8; ++link)
        {
            NS_TEST_ASSERT_MSG_EQ(partition[links[link].a], partition[links[link].b], "not cut");
        }
        NS_TEST_ASSERT_MSG_NE(partition[8], partition[9], "the long link is cut");
    }

    void CheckNoDelay()
    {
        const Topology topology = WithDelay(ParseTopology("bcube:4,1"), 0);
        const std::string error =
            GetError([&] { PartitionNetwork(topology, PlanGreedy(topology), 2); });
        NS_TEST_ASSERT_MSG_EQ(Contains(error, "no link has a delay"), true, error);
    }
};

/// Files with partitions.
class PartitionFileTestCase : public TestCase
{
  public:
    PartitionFileTestCase()
        : TestCase("A file with a partition is read, or refused with its line")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = MakeTestStar(3);
        const auto read = [&](const std::string& text) {
            std::istringstream in(text);
            return ReadPartition(in, "file x", topology, 2);
        };
        NS_TEST_ASSERT_MSG_EQ((read("0\n1\n0\n1\n") == NetworkPartition{0, 1, 0, 1}), true, "read");
        ExpectError([&] { read("0\n1\n"); }, "expected 4");
        ExpectError([&] { read("0\n1\n0\n1\n1\n"); }, "line 5");
        ExpectError([&] { read("0\n2\n0\n1\n"); }, "file x, line 2: rank 2, expected 0 to 1");
        ExpectError([&] { read("0\nx\n0\n1\n"); }, "line 2");
        ExpectError([&] { read("0\n0\n0\n1\n"); }, "rank 1 has no server");
    }

    void ExpectError(const std::function<void()>& call, const std::string& part)
    {
        const std::string error = GetError(call);
        NS_TEST_ASSERT_MSG_EQ(Contains(error, part), true, "\"" << error << "\" has " << part);
    }
};

/// All ranks give the same names.
class TransferNumbersTestCase : public TestCase
{
  public:
    TransferNumbersTestCase()
        : TestCase("Workloads and messages have names of their own that lead back to them")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("dcell:3,1");
        const AllReduceSchedule plan = PlanGreedy(topology);
        const TransferNumbers numbers(MakeRoundRange(plan.rounds), topology.GetNServers());
        std::set<TransferId> names;
        for (uint32_t round = 0; round < plan.rounds.size(); ++round)
        {
            for (uint32_t position = 0; position < plan.rounds[round].GetSize(); ++position)
            {
                const TransferId name = numbers.NameWorkload({round, position});
                const auto place = numbers.FindWorkload(name);
                NS_TEST_ASSERT_MSG_EQ((place && place->round == round), true, "round");
                NS_TEST_ASSERT_MSG_EQ(place->position, position, "position");
                NS_TEST_ASSERT_MSG_EQ(names.insert(name).second, true, "its own");
            }
        }
        for (uint32_t phase = 0; phase < 5; ++phase)
        {
            for (NodeId child = 0; child < topology.GetNServers(); ++child)
            {
                CheckMessage(numbers, {phase, child, false}, names);
                CheckMessage(numbers, {phase, child, true}, names);
            }
        }
    }

    void CheckMessage(const TransferNumbers& numbers,
                      const TokenBarrier::Message& message,
                      std::set<TransferId>& names)
    {
        const TransferId name = numbers.NameMessage(message);
        NS_TEST_ASSERT_MSG_EQ(names.insert(name).second, true, "its own");
        NS_TEST_ASSERT_MSG_EQ(numbers.FindWorkload(name).has_value(), false, "no workload");
        const TokenBarrier::Message found = numbers.FindMessage(name);
        NS_TEST_ASSERT_MSG_EQ(found.phase, message.phase, "phase");
        NS_TEST_ASSERT_MSG_EQ(found.child, message.child, "child");
        NS_TEST_ASSERT_MSG_EQ(found.isRelease, message.isRelease, "kind");
    }
};

/// @ingroup allreduce-tests
/// @brief What several ranks need; utils/check-ranks.sh checks them at work.
class NetworkPartitionTestSuite : public TestSuite
{
  public:
    NetworkPartitionTestSuite()
        : TestSuite("allreduce-network-partition", TestSuite::Type::UNIT)
    {
        AddTestCase(new PartitionTestCase);
        AddTestCase(new PartitionFileTestCase);
        AddTestCase(new TransferNumbersTestCase);
    }
};

NetworkPartitionTestSuite g_networkPartitionTestSuite; //!< registers the suite

} // namespace
