/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-transport.h"
#include "ns3/global-value.h"
#include "ns3/nstime.h"
#include "ns3/packet.h"
#include "ns3/pointer.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulation-defaults.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// A run whose simulated time is known.
struct Recording
{
    const char* transport; //!< the transport
    const char* topology;  //!< the network
    const char* feature;   //!< one of FEATURES
    int64_t nanoseconds;   //!< how long it took
};

/// Made with ns-3's own devices, stacks and queue of events. A row that is not right any more is
/// printed as it should be.
const std::vector<Recording> RECORDINGS = {
    {"raw", "bcube:4,1", "barrier", 583147},
    {"raw", "bcube:4,1", "dependency", 399049},
    {"raw", "dcell:4,1", "barrier", 553089},
    {"raw", "dcell:4,1", "dependency", 332183},
    {"raw", "fattree:4", "barrier", 6153436},
    {"raw", "fattree:4", "dependency", 1823682},
    {"raw", "jellyfish:10,3,2", "barrier", 3699713},
    {"raw", "jellyfish:10,3,2", "dependency", 1136431},
    {"raw", "torus:4x4", "barrier", 257318},
    {"raw", "torus:4x4", "dependency", 246214},
    {"raw", "bcube:4,1", "messages", 788289},
    {"raw", "bcube:4,1", "grants", 605194},
    {"raw", "bcube:4,1", "loss", 5079689},
    {"raw", "bcube:4,1", "slow", 1305696},
    {"raw", "bcube:4,1", "background", 1707418},
    {"raw", "bcube:4,1", "short queues", 9100476},
    {"raw", "bcube:4,1", "small frames", 445315},
    {"raw", "bcube:4,1", "no delay", 535147},
    {"raw", "bcube:4,1", "two iterations", 583147},
    {"raw", "fattree:4", "loss", 27602798},
    {"raw", "fattree:4", "grants", 2899552},
    {"udp", "bcube:4,1", "barrier", 584358},
    {"udp", "bcube:4,1", "dependency", 400234},
    {"udp", "dcell:4,1", "barrier", 554064},
    {"udp", "dcell:4,1", "dependency", 333132},
    {"udp", "fattree:4", "barrier", 6153628},
    {"udp", "fattree:4", "dependency", 1823940},
    {"udp", "jellyfish:10,3,2", "barrier", 3700668},
    {"udp", "jellyfish:10,3,2", "dependency", 1137749},
    {"udp", "torus:4x4", "barrier", 258326},
    {"udp", "torus:4x4", "dependency", 247158},
    {"udp", "bcube:4,1", "messages", 793028},
    {"udp", "bcube:4,1", "grants", 606766},
    {"udp", "bcube:4,1", "loss", 5081040},
    {"udp", "bcube:4,1", "slow", 1308456},
    {"udp", "bcube:4,1", "background", 1707494},
    {"udp", "bcube:4,1", "short queues", 10791673},
    {"udp", "bcube:4,1", "small frames", 449910},
    {"udp", "bcube:4,1", "no delay", 536358},
    {"udp", "bcube:4,1", "two iterations", 584358},
    {"udp", "fattree:4", "loss", 27603104},
    {"udp", "fattree:4", "grants", 2899878},
    {"tcp", "bcube:4,1", "barrier", 583584},
    {"tcp", "bcube:4,1", "dependency", 399735},
    {"tcp", "dcell:4,1", "barrier", 553046},
    {"tcp", "dcell:4,1", "dependency", 332447},
    {"tcp", "fattree:4", "barrier", 6153059},
    {"tcp", "fattree:4", "dependency", 1820746},
    {"tcp", "jellyfish:10,3,2", "barrier", 3699600},
    {"tcp", "jellyfish:10,3,2", "dependency", 1137124},
    {"tcp", "torus:4x4", "barrier", 257951},
    {"tcp", "torus:4x4", "dependency", 246874},
    {"tcp", "bcube:4,1", "messages", 1171855},
    {"tcp", "bcube:4,1", "grants", 595282},
    {"tcp", "bcube:4,1", "loss", 161456491},
    {"tcp", "bcube:4,1", "slow", 1308750},
    {"tcp", "bcube:4,1", "background", 1705000},
    {"tcp", "bcube:4,1", "small frames", 449310},
    {"tcp", "bcube:4,1", "no delay", 536643},
    {"tcp", "bcube:4,1", "two iterations", 583551},
    {"tcp", "fattree:4", "loss", 4256319600},
    {"tcp", "fattree:4", "grants", 2848699},
};

