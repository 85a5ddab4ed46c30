/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"

#include "ns3/allreduce-helper.h"
#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/run-experiment.h"
#include "ns3/run-options.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <cmath>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

const std::vector<std::string> TRANSPORTS = {"raw", "udp", "tcp"};
const std::vector<std::string> CLASSICAL =
    {"ps", "ps-merge", "ring", "ring-aware", "halving-doubling", "double-tree", "greedy"};
const std::vector<std::string> SYNCS = {"barrier", "dependency"};

/// @return what a run of a scheduler on a network needs
Experiment
MakeExperiment(const Topology& topology, const std::string& scheduler, uint64_t bytes)
{
    const auto object = CreateScheduler(scheduler);
    auto plan = PlanVerified(topology, MakeRoots(topology.GetNServers(), 2), scheduler, *object);
    return {topology, scheduler, object, std::move(plan), bytes};
}

/// @return options of a run that checks its sums
RunOptions
MakeOptions(const std::string& transport, const std::string& sync)
{
    RunOptions options;
    options.transport = transport;
    options.sync = sync;
    options.verifyData = true;
    return options;
}

/// Every transport and both ways to keep rounds, on networks of all kinds, with any size.
class ExactSumsTestCase : public TestCase
{
  public:
    /**
     * @param spec the network
     * @param scheduler the scheduler
     */
    ExactSumsTestCase(const std::string& spec, const std::string& scheduler)
        : TestCase("exact sums on " + spec + " with " + scheduler),
          m_spec(spec),
          m_scheduler(scheduler)
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology(m_spec);
        const uint64_t nChunks = 2 * topology.GetNServers();
        for (const uint64_t bytes : {uint64_t{1}, nChunks - 1, nChunks + 1, uint64_t{100003}})
        {
            const Experiment experiment = MakeExperiment(topology, m_scheduler, bytes);
            for (const std::string& transport : TRANSPORTS)
            {
                for (const std::string& sync : SYNCS)
                {
                    const auto result = RunExperiment(experiment, MakeOptions(transport, sync));
                    NS_TEST_EXPECT_MSG_EQ(result.failure,
                                          "",
                                          transport << " " << sync << " " << bytes << " bytes");
                    NS_TEST_EXPECT_MSG_EQ(result.rounds,
                                          experiment.plan.rounds.size(),
                                          "every round is carried out");
                    NS_TEST_EXPECT_MSG_EQ(result.nDropped, 0, "no queue overflows");
                }
            }
        }
    }

    std::string m_spec;      //!< the network
    std::string m_scheduler; //!< the scheduler
};

/// In barrier mode the flow-level model is close to what is measured, for every scheduler.
class PredictionTestCase : public TestCase
{
  public:
    PredictionTestCase()
        : TestCase("prediction and measurement")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t CHUNK = 256 << 10;
        for (const std::string spec : {"bcube:3,1", "jellyfish:5,2,2,1"})
        {
            const Topology topology = ParseTopology(spec);
            for (const std::string& scheduler : CLASSICAL)
            {
                const Experiment experiment =
                    MakeExperiment(topology, scheduler, 2 * CHUNK * topology.GetNServers());
                for (const std::string& transport : TRANSPORTS)
                {
                    RunOptions options = MakeOptions(transport, "barrier");
                    options.verifyData = false;
                    const auto result = RunExperiment(experiment, options);
                    const double error =
                        std::abs(result.predictedSeconds / result.measuredSeconds - 1);
                    NS_TEST_EXPECT_MSG_LT(error,
                                          (transport == "tcp" ? 0.10 : 0.05),
                                          spec << " " << scheduler << " " << transport);
                }
            }
        }
    }
};

/// Without barriers the best scheduler comes close to the ideal.
class CloseToIdealTestCase : public TestCase
{
  public:
    CloseToIdealTestCase()
        : TestCase("dependency mode is close to the ideal")
    {
    }

  private:
    void DoRun() override
    {
        const Experiment experiment =
            MakeExperiment(ParseTopology("bcube:3,1"), "greedy", 32 << 20);
        for (const std::string& transport : TRANSPORTS)
        {
            RunOptions options = MakeOptions(transport, "dependency");
            options.verifyData = false;
            const auto result = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_LT(result.measuredSeconds / result.idealSeconds,
                                  (transport == "tcp" ? 1.10 : 1.05),
                                  transport);
        }
    }
};

/// The same run twice takes the same time, to the nanosecond.
class DeterminismTestCase : public TestCase
{
  public:
    DeterminismTestCase()
        : TestCase("the same run twice")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:3,1");
        for (const std::string& transport : TRANSPORTS)
        {
            for (const std::string& sync : SYNCS)
            {
                RunOptions options = MakeOptions(transport, sync);
                options.faults.background = "0.1";
                options.faults.failRandom = "1,3";
                const auto first =
                    RunExperiment(MakeExperiment(topology, "greedy", 200000), options);
                const auto second =
                    RunExperiment(MakeExperiment(topology, "greedy", 200000), options);
                NS_TEST_EXPECT_MSG_EQ(first.measuredSeconds,
                                      second.measuredSeconds,
                                      transport << " " << sync);
                NS_TEST_EXPECT_MSG_EQ(first.failure, "", transport << " " << sync);
            }
        }
    }
};

