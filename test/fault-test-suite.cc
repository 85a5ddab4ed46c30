/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "fault-options.h"
#include "run-experiment.h"
#include "run-options.h"
#include "session-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-transport.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Up to three links break at random times, some come back; sums are exact or servers are cut off.
class RandomFaultsTestCase : public DataCentreTestCase
{
  public:
    /**
     * @param transport the transport
     * @param nRuns how many runs
     */
    RandomFaultsTestCase(const std::string& transport, uint32_t nRuns)
        : DataCentreTestCase("random faults over " + transport),
          m_transport(transport),
          m_nRuns(nRuns)
    {
    }

  private:
    void DoRun() override
    {
        const std::vector<std::string> specs = {"bcube:2,1",
                                                "bcube:3,1",
                                                "dcell:3,1",
                                                "jellyfish:6,3,1,2",
                                                "jellyfish:4,2,2,1"};
        const std::vector<std::string> schedulers = GetNamesWithoutLearning();
        TestRandom random(m_transport.size());
        uint32_t nCutOff = 0;
        uint32_t nReplans = 0;
        uint32_t nProvenRests = 0;
        for (uint32_t run = 0; run < m_nRuns; ++run)
        {
            const Topology topology = ParseTopology(specs[Draw(random, specs.size())]);
            const std::string scheduler = schedulers[Draw(random, schedulers.size())];
            RunOptions options = MakeOptions(m_transport, SYNCS[Draw(random, 2)]);
            options.faults.failRandom =
                std::to_string(1 + Draw(random, 3)) + "," + std::to_string(run);
            const uint64_t bytes = 1 + Draw(random, 200000);
            const auto result =
                RunExperiment(MakeExperiment(topology, scheduler, bytes, 1), options);
            const bool isCutOff = Contains(result.failure, "cut off");
            nCutOff += isCutOff;
            nReplans += result.nReplans;
            nProvenRests += result.nReplans > 0 && result.isVerified;
            NS_TEST_ASSERT_MSG_EQ(result.isVerified, true, "run " << run << ": all was proven");
            NS_TEST_ASSERT_MSG_EQ(result.replannedBy,
                                  (result.nReplans > 0 ? "greedy" : ""),
                                  "run " << run << ": who planned the rests");
            NS_TEST_ASSERT_MSG_EQ((result.failure.empty() || isCutOff),
                                  true,
                                  "run " << run << " " << topology.GetName() << " " << scheduler
                                         << " " << options.sync << " " << options.faults.failRandom
                                         << ": " << result.failure);
        }
        NS_TEST_EXPECT_MSG_LT(nCutOff, m_nRuns / 2, "most runs end well");
        NS_TEST_EXPECT_MSG_GT(nReplans, m_nRuns / 4, "many runs had to be planned anew");
        NS_TEST_EXPECT_MSG_GT(nProvenRests, m_nRuns / 4, "and rests were proven");
    }

    std::string m_transport; //!< the transport
    uint32_t m_nRuns;        //!< how many runs
};

/// What is not a fault is refused with a message that names it.
class BadFaultOptionsTestCase : public TestCase
{
  public:
    BadFaultOptionsTestCase()
        : TestCase("bad fault options")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:2,1");
        for (const std::string text :
             {"", "0-4", "0@1ms", "0-1@1ms", "0-99@1ms", "0-4@x", "0-4@2ms,1ms"})
        {
            FaultOptions options;
            options.fail = {text};
            NS_TEST_EXPECT_MSG_NE(GetError([&] { options.MakeFaults(topology, Seconds(1)); }),
                                  "",
                                  "--fail=" << text);
        }
        for (const std::string text : {"1", "x,1", "1,x", "99,1", "0,1"})
        {
            FaultOptions options;
            options.failRandom = text;
            NS_TEST_EXPECT_MSG_NE(GetError([&] { options.MakeFaults(topology, Seconds(1)); }),
                                  "",
                                  "--fail-random=" << text);
        }
        for (const std::string text :
             {"0-4", "0-1:2", "0-4:0.5", "0-4:1", "0-4:1e11", "0-4:x", "0-4:"})
        {
            FaultOptions options;
            options.slow = {text};
            NS_TEST_EXPECT_MSG_NE(GetError([&] { options.ApplySlow(topology); }),
                                  "",
                                  "--slow=" << text);
        }
        for (const std::string text : {"-1", "1.5", "x", ""})
        {
            FaultOptions options;
            options.background = text;
            NS_TEST_EXPECT_MSG_NE(GetError([&] { options.GetBackground(); }),
                                  "",
                                  "--background=" << text);
        }
    }
};

/// A server whose only link breaks is named; if the link comes back, all ends well.
class CutOffTestCase : public DataCentreTestCase
{
  public:
    CutOffTestCase()
        : DataCentreTestCase("a server that is cut off")
    {
    }

  private:
    void CutOff(const std::string& transport, const std::string& sync)
    {
        const std::string what = transport + " " + sync;
        const Experiment experiment = MakeExperiment(MakeTestStar(4), "greedy", 100000, 1);
        RunOptions options = MakeOptions(transport, sync);
        options.faults.fail = {"2-4@50us"};
        auto result = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 2",
                              what << " names the server");
        NS_TEST_EXPECT_MSG_LT(result.endSeconds, 1e-3, what << " does not wait for nothing");
        options.faults.fail = {"1-4@50us", "2-4@50us"};
        result = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 1, 2",
                              what << " names both servers");
        options.faults.fail = {"2-4@50us,1ms"};
        result = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", what << " goes on when the link is back");
        NS_TEST_EXPECT_MSG_GT(result.measuredSeconds, 950e-6, what << " waited for the link");
        NS_TEST_EXPECT_MSG_GT(result.nReplans, 0, what << " planned anew");
        options.faults.fail = {"2-4@50us,200s"};
        result = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", what << " waits for a link that is due");
        NS_TEST_EXPECT_MSG_GT(result.endSeconds, 200, what << " waited so long");
    }

    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            for (const std::string& sync : SYNCS)
            {
                CutOff(transport, sync);
            }
        }
    }
};

class FaultTestSuite : public TestSuite
{
  public:
    FaultTestSuite()
        : TestSuite("allreduce-fault", TestSuite::Type::UNIT)
    {
        AddTestCase(new BadFaultOptionsTestCase);
        AddTestCase(new CutOffTestCase);
        AddTestCase(new RandomFaultsTestCase("raw", 90));
        AddTestCase(new RandomFaultsTestCase("udp", 60));
        AddTestCase(new RandomFaultsTestCase("tcp", 50));
    }
};

FaultTestSuite g_faultTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