/// What a run can have besides packets.
const std::map<std::string, std::function<void(RunOptions&)>> FEATURES = {
    {"barrier", [](RunOptions&) {}},
    {"dependency", [](RunOptions& options) { options.sync = "dependency"; }},
    {"messages", [](RunOptions& options) { options.control = "packets"; }},
    {"grants",
     [](RunOptions& options) {
         options.sync = "dependency";
         options.control = "packets";
     }},
    {"loss", [](RunOptions&) {}},
    {"slow", [](RunOptions& options) { options.faults.slow = {"0-16:3"}; }},
    {"background", [](RunOptions& options) { options.faults.background = "0.3"; }},
    {"short queues",
     [](RunOptions& options) {
         options.sync = "dependency";
         options.queue = "2";
         options.faults.background = "0.4";
     }},
    {"small frames", [](RunOptions& options) { options.frame = 1500; }},
    {"no delay", [](RunOptions& options) { options.delay = "0ns"; }},
    {"two iterations",
     [](RunOptions& options) {
         options.iterations = 2;
         options.computeTime = "10us";
         options.verifyData = true;
     }},
};

/// @return the network of a recording
Topology
MakeNetwork(const std::string& spec, const std::string& feature)
{
    const Topology topology = ParseTopology(spec);
    std::vector<Link> links = topology.GetLinks();
    for (Link& link : links)
    {
        link.errorRate = feature == "loss" ? 0.01 : 0;
    }
    return topology.WithLinks(spec, links);
}

/// Append rounds for workloads that need no order, as many in each as the links can carry.
void
AppendRounds(const Topology& topology, WorkloadList left, std::vector<WorkloadList>& rounds)
{
    while (!left.IsEmpty())
    {
        std::vector<uint32_t> room = topology.GetCapacities();
        WorkloadList round;
        WorkloadList later;
        for (std::size_t i = 0; i < left.GetSize(); ++i)
        {
            const Workload workload = left.Get(i);
            const auto links = FindLinks(topology, workload.path);
            const bool fits =
                std::all_of(links.begin(), links.end(), [&](auto link) { return room[link] > 0; });
            (fits ? round : later).Add(workload);
            for (const DirectedLinkId link : links)
            {
                room[link] -= fits;
            }
        }
        rounds.push_back(std::move(round));
        left = std::move(later);
    }
}

/// @return for each server the nodes from it to the next server on the shortest way to a root; none
/// for the root itself
std::vector<Path>
FindWaysTo(const Topology& topology, NodeId root)
{
    std::vector<Path> ways(topology.GetNServers());
    for (NodeId server = 0; server < ways.size(); ++server)
    {
        const Path path = FindShortestPath(topology, server, root);
        if (server != root)
        {
            const auto next = std::find_if(path.begin() + 1, path.end(), [&](NodeId node) {
                return topology.IsServer(node);
            });
            ways[server] = Path(path.begin(), next + 1);
        }
    }
    return ways;
}

/// @return an AllReduce along the shortest ways to the root of each chunk and back, as no planner
/// of the module makes it: planners may change
AllReduceSchedule
MakeShortestWays(const Topology& topology)
{
    const uint32_t n = topology.GetNServers();
    AllReduceSchedule schedule;
    std::map<uint32_t, WorkloadList> reduces;
    std::map<uint32_t, WorkloadList> broadcasts;
    for (ChunkId chunk = 0; chunk < n; ++chunk)
    {
        schedule.collective.roots.push_back(chunk);
        const std::vector<Path> ways = FindWaysTo(topology, chunk);
        for (const Path& way : ways)
        {
            uint32_t depth = 0;
            for (const Path* rest = &way; !rest->empty(); rest = &ways[rest->back()])
            {
                ++depth;
            }
            if (depth > 0)
            {
                reduces[n - depth].Add(chunk, WorkloadKind::REDUCE, way);
                broadcasts[depth].Add(chunk,
                                      WorkloadKind::BROADCAST,
                                      Path(way.rbegin(), way.rend()));
            }
        }
    }
    for (const auto* phase : {&reduces, &broadcasts})
    {
        for (const auto& [level, workloads] : *phase)
        {
            AppendRounds(topology, workloads, schedule.rounds);
        }
    }
    return schedule;
}