/// Packets that are lost are sent again.
class LossTestCase : public TestCase
{
  public:
    LossTestCase()
        : TestCase("lossy links")
    {
    }

  private:
    void DoRun() override
    {
        SetDataCentreTcpDefaults();
        const Topology clean = ParseTopology("bcube:2,1");
        std::vector<Link> links = clean.GetLinks();
        for (Link& link : links)
        {
            link.errorRate = 0.02;
        }
        const Topology lossy = clean.WithLinks("lossy", links);
        for (const std::string& transport : TRANSPORTS)
        {
            for (const std::string& sync : SYNCS)
            {
                const auto result = RunExperiment(MakeExperiment(lossy, "greedy", 3000000),
                                                  MakeOptions(transport, sync));
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", transport << " " << sync);
                NS_TEST_EXPECT_MSG_EQ((result.nResent > 0),
                                      result.countsResent,
                                      "something was lost with " << transport);
            }
        }
    }
};

/// A network that loses everything: the watchdog ends the run and names what is stuck.
class WatchdogTestCase : public TestCase
{
  public:
    WatchdogTestCase()
        : TestCase("the watchdog")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeStar(3);
        std::vector<Link> links = star.GetLinks();
        links[1].errorRate = 1;
        const Topology dead = star.WithLinks("dead", links);
        for (const std::string& transport : TRANSPORTS)
        {
            const auto result = RunExperiment(MakeExperiment(dead, "greedy", 100000),
                                              MakeOptions(transport, "barrier"));
            NS_TEST_EXPECT_MSG_EQ(Contains(result.failure, "nothing has arrived for"),
                                  true,
                                  transport << ": " << result.failure);
            NS_TEST_EXPECT_MSG_EQ(Contains(result.failure, "server 1"),
                                  true,
                                  transport << ": " << result.failure);
        }
    }
};

/// Several sessions with iterations and time for computing share a network.
class SeveralSessionsTestCase : public TestCase
{
  public:
    SeveralSessionsTestCase()
        : TestCase("several sessions at once")
    {
    }

  private:
    void NoteDone(Time)
    {
        ++m_nDone;
    }

    void NoteFlow(const AllReduceFlow& flow)
    {
        ++m_nFlows;
        m_isFlowSane = m_isFlowSane && flow.bytes > 0 && flow.duration.IsStrictlyPositive();
    }

    void NoteChunk(ChunkId)
    {
        ++m_nReduced;
    }

    void Watch(const ApplicationContainer& applications)
    {
        for (uint32_t i = 0; i < applications.GetN(); ++i)
        {
            const auto application = applications.Get(i);
            application->TraceConnectWithoutContext(
                "FlowFinished",
                MakeCallback(&SeveralSessionsTestCase::NoteFlow, this));
            application->TraceConnectWithoutContext(
                "ChunkReduced",
                MakeCallback(&SeveralSessionsTestCase::NoteChunk, this));
        }
    }

    void DoRun() override
    {
        constexpr uint32_t ITERATIONS = 3;
        TopologyHelper network(ParseTopology("bcube:2,1"));
        network.SetDeviceAttribute("Mtu", UintegerValue(9000));
        network.Install();
        AllReduceHelper helper(network);
        helper.SetAttribute("Bytes", UintegerValue(50001));
        helper.SetAttribute("Iterations", UintegerValue(ITERATIONS));
        helper.SetAttribute("ComputeTime", TimeValue(MilliSeconds(1)));
        helper.SetAttribute("VerifyData", BooleanValue(true));
        std::vector<Ptr<AllReduceSession>> sessions;
        for (const std::string transport : {"raw", "raw", "udp", "udp", "tcp", "tcp"})
        {
            helper.SetAttribute("Sync",
                                EnumValue(sessions.size() % 2 ? AllReduceSession::DEPENDENCY
                                                              : AllReduceSession::BARRIER));
            sessions.push_back(helper.Install("greedy", transport));
            sessions.back()->TraceConnectWithoutContext(
                "Done",
                MakeCallback(&SeveralSessionsTestCase::NoteDone, this));
            Watch(helper.GetApplications());
        }
        Simulator::Run();
        for (const auto& session : sessions)
        {
            NS_TEST_EXPECT_MSG_EQ(session->GetFailure(), "", "no session fails");
            NS_TEST_EXPECT_MSG_EQ(session->IsFinished(), true, "all sessions end");
            NS_TEST_EXPECT_MSG_EQ(session->GetDurations().size(), ITERATIONS, "all AllReduces");
        }
        NS_TEST_EXPECT_MSG_GT(Simulator::Now(), MilliSeconds(ITERATIONS - 1), "time to compute");
        const uint32_t nServers = network.GetTopology().GetNServers();
        const uint32_t nChunks = 2 * nServers;
        const uint32_t nAllReduces = ITERATIONS * sessions.size();
        NS_TEST_EXPECT_MSG_EQ(m_nDone, nAllReduces, "each is reported");
        NS_TEST_EXPECT_MSG_EQ(m_nReduced, nAllReduces * nChunks, "every chunk becomes final");
        NS_TEST_EXPECT_MSG_EQ((m_nFlows >= nAllReduces * nChunks * 2 * (nServers - 1)),
                              true,
                              "every flow is reported");
        NS_TEST_EXPECT_MSG_EQ(m_isFlowSane, true, "flows have bytes and take time");
        Simulator::Destroy();
    }

