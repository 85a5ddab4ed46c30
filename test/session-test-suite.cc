/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"
#include "run-experiment.h"
#include "run-options.h"
#include "run-rows.h"
#include "session-test-utils.h"

#include "ns3/allreduce-helper.h"
#include "ns3/allreduce-transport.h"
#include "ns3/allreduce-units.h"
#include "ns3/background-traffic-helper.h"
#include "ns3/background-traffic.h"
#include "ns3/boolean.h"
#include "ns3/double.h"
#include "ns3/enum.h"
#include "ns3/ideal-time.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/known-ideal.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

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
            for (const std::string& transport : GetTransportNames())
            {
                for (const std::string& sync : SYNCS)
                {
                    const auto result = RunExperiment(experiment, MakeOptions(transport, sync));
                    NS_TEST_EXPECT_MSG_EQ(result.failure,
                                          "",
                                          transport << " " << sync << " " << bytes << " bytes");
                    NS_TEST_EXPECT_MSG_EQ(result.rounds,
                                          experiment.plan.GetRounds().size(),
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
class PredictionTestCase : public DataCentreTestCase
{
  public:
    PredictionTestCase()
        : DataCentreTestCase("prediction and measurement")
    {
    }

  private:
    void Compare(const std::string& spec, const std::string& scheduler)
    {
        constexpr uint64_t CHUNK = 256 << 10;
        const Topology topology = ParseTopology(spec);
        const Experiment experiment =
            MakeExperiment(topology, scheduler, CHUNK * topology.GetNServers(), 1);
        for (const std::string& transport : GetTransportNames())
        {
            RunOptions options = MakeOptions(transport, "barrier");
            options.verifyData = false;
            const auto result = RunExperiment(experiment, options);
            const double error = std::abs(result.predictedSeconds / result.measuredSeconds - 1);
            NS_TEST_EXPECT_MSG_LT(error,
                                  (transport == "tcp" ? 0.10 : 0.05),
                                  spec << " " << scheduler << " " << transport);
        }
    }

    void DoRun() override
    {
        for (const std::string& scheduler : GetNamesWithoutLearning())
        {
            Compare("bcube:3,1", scheduler);
            Compare("jellyfish:5,2,2,1", scheduler);
        }
        // Many paths of up to six links, so that connections count.
        Compare("jellyfish:10,3,2", "halving-doubling");
    }
};

/// What a simulation costs grows with the bytes and with the links that they cross.
class EventsTestCase : public TestCase
{
  public:
    EventsTestCase()
        : TestCase("events for each byte and link")
    {
    }

  private:
    /// @return bytes times links of all workloads of a plan
    static double GetByteHops(const Experiment& experiment)
    {
        const double chunk =
            static_cast<double>(experiment.bytes) / experiment.plan.GetCollective().GetNChunks();
        double byteHops = 0;
        for (const WorkloadList& round : experiment.plan.GetRounds())
        {
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                byteHops += chunk * (round.Get(i).path.size() - 1);
            }
        }
        return byteHops;
    }

    void DoRun() override
    {
        double least = std::numeric_limits<double>::max();
        double most = 0;
        RunOptions options = MakeOptions("raw", "barrier");
        options.verifyData = false;
        for (const std::string spec : {"bcube:2,0", "bcube:3,1", "dcell:2,1", "jellyfish:10,3,2"})
        {
            for (const uint64_t bytes : {2 << 20, 8 << 20, 32 << 20})
            {
                const auto experiment = MakeExperiment(ParseTopology(spec), "ring", bytes, 1);
                const auto result = RunExperiment(experiment, options);
                const double perByteHop = result.nEvents / GetByteHops(experiment);
                least = std::min(least, perByteHop);
                most = std::max(most, perByteHop);
            }
        }
        NS_TEST_EXPECT_MSG_LT(most / least, 1.5, "from " << least << " to " << most);
    }
};

/// Without barriers the best scheduler comes close to the ideal.
class CloseToIdealTestCase : public DataCentreTestCase
{
  public:
    CloseToIdealTestCase()
        : DataCentreTestCase("dependency mode is close to the ideal")
    {
    }

  private:
    void DoRun() override
    {
        const Experiment experiment =
            MakeExperiment(ParseTopology("bcube:3,1"), "greedy", 32 << 20);
        for (const std::string& transport : GetTransportNames())
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

/// After a failure the result says what the links could have carried, had one known.
class IdealAfterFailureTestCase : public DataCentreTestCase
{
  public:
    IdealAfterFailureTestCase()
        : DataCentreTestCase("the ideal of those who know which links break")
    {
    }

  private:
    void DoRun() override
    {
        const Topology whole = ParseTopology("bcube:2,1");
        const Experiment experiment = MakeExperiment(whole, "greedy", 1 << 20);
        RunOptions options = MakeOptions("raw", "barrier");
        const auto unbroken = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(unbroken.downLinks, "", "nothing broke");
        options.faults.fail = {"0-4@100us", "1-4@100us,200us"};
        const auto broken = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(broken.failure, "", "one way is left");
        NS_TEST_EXPECT_MSG_EQ(broken.downLinks, "0-4", "the other link was mended");
        NS_TEST_EXPECT_MSG_EQ(broken.idealSeconds, unbroken.idealSeconds, "the whole network");
        const int64_t failNs = 100'000;
        std::vector<RateChange> changes{{0, failNs, 0}, {1, failNs, 0}};
        for (const DirectedLinkId direction : {0, 1})
        {
            const LinkId other = *whole.FindDirectedLink(1, 4) / 2;
            changes.push_back({2 * other + direction, failNs, 0});
        }
        for (const DirectedLinkId direction : {0, 1})
        {
            const RateChange& failure = changes[2 + direction];
            changes.push_back({failure.link, 2 * failNs, whole.GetLinkOf(0).rateBps});
        }
        const Collective& collective = experiment.plan.GetCollective();
        const IdealTime known = ComputeKnownIdealTime(whole, collective, 1 << 20, changes);
        NS_TEST_EXPECT_MSG_EQ(broken.knownIdealSeconds, known.seconds, "what links could carry");
        NS_TEST_EXPECT_MSG_EQ(broken.knownBottleneck, known.GetReason(), "and why");
        NS_TEST_EXPECT_MSG_GT(known.seconds, broken.idealSeconds, "less is slower");
        NS_TEST_EXPECT_MSG_LT(known.seconds, broken.measuredSeconds, "who did not know");
        std::vector<Link> left = whole.GetLinks();
        left.erase(left.begin());
        NS_TEST_EXPECT_MSG_LT(
            known.seconds,
            ComputeIdealTime(whole.WithLinks("left", left), collective, 1 << 20).seconds,
            "the link was there at first");
        NS_TEST_EXPECT_MSG_EQ(unbroken.knownBottleneck, "", "nothing to know");
        options.faults.fail = {"0-4@100us", "0-6@100us"};
        const auto lost = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(lost.knownIdealSeconds, 0, "nobody can reach server 0");
        NS_TEST_EXPECT_MSG_EQ(Contains(lost.knownBottleneck, "server 0, "),
                              true,
                              lost.knownBottleneck);
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
        for (const std::string& transport : GetTransportNames())
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
class LossTestCase : public DataCentreTestCase
{
  public:
    LossTestCase()
        : DataCentreTestCase("lossy links")
    {
    }

  private:
    void DoRun() override
    {
        const Topology clean = ParseTopology("bcube:2,1");
        std::vector<Link> links = clean.GetLinks();
        for (Link& link : links)
        {
            link.errorRate = 0.02;
        }
        const Topology lossy = clean.WithLinks("lossy", links);
        for (const std::string& transport : GetTransportNames())
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

/// Long delays, losses and many hops are no faults: nobody gives up too early.
class PatienceTestCase : public DataCentreTestCase
{
  public:
    PatienceTestCase()
        : DataCentreTestCase("long and lossy links")
    {
    }

  private:
    void Run(const std::string& spec, const std::string& delay, double loss)
    {
        const Topology clean = ParseTopology(spec);
        std::vector<Link> links = clean.GetLinks();
        for (Link& link : links)
        {
            link.errorRate = loss;
            link.delayNs = ParseTime(delay);
        }
        const Topology lossy = clean.WithLinks(spec, links);
        for (const std::string& transport : GetTransportNames())
        {
            for (const std::string& sync : SYNCS)
            {
                for (const uint64_t bytes : {1000, 100000})
                {
                    const auto result = RunExperiment(MakeExperiment(lossy, "greedy", bytes, 1),
                                                      MakeOptions(transport, sync));
                    NS_TEST_EXPECT_MSG_EQ(result.failure,
                                          "",
                                          spec << " " << delay << " " << loss << " " << transport
                                               << " " << sync << " " << bytes);
                }
            }
        }
    }

    void DoRun() override
    {
        Run("bcube:2,1", "60ms", 0);
        Run("bcube:2,1", "3ms", 0.05);
        Run("jellyfish:8,3,1,3", "100ms", 0);
        TestFullWindow();
        TestSmallTransfers();
    }

    /// Who has sent one small packet need not wait as long as for a full one, let alone a window.
    void TestSmallTransfers()
    {
        const Topology clean = WithUnitRate(ParseTopology("bcube:2,1"), 100'000'000);
        std::vector<Link> links = clean.GetLinks();
        for (Link& link : links)
        {
            link.errorRate = 0.1;
        }
        const auto result =
            RunExperiment(MakeExperiment(clean.WithLinks("lossy", links), "greedy", 100, 1),
                          MakeOptions("raw", "barrier"));
        const double frameSeconds = 8.0 * 9000 / 100e6;
        NS_TEST_EXPECT_MSG_GT(result.nResent, 0, "something is lost");
        NS_TEST_EXPECT_MSG_LT(result.measuredSeconds, 4 * frameSeconds, "but soon sent again");
    }

    /// More than TCP's sequence numbers allow would have to be under way to fill these paths.
    void TestFullWindow()
    {
        const Topology topology = WithUnitRate(ParseTopology("bcube:2,0"), 100'000'000'000);
        for (const char* delay : {"40ms", "60ms", "80ms", "300ms"})
        {
            const auto result = RunExperiment(
                MakeExperiment(WithDelay(topology, ParseTime(delay)), "ring", 1000, 1),
                MakeOptions("tcp", "barrier"));
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", delay << " at 100 Gb/s");
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
        const Topology star = MakeTestStar(3);
        std::vector<Link> links = star.GetLinks();
        links[1].errorRate = 1;
        const Topology dead = star.WithLinks("dead", links);
        for (const std::string& transport : GetTransportNames())
        {
            for (const std::string& sync : SYNCS)
            {
                RunOptions options = MakeOptions(transport, sync);
                options.watchdog = "50ms";
                const auto result =
                    RunExperiment(MakeExperiment(dead, "greedy", 100000, 1), options);
                // Over tcp connections are opened first, for such small chunks.
                const std::vector<std::string> parts =
                    transport == "tcp" ? std::vector<std::string>{"nothing has arrived for",
                                                                  "no connection",
                                                                  "1-3"}
                                       : std::vector<std::string>{"nothing has arrived for",
                                                                  "chunk ",
                                                                  "server 1",
                                                                  "1-3",
                                                                  " arrived"};
                for (const std::string& part : parts)
                {
                    NS_TEST_EXPECT_MSG_EQ(Contains(result.failure, part),
                                          true,
                                          transport << " " << sync << ": " << part << " in \""
                                                    << result.failure << "\"");
                }
            }
        }
    }
};

/// Other traffic is as much as was asked for, takes time from an AllReduce, and spoils no sum.
class BackgroundTestCase : public DataCentreTestCase
{
  public:
    BackgroundTestCase()
        : DataCentreTestCase("background traffic")
    {
    }

  private:
    void CheckOfferedLoad(double load)
    {
        const Time duration = MilliSeconds(20);
        TopologyHelper topology(ParseTopology("bcube:3,1"));
        topology.SetDeviceAttribute("Mtu", UintegerValue(9000));
        const auto network = topology.Install();
        BackgroundTrafficHelper background;
        background.SetAttribute("Load", DoubleValue(load));
        const ApplicationContainer sources = background.Install(network);
        BackgroundTrafficHelper::AssignStreams(sources, 0);
        Simulator::Stop(duration);
        Simulator::Run();
        double sent = 0;
        double possible = 0;
        for (NodeId server = 0; server < sources.GetN(); ++server)
        {
            sent += 8.0 * DynamicCast<BackgroundTraffic>(sources.Get(server))->GetBytesSent();
            for (const Topology::Port& port : network->GetTopology().GetPorts(server))
            {
                possible += network->GetRate(port.out) * duration.GetSeconds();
            }
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(sent / possible, load, 0.05 * load, "offered load");
        Simulator::Destroy();
    }

    /// If all took the first of equal paths, links between switches would have to carry 1.6 times
    /// what they can.
    void CheckSpread()
    {
        RunOptions options = MakeOptions("raw", "barrier");
        options.faults.background = "0.5";
        const Experiment experiment = MakeExperiment(ParseTopology("fattree:4"), "ring", 1 << 20);
        const auto result = RunExperiment(experiment, options);
        double most = 0;
        for (const LinkUse& use : result.links)
        {
            const bool isInside =
                !experiment.topology.IsServer(experiment.topology.GetSource(use.link));
            most = std::max(most, isInside ? use.utilization : 0);
        }
        NS_TEST_EXPECT_MSG_LT(most, 0.95, "no link is full");
    }

    /// On a chain of servers those in the middle pass on what the others send each other: of all of
    /// it their links would have to carry twice what they can.
    void CheckThroughTraffic()
    {
        TopologyHelper topology(MakeTestLine(8));
        const auto network = topology.Install();
        const auto loads = BackgroundTraffic::ComputeLinkLoads(*network);
        NS_TEST_EXPECT_MSG_EQ_TOL(*std::max_element(loads->begin(), loads->end()),
                                  (1 + 3 * 2) * 4 / 7.0,
                                  1e-9,
                                  "of the link in the middle");
        Simulator::Destroy();
        const Experiment experiment = MakeExperiment(MakeTestLine(8), "ring", 1 << 20, 1);
        RunOptions options = MakeOptions("raw", "barrier");
        options.faults.background = "0.5";
        const auto result = RunExperiment(experiment, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "something gets through");
        NS_TEST_EXPECT_MSG_LT(result.measuredSeconds,
                              20 * result.predictedSeconds,
                              "as fast as the rest of the rate allows");
    }

    /// Traffic of fast ports would fill a slow link twenty times over, and nothing would get
    /// through.
    void CheckSlowLink()
    {
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:3,1"), "ring", 100'000);
        RunOptions options = MakeOptions("raw", "barrier");
        options.queue = "5";
        options.faults.background = "0.3";
        options.faults.slow = {"0-9:50"};
        Experiment slow = experiment;
        slow.topology = options.MakeActual(experiment.topology);
        const auto result = RunExperiment(slow, options);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "something gets through");
        NS_TEST_EXPECT_MSG_LT(result.measuredSeconds,
                              5 * result.predictedSeconds,
                              "as much as over other links");
    }

    void DoRun() override
    {
        for (const double load : {0.05, 0.2, 0.4})
        {
            CheckOfferedLoad(load);
        }
        CheckSlowLink();
        CheckSpread();
        CheckThroughTraffic();
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:3,1"), "greedy", 4 << 20);
        for (const std::string& transport : GetTransportNames())
        {
            RunOptions options = MakeOptions(transport, "barrier");
            double before = 0;
            for (const std::string load : {"0", "0.1", "0.3"})
            {
                options.faults.background = load;
                const auto result = RunExperiment(experiment, options);
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", transport << " with load " << load);
                NS_TEST_EXPECT_MSG_GT(result.measuredSeconds,
                                      before,
                                      transport << " is slower with load " << load);
                before = 1.05 * result.measuredSeconds;
            }
        }
    }
};

/// Packets that found a queue full are counted, all of them and no others.
class DroppedTestCase : public DataCentreTestCase
{
  public:
    DroppedTestCase()
        : DataCentreTestCase("dropped packets")
    {
    }

  private:
    /// Where packets are, by nobody's word but that of those who pass them on.
    struct Passage
    {
        uint64_t nOffered{0};              //!< given to IP, or to a device if there is no IP
        uint64_t nSent{0};                 //!< that went onto a wire
        std::map<uint32_t, uint32_t> left; //!< by device: in its queue
    };

    static void CountOfferedToDevice(Passage* passage, Ptr<const Packet>)
    {
        ++passage->nOffered;
    }

    static void CountOfferedToIp(Passage* passage, Ptr<const Packet>, Ptr<Ipv4>, uint32_t)
    {
        ++passage->nOffered;
    }

    static void CountSent(Passage* passage, Ptr<const Packet>)
    {
        ++passage->nSent;
    }

    static void NoteLeft(uint32_t* left, uint32_t, uint32_t now)
    {
        *left = now;
    }

    static void Watch(const AllReduceNetwork& network, bool hasIp, Passage& passage)
    {
        const Topology& topology = network.GetTopology();
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            const auto device = DynamicCast<PointToPointNetDevice>(network.GetDevice(link));
            device->TraceConnectWithoutContext("PhyTxBegin",
                                               MakeBoundCallback(&CountSent, &passage));
            device->GetQueue()->TraceConnectWithoutContext(
                "PacketsInQueue",
                MakeBoundCallback(&NoteLeft, &passage.left[link]));
            if (!hasIp)
            {
                device->TraceConnectWithoutContext(
                    "MacTx",
                    MakeBoundCallback(&CountOfferedToDevice, &passage));
            }
        }
        for (NodeId node = 0; node < topology.GetNNodes() && hasIp; ++node)
        {
            network.GetNode(node)->GetObject<Ipv4L3Protocol>()->TraceConnectWithoutContext(
                "Tx",
                MakeBoundCallback(&CountOfferedToIp, &passage));
        }
    }

    void DoRun() override
    {
        const Topology clean = WithUnitRate(ParseTopology("jellyfish:4,2,2,1"), 500'000'000);
        std::vector<Link> links = clean.GetLinks();
        for (Link& link : links)
        {
            link.errorRate = 0.002; // what is lost on a wire found no queue full
        }
        const Experiment experiment =
            MakeExperiment(clean.WithLinks("lossy", links), "ps", 1 << 18);
        for (const std::string& transport : GetTransportNames())
        {
            Passage passage;
            RunOptions options = MakeOptions(transport, "dependency");
            options.queue = "5";
            options.fullStack = true; // otherwise IP is not told of all packets
            const bool usesIp = CreateTransport(transport)->UsesIp();
            // Its datagrams go past whoever watches devices only.
            options.faults.background = usesIp ? "0.3" : "0";
            options.prepare = [&](TopologyHelper& helper) {
                Watch(*helper.GetNetwork(), usesIp, passage);
                return nullptr;
            };
            const auto result = RunExperiment(experiment, options);
            uint64_t nLeft = 0;
            for (const auto& [link, nPackets] : passage.left)
            {
                nLeft += nPackets;
            }
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", transport);
            NS_TEST_EXPECT_MSG_GT(result.nDropped, 0, transport << ": something is dropped");
            NS_TEST_EXPECT_MSG_EQ(result.nDropped,
                                  passage.nOffered - passage.nSent - nLeft,
                                  transport << ": all that did not get onto a wire");
        }
    }
};

/// @brief Links that are slower than announced.
class AnnouncedTestCase : public TestCase
{
  public:
    AnnouncedTestCase()
        : TestCase("chunks, plan and prediction do not know of slow links, the ideal does")
    {
    }

  private:
    void DoRun() override
    {
        PlanOptions plan;
        RunOptions options = MakeOptions("raw", "barrier");
        const auto makeExperiment = [&] {
            return PlanExperiment(ParseTopology("bcube:4,1"), "forest", 4 << 20, plan, options);
        };
        const Experiment known = makeExperiment();
        options.faults.slow = {"0-16:8"};
        const Experiment slow = makeExperiment();
        NS_TEST_ASSERT_MSG_EQ(slow.plan.GetCollective().GetNChunks(),
                              known.plan.GetCollective().GetNChunks(),
                              "chunks");
        NS_TEST_EXPECT_MSG_EQ(slow.plan.GetHash(), known.plan.GetHash(), "plan");
        const auto onSlow = RunExperiment(slow, options);
        options.faults.slow.clear();
        const auto onKnown = RunExperiment(known, options);
        NS_TEST_EXPECT_MSG_EQ(onSlow.predictedSeconds, onKnown.predictedSeconds, "prediction");
        NS_TEST_EXPECT_MSG_GT(onSlow.idealSeconds, onKnown.idealSeconds, "ideal");
        NS_TEST_EXPECT_MSG_GT(onSlow.measuredSeconds, 4 * onKnown.measuredSeconds, "measured");
    }
};

/// A slow link makes the rounds that use it longer, and the prediction knows.
class SlowLinkTestCase : public DataCentreTestCase
{
  public:
    SlowLinkTestCase()
        : DataCentreTestCase("a slow link")
    {
    }

  private:
    void DoRun() override
    {
        const Topology star = MakeTestStar(4);
        for (const std::string& transport : GetTransportNames())
        {
            RunOptions options = MakeOptions(transport, "barrier");
            const auto fast =
                RunExperiment(MakeExperiment(options.MakeActual(star), "ring", 4 << 20, 1),
                              options);
            options.faults.slow = {"2-4:4"};
            const auto slow =
                RunExperiment(MakeExperiment(options.MakeActual(star), "ring", 4 << 20, 1),
                              options);
            NS_TEST_EXPECT_MSG_EQ(fast.failure + slow.failure, "", transport);
            NS_TEST_EXPECT_MSG_EQ_TOL(slow.measuredSeconds / fast.measuredSeconds,
                                      4,
                                      0.2,
                                      transport << " waits for the slow link");
            NS_TEST_EXPECT_MSG_EQ_TOL(slow.predictedSeconds / slow.measuredSeconds,
                                      1,
                                      0.05,
                                      transport << " is predicted");
        }
    }
};

/// AllReduces in a row: each takes as long as the first, and the time to compute lies in between.
class IterationsTestCase : public TestCase
{
  public:
    IterationsTestCase()
        : TestCase("several AllReduces in a row")
    {
    }

  private:
    void NoteStarted(uint32_t)
    {
        ++m_nStarted;
    }

    void NoteEnded(uint32_t, Time duration)
    {
        ++m_nEnded;
        m_rounds += duration;
    }

    void NoteServerDone(Time)
    {
        ++m_nServersDone;
    }

    void NoteFinished()
    {
        m_end = Simulator::Now();
    }

    void DoRun() override
    {
        constexpr uint32_t ITERATIONS = 4;
        const Time computeTime = MilliSeconds(2);
        const Time start = MilliSeconds(3);
        const auto network = TopologyHelper(ParseTopology("bcube:3,1")).Install();
        AllReduceHelper helper(network);
        helper.SetAttribute("Bytes", UintegerValue(123456));
        helper.SetAttribute("Iterations", UintegerValue(ITERATIONS));
        helper.SetAttribute("ComputeTime", TimeValue(computeTime));
        helper.SetAttribute("VerifyData", BooleanValue(true));
        const auto session = helper.Install("greedy", "raw");
        Watch(session, helper.GetApplications());
        helper.GetApplications().Start(start);
        Simulator::Run();

        NS_TEST_ASSERT_MSG_EQ(session->GetFailure(), "", "no failure");
        NS_TEST_ASSERT_MSG_EQ(session->GetDurations().size(), ITERATIONS, "all AllReduces");
        Time sum;
        for (const Time& duration : session->GetDurations())
        {
            NS_TEST_EXPECT_MSG_EQ(duration, session->GetDurations().front(), "the same again");
            sum += duration;
        }
        NS_TEST_EXPECT_MSG_EQ(m_rounds, sum, "in barrier mode rounds follow each other");
        NS_TEST_EXPECT_MSG_EQ(m_end,
                              start + sum + computeTime * (ITERATIONS - 1),
                              "time to compute between AllReduces, and only there");
        NS_TEST_EXPECT_MSG_EQ(m_nStarted,
                              ITERATIONS * session->GetRoundDurations().size(),
                              "every round begins");
        NS_TEST_EXPECT_MSG_EQ(m_nEnded, m_nStarted, "every round ends");
        NS_TEST_EXPECT_MSG_EQ(m_nServersDone,
                              ITERATIONS * network->GetTopology().GetNServers(),
                              "every server is done with each");
        Simulator::Destroy();
    }

    void Watch(Ptr<AllReduceSession> session, const ApplicationContainer& applications)
    {
        session->TraceConnectWithoutContext("RoundStarted",
                                            MakeCallback(&IterationsTestCase::NoteStarted, this));
        session->TraceConnectWithoutContext("RoundEnded",
                                            MakeCallback(&IterationsTestCase::NoteEnded, this));
        session->TraceConnectWithoutContext("Finished",
                                            MakeCallback(&IterationsTestCase::NoteFinished, this));
        for (uint32_t i = 0; i < applications.GetN(); ++i)
        {
            applications.Get(i)->TraceConnectWithoutContext(
                "Done",
                MakeCallback(&IterationsTestCase::NoteServerDone, this));
        }
    }

    uint32_t m_nStarted{0};     //!< rounds that began
    uint32_t m_nEnded{0};       //!< rounds that ended
    uint32_t m_nServersDone{0}; //!< how often a server was done
    Time m_rounds;              //!< how long all rounds took
    Time m_end;                 //!< when all was over
};

/// A server that stops too early is a failure that names it.
class StoppedTestCase : public TestCase
{
  public:
    StoppedTestCase()
        : TestCase("a server that stops too early")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            AllReduceHelper helper(TopologyHelper(ParseTopology("bcube:2,1")).Install());
            const auto session = helper.Install("ring", transport);
            helper.GetApplications().Get(2)->SetStopTime(MicroSeconds(100));
            Simulator::Run();
            NS_TEST_EXPECT_MSG_EQ(session->GetFailure(),
                                  "server 2 was stopped before the end",
                                  transport);
            NS_TEST_EXPECT_MSG_EQ(session->IsFinished(), false, transport);
            Simulator::Destroy();
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
        TopologyHelper topology(ParseTopology("bcube:2,1"));
        topology.SetDeviceAttribute("Mtu", UintegerValue(9000));
        const auto network = topology.Install();
        AllReduceHelper helper(network);
        helper.SetAttribute("Bytes", UintegerValue(50001));
        helper.SetAttribute("Iterations", UintegerValue(ITERATIONS));
        helper.SetAttribute("ComputeTime", TimeValue(MilliSeconds(1)));
        helper.SetAttribute("VerifyData", BooleanValue(true));
        helper.SetChunksPerServer(2);
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
        const uint32_t nServers = network->GetTopology().GetNServers();
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
    void Refuse(const std::string& part, const std::function<void(RunOptions&)>& change)
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
        NS_TEST_EXPECT_MSG_EQ(FormatSize(1'200'000'000), "1.2GB", "in the unit that it was given");
        NS_TEST_EXPECT_MSG_EQ(FormatSize(120'000'000), "120MB", "in the unit that it was given");
        for (const uint64_t bytes : {1, 999, 1024, 1'001'000'000, 1'234'567, 4'194'304})
        {
            NS_TEST_EXPECT_MSG_EQ(ParseSize(FormatSize(bytes), ""), bytes, "there and back");
        }
        Refuse("transport \"x\"", [](RunOptions& options) { options.transport = "x"; });
        Refuse("--sync \"x\"", [](RunOptions& options) { options.sync = "x"; });
        Refuse("--frame \"100\"", [](RunOptions& options) { options.frame = 100; });
        Refuse("--frame \"70000\"", [](RunOptions& options) { options.frame = 70000; });
        Refuse("--queue \"0\"", [](RunOptions& options) { options.queue = "0"; });
        Refuse("--iterations \"0\"", [](RunOptions& options) { options.iterations = 0; });
        Refuse("--compute-time \"x\"", [](RunOptions& options) { options.computeTime = "x"; });
        Refuse("--watchdog \"x\"", [](RunOptions& options) { options.watchdog = "x"; });
        for (const char* name : {"raw", "ns3::allreduce::RawTransport"})
        {
            Refuse("--flow-monitor", [=](RunOptions& options) {
                options.transport = name;
                options.flowMonitor = "flows.xml";
            });
        }
        const std::string abort = GetAbortMessage([] {
            AllReduceHelper helper(TopologyHelper(MakeTestStar(2)).Install());
            helper.SetAttribute("Bytes", UintegerValue(0));
        });
        NS_TEST_EXPECT_MSG_EQ(Contains(abort, "Bytes"), true, "0 bytes: " << abort);
    }
};

/// What the programs show of a row is in it.
class ColumnsTestCase : public DataCentreTestCase
{
  public:
    ColumnsTestCase()
        : DataCentreTestCase("rows have a member for each column")
    {
    }

  private:
    void DoRun() override
    {
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:5,0"), "ring", 1000);
        const RunOptions options = MakeOptions("raw", "barrier");
        const auto row = MakeRow(experiment, options, RunExperiment(experiment, options));
        for (const auto& columns : {GetRunColumns(), GetCompareColumns()})
        {
            for (const ResultWriter::Column& column : columns)
            {
                NS_TEST_EXPECT_MSG_EQ(row.contains(column.key), true, column.key);
            }
        }
        const double bandwidth = 1000 / row["measured_s"].get<double>() * 1e-9;
        NS_TEST_EXPECT_MSG_EQ_TOL(row["algbw_gbs"].get<double>(), bandwidth, 1e-12, "B / t");
        NS_TEST_EXPECT_MSG_EQ_TOL(row["goodput_gbps"].get<double>(), 8 * bandwidth, 1e-12, "bits");
        NS_TEST_EXPECT_MSG_EQ_TOL(row["busbw_gbs"].get<double>(),
                                  bandwidth * 2 * 4 / 5,
                                  1e-12,
                                  "times 2 (N - 1) / N");
    }
};

/// Attributes of a session can be set until it begins, and applications come in any order.
class SetupTestCase : public TestCase
{
  public:
    SetupTestCase()
        : TestCase("attributes set after Install; applications in another order")
    {
    }

  private:
    /// What is seen of a run.
    struct Seen
    {
        int64_t ns;         //!< when it was over
        uint64_t nMessages; //!< of control

        bool operator==(const Seen& other) const
        {
            return ns == other.ns && nMessages == other.nMessages;
        }
    };

    Seen RunLate(AllReduceSession::Sync sync, bool isLate)
    {
        TopologyHelper topology(ParseTopology("bcube:2,1"));
        const auto network = topology.Install();
        AllReduceHelper helper(network);
        helper.SetChunksPerServer(2);
        helper.SetAttribute("Sync", EnumValue(sync));
        if (!isLate)
        {
            helper.SetAttribute("Control", EnumValue(AllReduceSession::PACKETS));
        }
        const auto session = helper.Install("greedy", "raw");
        if (isLate)
        {
            session->SetAttribute("Control", EnumValue(AllReduceSession::PACKETS));
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_EQ(session->IsFinished(), true, session->GetFailure());
        const Seen seen{Simulator::Now().GetNanoSeconds(), session->GetNMessages()};
        Simulator::Destroy();
        return seen;
    }

    void CheckOrder()
    {
        TopologyHelper topology(ParseTopology("bcube:2,1"));
        const auto network = topology.Install();
        const auto session = CreateObject<AllReduceSession>();
        session->Setup(network, CreateScheduler("ring"), CreateTransport("raw"), MakeRoots(4, 1));
        for (const NodeId server : {2, 0, 3, 1})
        {
            const auto application = CreateObject<AllReduceApplication>();
            application->SetSession(session, server);
            network->GetNode(server)->AddApplication(application);
            application->TraceConnectWithoutContext(
                "FlowStarted",
                MakeBoundCallback(&SetupTestCase::NoteStarted, this, server));
        }
        Simulator::Run();
        NS_TEST_EXPECT_MSG_GT(m_nFlows, 0, "flows were seen");
        NS_TEST_EXPECT_MSG_EQ(m_nAstray, 0, "flows are told where they begin");
        Simulator::Destroy();
    }

    static void NoteStarted(SetupTestCase* self, NodeId server, const AllReduceFlow& flow)
    {
        ++self->m_nFlows;
        self->m_nAstray += flow.source != server;
    }

    void DoRun() override
    {
        for (const auto sync : {AllReduceSession::BARRIER, AllReduceSession::DEPENDENCY})
        {
            const Seen early = RunLate(sync, false);
            NS_TEST_EXPECT_MSG_GT(early.nMessages, 0, "tokens");
            NS_TEST_EXPECT_MSG_EQ((early == RunLate(sync, true)), true, "the same run");
        }
        CheckOrder();
    }

    uint32_t m_nFlows{0};  //!< that have begun
    uint32_t m_nAstray{0}; //!< of which another server was told
};

class SessionTestSuite : public TestSuite
{
  public:
    SessionTestSuite()
        : TestSuite("allreduce-session", TestSuite::Type::UNIT)
    {
        AddTestCase(new BadRunOptionsTestCase);
        AddTestCase(new ColumnsTestCase);
        AddTestCase(new ExactSumsTestCase("bcube:2,0", "greedy"));
        AddTestCase(new ExactSumsTestCase("bcube:3,0", "ring"));
        AddTestCase(new ExactSumsTestCase("bcube:5,0", "halving-doubling"));
        AddTestCase(new ExactSumsTestCase("bcube:7,0", "double-tree"));
        AddTestCase(new ExactSumsTestCase("bcube:2,1", "ps"));
        AddTestCase(new ExactSumsTestCase("bcube:3,1", "greedy"));
        AddTestCase(new ExactSumsTestCase("dcell:2,1", "ring-aware"));
        AddTestCase(new ExactSumsTestCase("bcube:3,1", "multi-ring"));
        AddTestCase(new ExactSumsTestCase("bcube:3,1", "hierarchical"));
        AddTestCase(new ExactSumsTestCase("torus:3x3", "multi-ring"));
        AddTestCase(new ExactSumsTestCase("dcell:3,1", "ps-merge"));
        AddTestCase(new ExactSumsTestCase("jellyfish:5,2,2,1", "double-tree"));
        AddTestCase(new ExactSumsTestCase("jellyfish:4,3,1,1", "halving-doubling"));
        AddTestCase(new PredictionTestCase, EXTENSIVE);
        AddTestCase(new EventsTestCase, EXTENSIVE);
        AddTestCase(new BackgroundTestCase, EXTENSIVE);
        AddTestCase(new DroppedTestCase);
        AddTestCase(new AnnouncedTestCase, EXTENSIVE);
        AddTestCase(new SlowLinkTestCase);
        AddTestCase(new IterationsTestCase);
        AddTestCase(new StoppedTestCase);
        AddTestCase(new CloseToIdealTestCase, EXTENSIVE);
        AddTestCase(new IdealAfterFailureTestCase);
        AddTestCase(new DeterminismTestCase);
        AddTestCase(new LossTestCase);
        AddTestCase(new PatienceTestCase);
        AddTestCase(new WatchdogTestCase);
        AddTestCase(new SeveralSessionsTestCase);
        AddTestCase(new SetupTestCase);
    }
};

SessionTestSuite g_sessionTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