/// @return a run of that
Experiment
MakeFixedExperiment(const Topology& topology)
{
    constexpr uint64_t BYTES = 300'000;
    const VerifiedPlan plan(topology, MakeShortestWays(topology), "shortest ways");
    return {topology, "shortest ways", CreateScheduler("greedy"), plan, BYTES};
}

/// @return what can be measured, in digits that tell any two numbers apart
std::string
Describe(const ExperimentResult& result)
{
    std::ostringstream text;
    text.precision(17);
    text << result.failure << " " << result.endSeconds << " " << result.measuredSeconds
         << " resent " << result.nResent << " dropped " << result.nDropped << " aborted "
         << result.nAborted << " messages " << result.nMessages << " rounds";
    for (const double seconds : result.roundSeconds)
    {
        text << " " << seconds;
    }
    for (const LinkUse& use : result.links)
    {
        text << "\n" << use.link << " " << use.bytes << " " << use.queuePeak << " " << use.nDropped;
    }
    return text.str();
}

/// @return what comes out with ns-3's own devices, stacks and queue of events
ExperimentResult
RunFullStack(const Experiment& experiment, RunOptions options)
{
    options.fullStack = true;
    GlobalValue::Bind("SchedulerType", StringValue("ns3::MapScheduler"));
    const ExperimentResult result = RunExperiment(experiment, options);
    SetFastEventQueue();
    return result;
}

/// Simulated times do not change.
class RecordedTimesTestCase : public DataCentreTestCase
{
  public:
    explicit RecordedTimesTestCase(const std::string& transport)
        : DataCentreTestCase("recorded times: " + transport),
          m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        for (const Recording& recording : RECORDINGS)
        {
            if (recording.transport == m_transport)
            {
                Check(recording);
            }
        }
    }

    void Check(const Recording& recording)
    {
        RunOptions options;
        options.transport = recording.transport;
        FEATURES.at(recording.feature)(options);
        const Topology network = MakeNetwork(recording.topology, recording.feature);
        const Experiment experiment = MakeFixedExperiment(options.MakeActual(network));
        for (const bool isFull : {false, true})
        {
            const auto result =
                isFull ? RunFullStack(experiment, options) : RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", recording.feature);
            const int64_t nanoseconds = Seconds(result.measuredSeconds).GetNanoSeconds();
            NS_TEST_EXPECT_MSG_EQ(nanoseconds,
                                  recording.nanoseconds,
                                  (isFull ? "full stack" : "light")
                                      << ": {\"" << recording.transport << "\", \""
                                      << recording.topology << "\", \"" << recording.feature
                                      << "\", " << nanoseconds << "},");
        }
    }

    const std::string m_transport; //!< the transport
};

/// Light devices and shortcuts change nothing that can be measured, whatever goes wrong.
class LightNetworkTestCase : public DataCentreTestCase
{
  public:
    explicit LightNetworkTestCase(const std::string& transport)
        : DataCentreTestCase("light networks: " + transport),
          m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        const uint32_t nRuns = m_transport == "tcp" ? 12 : 30; // its timeouts are long
        TestRandom random(m_transport.size());
        for (uint32_t run = 0; run < nRuns; ++run)
        {
            const Topology topology = DrawNetwork(Draw(random, 1000), 8);
            const RunOptions options = DrawOptions(random);
            const uint64_t bytes = 1 + Draw(random, 200'000);
            const auto make = [&] { return MakeExperiment(topology, "greedy", bytes, 1); };
            NS_TEST_EXPECT_MSG_EQ(Describe(RunExperiment(make(), options)),
                                  Describe(RunFullStack(make(), options)),
                                  "run " << run << " on " << topology.GetName());
        }
    }