    uint32_t m_nDone{0};     //!< AllReduces that ended
    uint32_t m_nFlows{0};    //!< flows that finished
    uint32_t m_nReduced{0};  //!< chunks that became final
    bool m_isFlowSane{true}; //!< whether flows make sense
};

/// What is not possible is refused with a message that names it.
class BadRunOptionsTestCase : public TestCase
{
  public:
    BadRunOptionsTestCase()
        : TestCase("bad options of a run")
    {
    }

  private:
    void Refuse(const std::string& part, void (*change)(RunOptions&))
    {
        RunOptions options;
        change(options);
        const std::string error = GetError([&] { options.Check(); });
        NS_TEST_EXPECT_MSG_EQ(Contains(error, part), true, part << ": \"" << error << "\"");
    }

    void DoRun() override
    {
        for (const std::string text : {"", "0", "x", "-1", "1.5B", "1Mib", "MiB", "1 MiB", "1e30"})
        {
            const std::string error = GetError([&] { ParseSize(text, "--bytes"); });
            NS_TEST_EXPECT_MSG_EQ(Contains(error, "--bytes \"" + text + "\""), true, text);
        }
        NS_TEST_EXPECT_MSG_EQ(ParseSize("1.5KiB", ""), 1536, "a size with a fraction");
        NS_TEST_EXPECT_MSG_EQ(ParseSize("1GiB", ""), uint64_t{1} << 30, "a size with a unit");
        NS_TEST_EXPECT_MSG_EQ(FormatSize(1536), "1536B", "a size as text");
        NS_TEST_EXPECT_MSG_EQ(FormatSize(100 << 20), "100MiB", "a size as text");
        Refuse("transport \"x\"", [](RunOptions& options) { options.transport = "x"; });
        Refuse("--sync \"x\"", [](RunOptions& options) { options.sync = "x"; });
        Refuse("--frame \"100\"", [](RunOptions& options) { options.frame = 100; });
        Refuse("--frame \"70000\"", [](RunOptions& options) { options.frame = 70000; });
        Refuse("--queue \"0\"", [](RunOptions& options) { options.queue = 0; });
        Refuse("--iterations \"0\"", [](RunOptions& options) { options.iterations = 0; });
        Refuse("\"x\"", [](RunOptions& options) { options.computeTime = "x"; });
        Refuse("\"x\"", [](RunOptions& options) { options.watchdog = "x"; });
        Refuse("--flow-monitor", [](RunOptions& options) {
            options.transport = "raw";
            options.flowMonitor = "flows.xml";
        });
        const std::string abort = GetAbortMessage([] {
            AllReduceHelper helper([] {
                TopologyHelper network(MakeStar(2));
                network.Install();
                return network;
            }());
            helper.SetAttribute("Bytes", UintegerValue(0));
        });
        NS_TEST_EXPECT_MSG_EQ(Contains(abort, "Bytes"), true, "0 bytes: " << abort);
    }
};

class SessionTestSuite : public TestSuite
{
  public:
    SessionTestSuite()
        : TestSuite("allreduce-session", TestSuite::Type::UNIT)
    {
        AddTestCase(new BadRunOptionsTestCase);
        AddTestCase(new ExactSumsTestCase("bcube:2,0", "greedy"));
        AddTestCase(new ExactSumsTestCase("bcube:2,1", "ps"));
        AddTestCase(new ExactSumsTestCase("bcube:3,1", "greedy"));
        AddTestCase(new ExactSumsTestCase("dcell:2,1", "ring-aware"));
        AddTestCase(new ExactSumsTestCase("dcell:3,1", "ps-merge"));
        AddTestCase(new ExactSumsTestCase("jellyfish:5,2,2,1", "double-tree"));
        AddTestCase(new ExactSumsTestCase("jellyfish:4,3,1,1", "halving-doubling"));
        AddTestCase(new PredictionTestCase);
        AddTestCase(new CloseToIdealTestCase);
        AddTestCase(new DeterminismTestCase);
        AddTestCase(new LossTestCase);
        AddTestCase(new WatchdogTestCase);
        AddTestCase(new SeveralSessionsTestCase);
    }
};

SessionTestSuite g_sessionTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
