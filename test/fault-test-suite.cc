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

#include <cmath>
#include <set>
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
            // Who plans all of it anew, because nothing of it is left, is the scheduler itself.
            const std::set<std::string> planners{"greedy",
                                                 scheduler,
                                                 "greedy," + scheduler,
                                                 scheduler + ",greedy"};
            NS_TEST_ASSERT_MSG_EQ((result.nReplans > 0 ? planners.count(result.replannedBy) > 0
                                                       : result.replannedBy.empty()),
                                  true,
                                  "run " << run
                                         << ": who planned the rests: " << result.replannedBy);
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
        ExperimentSettings settings;
        for (const std::string text :
             {"", "0-4", "0@1ms", "0-1@1ms", "0-99@1ms", "0-4@x", "0-4@2ms,1ms"})
        {
            FaultOptions options;
            options.fail = {text};
            NS_TEST_EXPECT_MSG_NE(GetError([&] { options.SetFaults(topology, settings); }),
                                  "",
                                  "--fail=" << text);
        }
        for (const std::string text : {"1", "x,1", "1,x", "99,1", "0,1"})
        {
            FaultOptions options;
            options.failRandom = text;
            NS_TEST_EXPECT_MSG_NE(GetError([&] { options.SetFaults(topology, settings); }),
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

/// Outages of one link are intervals: it is up when none of them holds it down.
class OverlappingOutagesTestCase : public DataCentreTestCase
{
  public:
    OverlappingOutagesTestCase()
        : DataCentreTestCase("outages of one link that overlap")
    {
    }

  private:
    static ExperimentResult Run(const Topology& topology, const std::vector<std::string>& fail)
    {
        RunOptions options = MakeOptions("raw", "barrier");
        options.faults.fail = fail;
        return RunExperiment(MakeExperiment(topology, "greedy", 100000, 1), options);
    }

    void DoRun() override
    {
        const Topology star = MakeTestStar(4);
        auto result = Run(star, {"2-4@50us,1ms", "2-4@60us,2ms", "2-4@70us,500us"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "it ends when the last outage does");
        NS_TEST_EXPECT_MSG_GT(result.measuredSeconds, 2e-3, "and not before");
        NS_TEST_EXPECT_MSG_LT(result.measuredSeconds, 3e-3, "nor much later");
        result = Run(star, {"2-4@50us,1ms", "2-4@60us"});
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 2",
                              "an outage without an end is not undone by another");
        NS_TEST_EXPECT_MSG_LT(result.endSeconds, 1e-3, "which is known at once");
        result = Run(star, {"2-4@50us", "1-4@50us,1ms"});
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 1, 2",
                              "a mending that is due would not help");
        NS_TEST_EXPECT_MSG_LT(result.endSeconds, 1e-3, "nobody waits for it");
        result =
            Run(ParseTopology("bcube:2,1"), {"0-4@1us,1ms", "0-4@2us,2ms", "1-4@1us", "1-7@1us"});
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 1",
                              "a link that is mended while it is up");
    }
};

/// Who needs whom is a question for each chunk, and for what is left of it.
class NeedsTestCase : public DataCentreTestCase
{
  public:
    NeedsTestCase()
        : DataCentreTestCase("who needs whom")
    {
    }

  private:
    static ExperimentResult Run(const std::string& spec,
                                const GroupOptions& groups,
                                const std::vector<std::string>& fail,
                                const std::string& control = "ideal")
    {
        PlanOptions plan;
        plan.groups = groups;
        plan.chunksPerServer = "1";
        RunOptions options = MakeOptions("raw", "barrier");
        options.control = control;
        options.faults.fail = fail;
        const Topology topology = spec == "line"   ? MakeTestLine(6)
                                  : spec == "long" ? MakeLongDcell()
                                                   : ParseTopology(spec);
        return RunExperiment(PlanExperiment(topology, "greedy", 100000, plan, options), options);
    }

    /// Messages are on their way for long, and data is there at once.
    static Topology MakeLongDcell()
    {
        const Topology dcell = ParseTopology("dcell:3,1");
        std::vector<Link> links = dcell.GetLinks();
        for (Link& link : links)
        {
            link.rateBps = 3'500'000'000'000;
            link.delayNs = 4'786'301;
        }
        return dcell.WithLinks(dcell.GetName(), std::move(links));
    }