    RunOptions DrawOptions(TestRandom& random) const
    {
        RunOptions options = MakeOptions(m_transport, SYNCS[Draw(random, 2)]);
        options.control = Draw(random, 2) == 0 ? "ideal" : "packets";
        options.queue = Draw(random, 3) == 0 ? "3" : "auto";
        options.frame = Draw(random, 2) == 0 ? 1500 : 9000;
        options.faults.background = Draw(random, 3) == 0 ? "0.2" : "0";
        if (Draw(random, 3) == 0)
        {
            options.faults.failRandom = "1," + std::to_string(Draw(random, 100));
        }
        return options;
    }

    const std::string m_transport; //!< the transport
};

/// What the trace sources of devices and their queues tell, in order.
struct Diary
{
    std::vector<std::string> lines; //!< one for each packet told of

    /// Write down a packet.
    // By value: ns-3 binds copies, and calls what takes them as they are.
    static void Note(Diary* diary, std::string source, Ptr<const Packet> packet)
    {
        diary->lines.push_back(std::to_string(Simulator::Now().GetNanoSeconds()) + " " + source +
                               " " + std::to_string(packet->GetSize()));
    }

    /// Listen to all devices of a network.
    void Follow(const AllReduceNetwork& network)
    {
        for (DirectedLinkId link = 0; link < network.GetTopology().GetNDirectedLinks(); ++link)
        {
            const auto device = network.GetDevice(link);
            PointerValue queue;
            device->GetAttribute("TxQueue", queue);
            for (const std::string source : {"MacTx",
                                             "MacTxDrop",
                                             "MacRx",
                                             "PhyTxBegin",
                                             "PhyTxEnd",
                                             "PhyRxEnd",
                                             "PhyRxDrop",
                                             "Sniffer",
                                             "PromiscSniffer"})
            {
                Listen(device, source, link);
            }
            for (const std::string source : {"Enqueue", "Dequeue", "Drop"})
            {
                Listen(queue.GetObject(), source, link);
            }
        }
    }

  private:
    void Listen(Ptr<Object> object, const std::string& source, DirectedLinkId link)
    {
        const std::string name = std::to_string(link) + " " + source;
        object->TraceConnectWithoutContext(source, MakeBoundCallback(&Diary::Note, this, name));
    }
};

/// Whoever listens hears the same from light devices as from ns-3's.
class TraceSourcesTestCase : public DataCentreTestCase
{
  public:
    explicit TraceSourcesTestCase(const std::string& transport)
        : DataCentreTestCase("trace sources: " + transport),
          m_transport(transport)
    {
    }

  private:
    void DoRun() override
    {
        const Experiment experiment = MakeFixedExperiment(MakeNetwork("bcube:3,1", "loss"));
        const std::vector<std::string> light = Listen(experiment, false);
        const std::vector<std::string> full = Listen(experiment, true);
        NS_TEST_ASSERT_MSG_EQ(light.size(), full.size(), "as much is told");
        NS_TEST_ASSERT_MSG_GT(light.size(), 1000, "much is told");
        for (std::size_t i = 0; i < light.size(); ++i)
        {
            NS_TEST_ASSERT_MSG_EQ(light[i], full[i], "line " << i);
        }
    }

    std::vector<std::string> Listen(const Experiment& experiment, bool isFull) const
    {
        const auto diary = std::make_shared<Diary>();
        RunOptions options = MakeOptions(m_transport, "dependency");
        options.queue = "3";
        options.prepare = [&](TopologyHelper& helper) {
            diary->Follow(*helper.GetNetwork());
            return diary;
        };
        isFull ? RunFullStack(experiment, options) : RunExperiment(experiment, options);
        return diary->lines;
    }

    const std::string m_transport; //!< the transport
};

class RecordedTimesTestSuite : public TestSuite
{
  public:
    RecordedTimesTestSuite()
        : TestSuite("allreduce-recorded-times", TestSuite::Type::UNIT)
    {
        for (const std::string& transport : GetTransportNames())
        {
            AddTestCase(new RecordedTimesTestCase(transport), EXTENSIVE);
            AddTestCase(new LightNetworkTestCase(transport));
            AddTestCase(new TraceSourcesTestCase(transport));
        }
    }
};

RecordedTimesTestSuite g_recordedTimesTestSuite;

} // namespace

} // namespace ns3::allreduce
