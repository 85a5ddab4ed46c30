/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/cluster-simulation.h"
#include "ns3/collective-times.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// The part of a network between some servers: all of them, and shortest paths as they were.
class CutOutTestCase : public TestCase
{
  public:
    CutOutTestCase()
        : TestCase("the network between some servers")
    {
    }

  private:
    void DoRun() override
    {
        TestRandom random(8);
        for (const std::string spec : {"bcube:4,1", "fattree:4", "dcell:3,1", "jellyfish:10,3,2"})
        {
            const Topology whole = ParseTopology(spec);
            for (uint32_t run = 0; run < 20; ++run)
            {
                std::set<NodeId> chosen;
                const std::size_t n = 2 + Draw(random, 5);
                while (chosen.size() < n)
                {
                    chosen.insert(Draw(random, whole.GetNServers()));
                }
                CheckPart(whole, {chosen.begin(), chosen.end()});
            }
        }
        const Topology all = CutOut(MakeTestStar(3), {0, 1, 2});
        NS_TEST_EXPECT_MSG_EQ(all.GetNLinks(), 3, "all of it");
        NS_TEST_EXPECT_MSG_EQ(CutOut(MakeTestStar(3), {2, 0}).GetNLinks(), 2, "without server 1");
    }

    void CheckPart(const Topology& whole, const std::vector<NodeId>& servers)
    {
        const Topology part = CutOut(whole, servers);
        NS_TEST_ASSERT_MSG_EQ(part.GetNServers(), servers.size(), "servers");
        for (NodeId i = 0; i < servers.size(); ++i)
        {
            for (NodeId j = 0; j < i; ++j)
            {
                NS_TEST_EXPECT_MSG_EQ(CountHops(part, i, j),
                                      CountHops(whole, servers[i], servers[j]),
                                      whole.GetName() << ": as far as before");
            }
        }
        NS_TEST_EXPECT_MSG_LT_OR_EQ(part.GetNLinks(), whole.GetNLinks(), "no links are new");
    }

    static uint32_t CountHops(const Topology& topology, NodeId from, NodeId to)
    {
        std::set<NodeId> seen{from};
        for (uint32_t hops = 0;; ++hops)
        {
            if (seen.count(to) > 0)
            {
                return hops;
            }
            std::set<NodeId> next = seen;
            for (const NodeId node : seen)
            {
                for (const Topology::Port& port : topology.GetPorts(node))
                {
                    next.insert(port.neighbor);
                }
            }
            seen = next;
        }
    }
};

/// Where servers have two ports a plan is faster than a ring; where they have one it is not.
class PlanTimesTestCase : public TestCase
{
  public:
    PlanTimesTestCase()
        : TestCase("times of plans")
    {
    }

  private:
    void DoRun() override
    {
        CollectiveTimes bcube(ParseTopology("bcube:4,1"), "forest");
        std::vector<NodeId> all(16);
        std::generate(all.begin(), all.end(), [i = 0]() mutable { return i++; });
        NS_TEST_EXPECT_MSG_EQ_TOL(bcube.GetShare(all), 0.53, 0.03, "two ports, half of the time");
        NS_TEST_EXPECT_MSG_EQ(bcube.GetShare({3}), 1, "one server has no AllReduce");
        NS_TEST_EXPECT_MSG_EQ(bcube.GetShare({0, 1}), 1, "one switch between them");
        const std::size_t nPlans = bcube.GetNPlans();
        std::reverse(all.begin(), all.end());
        bcube.GetShare(all);
        NS_TEST_EXPECT_MSG_EQ(bcube.GetNPlans(), nPlans, "kept, whatever the order");
        CollectiveTimes tree(ParseTopology("fattree:4"), "forest");
        NS_TEST_EXPECT_MSG_EQ(tree.GetShare({0, 1, 5, 9}), 1, "a ring is at the bound");
        NS_TEST_EXPECT_MSG_NE(GetError([] { CollectiveTimes(MakeTestStar(3), "none"); }),
                              "",
                              "no such scheduler");
        CheckJob();
    }

    /// A job whose time is all transfer does twice as much with a plan.
    void CheckJob()
    {
        Job job;
        job.gradientBytes = 1'250'000'000; // a second at 10 Gb/s
        job.overheadSeconds = 1e-6;
        job.targetIterations = 1'000'000;
        job.minWorkers = 16;
        job.maxWorkers = 16;
        job.bandwidthBps = 10'000'000'000;
        GpuCluster cluster{ParseTopology("bcube:4,1"), std::vector<uint32_t>(16, 1)};
        cluster.reduceBytesPerSecond = 1e15;
        const auto play = [&] {
            const auto policy = CreateClusterPolicy("fifo", 1);
            return PlayTrace(cluster, {job}, ProgressUtility(), *policy, 1).jobs[0].iterations;
        };
        const uint32_t ring = play();
        cluster.collectiveTimes = std::make_shared<CollectiveTimes>(cluster.topology, "forest");
        const uint32_t plan = play();
        NS_TEST_EXPECT_MSG_EQ(ring, 31, "a little more than 2 * 15/16 s each");
        NS_TEST_EXPECT_MSG_GT(plan, 55, "with both ports");
    }
};

class CollectiveTimesTestSuite : public TestSuite
{
  public:
    CollectiveTimesTestSuite()
        : TestSuite("allreduce-collective-times", TestSuite::Type::UNIT)
    {
        AddTestCase(new CutOutTestCase);
        AddTestCase(new PlanTimesTestCase);
    }
};

CollectiveTimesTestSuite g_collectiveTimesTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