    /// A server that nobody needed, and that had been cut off, is a relay when it is back.
    void TestReturning()
    {
        GroupOptions broadcast;
        broadcast.collective = "broadcast";
        broadcast.servers = "7,8,9,10";
        const auto result = Run("long",
                                broadcast,
                                {"11-15@67216201ns,117884920ns", "8-11@43909407ns,102189472ns"},
                                "packets");
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "it comes together with the others again");
    }

    void TestGroups()
    {
        GroupOptions groups;
        groups.groups = "0,1;2,3";
        auto result = Run("bcube:2,1", groups, {"0-6@1us", "1-7@1us"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "both groups are whole");
        result = Run("bcube:2,1", groups, {"0-6@1us", "1-7@1us,5ms"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "and need no link between them");
        NS_TEST_EXPECT_MSG_LT(result.endSeconds, 1e-3, "so that they do not wait");
        result = Run("bcube:2,1", groups, {"0-6@1us", "1-7@1us"}, "packets");
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 0, 1",
                              "but tokens join all groups");
        GroupOptions pair;
        pair.servers = "0,1";
        result = Run("bcube:2,1", pair, {"0-4@1us", "0-6@1us"});
        NS_TEST_EXPECT_MSG_EQ(result.failure,
                              "cut off by links that are down: server 0",
                              "it has lost all its links");
        result = Run("bcube:2,1", pair, {"2-5@1us", "2-6@1us"}, "packets");
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "who only could relay is not needed");
        pair.servers = "2,3";
        result = Run("bcube:2,1", pair, {"0-4@1us", "0-6@1us"}, "packets");
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "nor is server 0, with which tokens begin");
    }

    void TestRelays()
    {
        GroupOptions pair;
        pair.servers = "0,1";
        pair.relay = "none";
        auto result = Run("torus:3", pair, {"0-1@7us,2ms"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "without relays it waits");
        NS_TEST_EXPECT_MSG_GT(result.measuredSeconds, 2e-3, "for the link");
        result = Run("torus:3", pair, {"0-1@7us"});
        NS_TEST_EXPECT_MSG_EQ(
            result.failure,
            "cut off by links that are down and servers that may not relay: server 1",
            "or says who is cut off");
        pair.relay = "all";
        result = Run("torus:3", pair, {"0-1@7us,2ms"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "with relays it goes on");
        NS_TEST_EXPECT_MSG_LT(result.measuredSeconds, 1e-3, "at once");
    }

    void TestRoot()
    {
        GroupOptions broadcast;
        broadcast.collective = "broadcast";
        const auto whole = Run("line", broadcast, {});
        NS_TEST_EXPECT_MSG_EQ(whole.failure, "", "a broadcast along a line");
        // The root sends in all rounds but the last four, in which others pass the last chunk on.
        const double sent = whole.endSeconds * (whole.rounds - 3) / whole.rounds;
        const std::string fail = "0-1@" + std::to_string(std::llround(1e9 * sent)) + "ns";
        const auto result = Run("line", broadcast, {fail});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "nobody needs a root that has sent everything");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.endSeconds, whole.endSeconds, 1e-9, "nor waits for it");
        NS_TEST_EXPECT_MSG_EQ(Run("line", broadcast, {"0-1@1us"}).failure,
                              "cut off by links that are down: server 0",
                              "all need one that has not");
    }

    void TestWaiting()
    {
        const auto result = Run("bcube:2,1", {}, {"0-4@0,6ms", "0-6@0"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "a server that is cut off at the beginning");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.measuredSeconds,
                                  result.endSeconds,
                                  1e-9,
                                  "waiting is measured");
    }

    void TestReplans()
    {
        GroupOptions pair;
        pair.servers = "0,1";
        const auto result = Run("line", pair, {"0-1@3us,4us"});
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "all of the first round is aborted");
        NS_TEST_EXPECT_MSG_EQ(result.rounds, 3, "and its plan begins again");
        NS_TEST_EXPECT_MSG_EQ(result.nReplans, 1, "which counts");
        NS_TEST_EXPECT_MSG_EQ(result.replannedBy, "greedy", "and is told");
    }

    void DoRun() override
    {
        TestGroups();
        TestRelays();
        TestRoot();
        TestWaiting();
        TestReplans();
        TestReturning();
    }
};

class FaultTestSuite : public TestSuite
{
  public:
    FaultTestSuite()
        : TestSuite("allreduce-fault", TestSuite::Type::UNIT)
    {
        AddTestCase(new BadFaultOptionsTestCase);
        AddTestCase(new CutOffTestCase, EXTENSIVE);
        AddTestCase(new OverlappingOutagesTestCase);
        AddTestCase(new NeedsTestCase);
        AddTestCase(new RandomFaultsTestCase("raw", 40));
        AddTestCase(new RandomFaultsTestCase("udp", 30));
        AddTestCase(new RandomFaultsTestCase("tcp", 25));
    }
};

FaultTestSuite g_faultTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
