/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-state.h"
#include "ns3/allreduce-transport.h"
#include "ns3/boolean.h"
#include "ns3/chunk-choice.h"
#include "ns3/config.h"
#include "ns3/ideal-time.h"
#include "ns3/link-capacities.h"
#include "ns3/pointer.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-modifiers.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"
#include "ns3/workload-rates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

namespace ns3::allreduce
{

namespace
{

constexpr uint64_t GBPS = 1'000'000'000;

/// @return a link of a rate and a delay
Link
MakeLink(NodeId a, NodeId b, uint64_t rateBps, int64_t delayNs = 1000, uint32_t capacity = 1)
{
    Link link;
    link.a = a;
    link.b = b;
    link.rateBps = rateBps;
    link.delayNs = delayNs;
    link.capacity = capacity;
    return link;
}

/// @return two servers on a switch, over links that carry four unit flows
Topology
MakePair4()
{
    return Topology("pair4",
                    2,
                    1,
                    {MakeLink(0, 2, 40 * GBPS, 1000, 4), MakeLink(1, 2, 40 * GBPS, 1000, 4)});
}

/// @return eight servers behind two switches, at 10, 25 and 100 Gb/s
Topology
MakeCluster(const std::string& name, uint32_t slow, uint32_t middle, uint32_t fast)
{
    std::vector<Link> links{MakeLink(8, 9, 100 * GBPS, 1000, fast)};
    for (NodeId server = 0; server < 4; ++server)
    {
        links.push_back(MakeLink(server, 8, 10 * GBPS, 1000, slow));
        links.push_back(MakeLink(server + 4, 9, 25 * GBPS, 1000, middle));
    }
    return Topology(name, 8, 2, links);
}

/// @return what a run measures
ExperimentResult
Measure(const Experiment& experiment,
        const std::string& transport,
        const std::string& sync = "barrier")
{
    RunOptions options = MakeOptions(transport, sync);
    options.verifyData = false;
    return RunExperiment(experiment, options);
}

/// A round shares each link evenly, and a workload gets the least share on its path.
class WorkloadRatesTestCase : public TestCase
{
  public:
    WorkloadRatesTestCase()
        : TestCase("rates of workloads")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = MakeCluster("cluster", 2, 5, 20);
        WorkloadList round;
        round.Add(0, WorkloadKind::REDUCE, {4, 9, 8, 0});
        round.Add(1, WorkloadKind::REDUCE, {4, 9, 5});
        round.Add(2, WorkloadKind::REDUCE, {4, 9, 6});
        round.Add(3, WorkloadKind::REDUCE, {7, 9, 8, 1});
        const std::vector<uint64_t> expected{25 * GBPS / 3,
                                             25 * GBPS / 3,
                                             25 * GBPS / 3,
                                             10 * GBPS};
        const std::vector<uint64_t> rates = ComputeWorkloadRates(topology, round);
        NS_TEST_ASSERT_MSG_EQ(rates.size(), expected.size(), "one for each");
        for (std::size_t i = 0; i < rates.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(rates[i], expected[i], "workload " << i);
        }
        for (uint64_t seed = 1; seed <= 20; ++seed)
        {
            CheckNoLinkIsAskedTooMuch(DrawNetwork(seed, 12));
        }
    }

    void CheckNoLinkIsAskedTooMuch(const Topology& topology)
    {
        const auto scheduler = CreateScheduler("greedy");
        const auto plan =
            Plan(*scheduler, AllReduceState(topology, MakeRoots(topology.GetNServers(), 3)));
        for (const WorkloadList& round : plan.rounds)
        {
            const std::vector<uint64_t> rates = ComputeWorkloadRates(topology, round);
            std::map<DirectedLinkId, uint64_t> sums;
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                const NodeRange path = round.Get(i).path;
                for (std::size_t hop = 0; hop + 1 < path.size(); ++hop)
                {
                    sums[*topology.FindDirectedLink(path[hop], path[hop + 1])] += rates[i];
                }
            }
            for (const auto& [link, sum] : sums)
            {
                NS_TEST_EXPECT_MSG_LT_OR_EQ(sum,
                                            topology.GetLink(link / 2).rateBps,
                                            topology.GetName() << " link " << link);
            }
        }
    }
};

/// The ideal is a formula in rates and delays, where formulas are known.
class IdealTestCase : public TestCase
{
  public:
    IdealTestCase()
        : TestCase("the ideal")
    {
    }

  private:
    void Check(const Topology& topology, uint64_t bytes, double expected, const std::string& reason)
    {
        const IdealTime ideal = ComputeIdealTime(topology, {0}, bytes);
        NS_TEST_EXPECT_MSG_EQ_TOL(ideal.seconds, expected, 1e-9 * expected, topology.GetName());
        NS_TEST_EXPECT_MSG_EQ(ideal.GetReason(), reason, topology.GetName());
        for (const uint32_t chunksPerServer : {1, 2, 16})
        {
            const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
            NS_TEST_EXPECT_MSG_EQ(ComputeIdealTime(topology, roots, bytes).seconds,
                                  ideal.seconds,
                                  topology.GetName() << ": chunks and roots do not matter");
        }
    }

    void DoRun() override
    {
        const uint64_t large = 100'000'000;
        const double bits = 8.0 * large;
        // Two servers: everything once in each direction, and the way of the last byte.
        const Topology two("two", 2, 0, {MakeLink(0, 1, 25 * GBPS, 3000)});
        Check(two, large, bits / 25e9 + 3e-6, "server 0, link 0-1 of 25 Gb/s");
        Check(two, 1, 8 / 25e9 + 3e-6, "server 0, link 0-1 of 25 Gb/s");
        // 2 (N-1) / (N d) of the bytes at a port's rate; two links between servers.
        const Topology bcube = ParseTopology("bcube:4,1");
        Check(bcube,
              large,
              bits * 30 / 32 / 10e9 + 2e-6,
              "the ports of all servers, 32 links of 10 Gb/s");
        // Servers of 1 Gb/s behind fast ones: everything passes their only link, and its delay.
        const Topology slow(
            "slow",
            3,
            1,
            {MakeLink(0, 3, 100 * GBPS), MakeLink(1, 3, 100 * GBPS), MakeLink(2, 3, GBPS, 50000)});
        Check(slow, large, bits / 1e9 + 51e-6, "server 2 and server 0, 51us apart");
        // A chain: each end's last bit leaves after all others, and goes to the other end.
        const Topology chain("chain",
                             3,
                             0,
                             {MakeLink(0, 1, 10 * GBPS, 5000), MakeLink(1, 2, 10 * GBPS, 7000)});
        Check(chain, 3000, 8 * 3000 / 10e9 + 12e-6, "server 0 and server 2, 12us apart");
        CheckKinds();
        CheckFewRounds();
        CheckLabels();
        CheckOddRates();
    }

    /// Of four servers in a row, the ends 3 us apart.
    void CheckKinds()
    {
        std::vector<Link> links;
        for (NodeId server = 0; server < 3; ++server)
        {
            links.push_back(MakeLink(server, server + 1, 8 * GBPS, 1000));
        }
        const Topology row("row", 4, 0, links);
        const auto latency = [&](CollectiveKind kind, uint64_t bytes) {
            const Group group{kind, {0, 1, 2, 3}, 0};
            const Collective collective = MakeCollective({group}, 4, 1, true);
            return 1e6 * ComputeIdealTime(row, collective, bytes).latency;
        };
        // A kilobyte takes a microsecond.
        NS_TEST_EXPECT_MSG_EQ_TOL(latency(CollectiveKind::ALL_REDUCE, 4000), 7, 1e-9, "4 + 3");
        NS_TEST_EXPECT_MSG_EQ_TOL(latency(CollectiveKind::BROADCAST, 4000), 7, 1e-9, "4 + 3");
        // An end keeps one chunk of four, and its last one may be for its neighbor.
        NS_TEST_EXPECT_MSG_EQ_TOL(latency(CollectiveKind::REDUCE_SCATTER, 4000), 4, 1e-9, "3 + 1");
        NS_TEST_EXPECT_MSG_EQ_TOL(latency(CollectiveKind::ALL_GATHER, 4000), 4, 1e-9, "3 + 1");
        NS_TEST_EXPECT_MSG_EQ_TOL(latency(CollectiveKind::ALL_GATHER, 4),
                                  3.001,
                                  1e-9,
                                  "a byte and the distance");
    }

    /// Recursive doubling on torus:4x4 exchanges all of 1 KiB with a neighbor four times.
    void CheckFewRounds()
    {
        const double swing = 4 * (8 * 1024 / 10e9 + 1e-6);
        const IdealTime ideal = ComputeIdealTime(ParseTopology("torus:4x4"), {0}, 1024);
        NS_TEST_EXPECT_MSG_LT(ideal.seconds, swing, "an algorithm without roots");
        NS_TEST_EXPECT_MSG_EQ_TOL(ideal.seconds, 8 * 1024 / 40e9 + 4e-6, 1e-12, "the diameter");
    }

    /// However a network is labelled, the ideal is that of its rates.
    void CheckLabels()
    {
        const auto ideal = [](const Topology& topology, uint32_t chunksPerServer) {
            return ComputeIdealTime(topology, MakeRoots(8, chunksPerServer), 64 << 20).seconds;
        };
        const double expected = ideal(MakeCluster("derived", 2, 5, 20), 1);
        NS_TEST_EXPECT_MSG_EQ_TOL(expected, 8.0 * (64 << 20) / 10e9, 3e-6, "the slow ports");
        for (const uint32_t chunksPerServer : {1, 2, 16})
        {
            NS_TEST_EXPECT_MSG_EQ(ideal(MakeCluster("a", 1, 2, 10), chunksPerServer), expected, "");
            NS_TEST_EXPECT_MSG_EQ(ideal(MakeCluster("b", 1, 1, 1), chunksPerServer), expected, "");
        }
    }

    /// Rates without a common divisor give what rates beside them give.
    void CheckOddRates()
    {
        for (uint64_t seed = 1; seed <= 20; ++seed)
        {
            const Topology round = DrawNetwork(seed, 10);
            std::vector<Link> links = round.GetLinks();
            for (std::size_t i = 0; i < links.size(); ++i)
            {
                links[i].rateBps += 1 + 2 * i;
            }
            const Topology odd = round.WithLinks("odd", links);
            const auto roots = MakeRoots(round.GetNServers(), 2);
            const double expected = ComputeIdealTime(round, roots, 1 << 20).seconds;
            NS_TEST_EXPECT_MSG_EQ_TOL(ComputeIdealTime(odd, roots, 1 << 20).seconds,
                                      expected,
                                      1e-6 * expected,
                                      "seed " << seed);
        }
    }
};

/// Several unit flows on one path are as fast over tcp as over raw and udp.
class SharedPathTestCase : public DataCentreTestCase
{
  public:
    SharedPathTestCase()
        : DataCentreTestCase("several workloads on one path")
    {
    }

  private:
    void Compare(const Topology& topology, uint32_t chunksPerServer, double mostOfRaw)
    {
        for (const std::string& sync : SYNCS)
        {
            const Experiment experiment =
                MakeExperiment(topology, "greedy", 16 << 20, chunksPerServer);
            const double raw = Measure(experiment, "raw", sync).measuredSeconds;
            for (const std::string transport : {"udp", "tcp"})
            {
                const auto result = Measure(experiment, transport, sync);
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", transport << " " << sync);
                NS_TEST_EXPECT_MSG_LT(result.measuredSeconds / raw,
                                      mostOfRaw,
                                      topology.GetName() << " " << transport << " " << sync);
            }
        }
    }

    void DoRun() override
    {
        Compare(MakePair4(), 4, 1.01);
        Compare(MixCapacity(ParseTopology("jellyfish:10,3,2"), 1), 2, 1.10);
        CheckUnpaced();
        CheckUnevenShares();
    }

    /// A run that is faster than a rounded bound is no failure.
    void CheckUnpaced()
    {
        Config::SetDefault("ns3::allreduce::TcpTransport::Pacing", BooleanValue(false));
        const auto result = Measure(MakeExperiment(MakePair4(), "greedy", 16 << 20, 1), "tcp");
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "unpaced");
        NS_TEST_EXPECT_MSG_GT(result.measuredSeconds, result.idealSeconds, "unpaced");
        Config::SetDefault("ns3::allreduce::TcpTransport::Pacing", BooleanValue(true));
    }

    /// Workloads of several paths and sizes through one port; their sums are exact.
    void CheckUnevenShares()
    {
        for (uint64_t seed = 1; seed <= 8; ++seed)
        {
            const Experiment experiment =
                MakeExperiment(DrawNetwork(seed, 8), "greedy", 300'007, 7);
            for (const std::string& sync : SYNCS)
            {
                const auto result = RunExperiment(experiment, MakeOptions("tcp", sync));
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", "seed " << seed << " " << sync);
            }
        }
    }
};

/// A ring's prediction is met however the network is labelled.
class LabelsTestCase : public DataCentreTestCase
{
  public:
    LabelsTestCase()
        : DataCentreTestCase("labels of a network")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t BYTES = 16 << 20;
        const double expected =
            Measure(MakeExperiment(MakeCluster("a", 1, 2, 10), "ring", BYTES, 1), "raw")
                .measuredSeconds;
        const Experiment experiment = MakeExperiment(MakeCluster("b", 2, 5, 20), "ring", BYTES, 1);
        for (const std::string& transport : GetTransportNames())
        {
            const auto result = Measure(experiment, transport);
            NS_TEST_EXPECT_MSG_EQ_TOL(result.measuredSeconds,
                                      expected,
                                      0.02 * expected,
                                      transport << " is as fast with other labels");
            NS_TEST_EXPECT_MSG_EQ_TOL(result.predictedSeconds,
                                      result.measuredSeconds,
                                      0.02 * expected,
                                      transport << " is as predicted");
        }
    }
};

/// Ideal, prediction and measurement on random networks: what allreduce-validate-times does for
/// hundreds of them.
class RandomNetworksTestCase : public DataCentreTestCase
{
  public:
    RandomNetworksTestCase()
        : DataCentreTestCase("random networks of mixed speed")
    {
    }

  private:
    void CheckSmall(uint64_t seed)
    {
        const Topology topology = DrawNetwork(seed, 12);
        for (const std::string& scheduler : GetNamesWithoutLearning())
        {
            const Experiment experiment = MakeExperiment(topology, scheduler, 1 << 16, 2);
            for (const std::string& transport : GetTransportNames())
            {
                const auto result = Measure(experiment, transport);
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", seed << " " << scheduler);
                NS_TEST_EXPECT_MSG_GT_OR_EQ(result.measuredSeconds,
                                            result.idealSeconds,
                                            seed << " " << scheduler << " " << transport);
            }
        }
    }

    void CheckLarge(uint64_t seed, const std::string& scheduler)
    {
        const Topology topology = DrawNetwork(seed, 8);
        const uint64_t bytes = uint64_t{256 << 10} * topology.GetNServers();
        const Experiment experiment = MakeExperiment(topology, scheduler, bytes, 1);
        double raw = 0;
        for (const std::string transport : {"raw", "udp", "tcp"})
        {
            const auto result = Measure(experiment, transport);
            raw = raw == 0 ? result.measuredSeconds : raw;
            NS_TEST_EXPECT_MSG_GT_OR_EQ(result.measuredSeconds, result.idealSeconds, seed);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(
                std::abs(result.predictedSeconds / result.measuredSeconds - 1),
                (transport == "tcp" ? 0.10 : 0.05),
                seed << " " << scheduler << " " << transport);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(result.measuredSeconds / raw,
                                        1.10,
                                        seed << " " << transport);
        }
    }

    void DoRun() override
    {
        for (uint64_t seed = 1; seed <= 10; ++seed)
        {
            CheckSmall(seed);
        }
        const std::vector<std::string> schedulers = GetNamesWithoutLearning();
        for (uint64_t seed = 11; seed <= 30; ++seed)
        {
            CheckLarge(seed, schedulers[seed % schedulers.size()]);
        }
    }
};

/// Without barriers, the prediction follows the dispatcher through the plan.
class DependencyPredictionTestCase : public DataCentreTestCase
{
  public:
    DependencyPredictionTestCase()
        : DataCentreTestCase("prediction without barriers")
    {
    }

  private:
    void Check(const Topology& topology,
               const std::string& scheduler,
               uint64_t bytes,
               uint32_t chunksPerServer,
               double tolerance)
    {
        const Experiment experiment = MakeExperiment(topology, scheduler, bytes, chunksPerServer);
        const auto result = Measure(experiment, "raw", "dependency");
        NS_TEST_EXPECT_MSG_EQ_TOL(result.predictedSeconds / result.measuredSeconds,
                                  1,
                                  tolerance,
                                  topology.GetName() << " " << scheduler << " " << bytes
                                                     << " bytes, " << chunksPerServer);
    }

    void DoRun() override
    {
        const Topology uneven = Degrade(ParseTopology("bcube:4,1"), 0.05, 3);
        const Topology tree = ParseTopology("fattree:4");
        for (const uint64_t bytes : {64 << 10, 1 << 20, 8 << 20})
        {
            for (const uint32_t chunksPerServer : {2, 8})
            {
                Check(uneven, "forest", bytes, chunksPerServer, 0.01);
                Check(uneven, "greedy", bytes, chunksPerServer, 0.01);
                Check(tree, "ring-aware", bytes, chunksPerServer, 0.03);
                // Workloads meet at links between switches.
                Check(tree, "forest", bytes, chunksPerServer, 0.12);
                Check(MakeCluster("cluster", 2, 5, 20), "greedy", bytes, chunksPerServer, 0.12);
            }
        }
    }
};

/// What is chosen for --chunks-per-server=auto is nearly as fast as any fixed number.
class ChunkChoiceTestCase : public DataCentreTestCase
{
  public:
    ChunkChoiceTestCase()
        : DataCentreTestCase("choice of chunks")
    {
    }

  private:
    void Check(const Topology& topology,
               const std::string& scheduler,
               uint64_t bytes,
               const std::string& sync = "barrier")
    {
        const auto transport = CreateTransport("raw");
        const ChunkChoice choice = ChooseChunks(
            topology,
            [&](uint32_t m) { return Collective(MakeRoots(topology.GetNServers(), m)); },
            [&] { return CreateScheduler(scheduler); },
            *transport,
            9000,
            bytes,
            {sync == "barrier"});
        const auto measure = [&](uint32_t chunksPerServer) {
            return Measure(MakeExperiment(topology, scheduler, bytes, chunksPerServer), "raw", sync)
                .measuredSeconds;
        };
        const double chosen = measure(choice.chunksPerServer);
        const uint32_t nPorts = ComputeMeanPorts(topology);
        for (const uint32_t times : {1, 2, 4, 8, 16})
        {
            NS_TEST_EXPECT_MSG_LT(chosen,
                                  1.05 * measure(times * nPorts),
                                  topology.GetName() << " " << scheduler << " " << bytes
                                                     << " bytes, " << times << " times the ports");
        }
    }

    void DoRun() override
    {
        for (const uint64_t bytes : {64 << 10, 1 << 20, 8 << 20})
        {
            Check(MakePair4(), "greedy", bytes);
            Check(MakeCluster("cluster", 2, 5, 20), "greedy", bytes);
            Check(MakeCluster("cluster", 2, 5, 20), "ring", bytes);
            Check(ParseTopology("bcube:3,1"), "greedy", bytes);
            Check(Degrade(ParseTopology("bcube:3,1"), 0.05, 3), "forest", bytes, "dependency");
            Check(DrawNetwork(7, 8), "double-tree", bytes);
        }
    }
};

/// Grants and barrier tokens as packets cost time, and nothing but time.
class ControlTestCase : public DataCentreTestCase
{
  public:
    ControlTestCase()
        : DataCentreTestCase("control by packets")
    {
    }

  private:
    ExperimentResult Run(const Experiment& experiment,
                         const std::string& transport,
                         const std::string& sync,
                         const std::string& control,
                         const std::string& failRandom = "")
    {
        RunOptions options = MakeOptions(transport, sync);
        options.control = control;
        options.faults.failRandom = failRandom;
        return RunExperiment(experiment, options);
    }

    void DoRun() override
    {
        for (const std::string spec : {"bcube:3,1", "dcell:2,1", "jellyfish:5,2,2,1"})
        {
            const Topology topology = ParseTopology(spec);
            const uint32_t nServers = topology.GetNServers();
            const Experiment experiment = MakeExperiment(topology, "greedy", 400'003);
            for (const std::string& transport : GetTransportNames())
            {
                for (const std::string& sync : SYNCS)
                {
                    const auto ideal = Run(experiment, transport, sync, "ideal");
                    const auto packets = Run(experiment, transport, sync, "packets");
                    const std::string name = spec + " " + transport + " " + sync;
                    NS_TEST_EXPECT_MSG_EQ(packets.failure, "", name);
                    NS_TEST_EXPECT_MSG_EQ(ideal.nMessages, 0, name);
                    if (sync == "barrier")
                    {
                        NS_TEST_EXPECT_MSG_GT(packets.measuredSeconds, ideal.measuredSeconds, name);
                    }
                    // A grant for each workload, or a token and a release for each round and
                    // server but the root, with no release in the first and not all tokens in the
                    // last. Over tcp servers come together first, and the root begins.
                    const uint64_t rounds = experiment.plan.GetRounds().size();
                    const uint64_t expected = sync == "dependency"
                                                  ? experiment.plan.GetSchedule().CountWorkloads()
                                                  : 2 * (rounds - 1) * (nServers - 1);
                    NS_TEST_EXPECT_MSG_GT_OR_EQ(packets.nMessages, expected, name);
                    const uint64_t gathering = transport == "tcp" ? 2 * (nServers - 1) : 0;
                    NS_TEST_EXPECT_MSG_LT(packets.nMessages, expected + gathering + nServers, name);
                }
            }
        }
        for (uint32_t seed = 1; seed <= 20; ++seed)
        {
            CheckFaults(seed);
        }
        for (uint32_t microseconds = 1; microseconds <= 30; ++microseconds)
        {
            CheckFaultAtTheBeginning(std::to_string(microseconds) + "us");
        }
        CheckShortQueues();
    }

    /// If all tokens went straight to server 0, most were lost in each round, and 3 bytes took a
    /// minute.
    void CheckShortQueues()
    {
        RunOptions options = MakeOptions("tcp", "barrier");
        options.control = "packets";
        options.queue = "5";
        const auto result =
            RunExperiment(MakeExperiment(ParseTopology("fattree:4"), "greedy", 3, 2), options);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "short queues");
        NS_TEST_EXPECT_MSG_LT(result.measuredSeconds, 1, "tokens are not lost in every round");
    }

    /// A link breaks while connections are opened, tokens gathered or the first chunks sent.
    void CheckFaultAtTheBeginning(const std::string& time)
    {
        const Experiment experiment = MakeExperiment(ParseTopology("bcube:3,1"), "greedy", 1000);
        for (const std::string& sync : SYNCS)
        {
            for (const std::string control : {"ideal", "packets"})
            {
                RunOptions options = MakeOptions("tcp", sync);
                options.control = control;
                options.faults.fail = {"0-9@" + time};
                const auto result = RunExperiment(experiment, options);
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", time << " " << sync << " " << control);
            }
        }
    }

    /// Links break, tokens and grants are lost with them: exact sums, or servers that are cut off.
    void CheckFaults(uint32_t seed)
    {
        const std::vector<std::string> transports = GetTransportNames();
        const std::string transport = transports[seed % transports.size()];
        const std::string sync = SYNCS[seed / transports.size() % 2];
        const Experiment experiment =
            MakeExperiment(ParseTopology("bcube:3,1"), seed % 2 ? "greedy" : "ring", 200'003);
        const auto result =
            Run(experiment, transport, sync, "packets", "4," + std::to_string(seed));
        const bool isCutOff = result.failure.find("cut off") != std::string::npos;
        NS_TEST_EXPECT_MSG_EQ((result.failure.empty() || isCutOff),
                              true,
                              seed << " " << transport << " " << sync << ": " << result.failure);
    }
};

/// @return a network with the capacities that follow from the links' rates
Topology
MakeDerived(const std::string& name, uint32_t nServers, uint32_t nSwitches, std::vector<Link> links)
{
    DeriveCapacities(links);
    return Topology(name, nServers, nSwitches, links);
}

/// @return servers on a switch, all at 100 Gb/s but the last
Topology
MakeStar(uint32_t nServers, double share)
{
    std::vector<Link> links;
    for (NodeId server = 0; server < nServers; ++server)
    {
        const double factor = server + 1 < nServers ? 1 : share;
        links.push_back(MakeLink(server, nServers, factor * 100 * GBPS));
    }
    return MakeDerived("star", nServers, 1, links);
}

/// @return three boxes of four GPUs with fast links, and one uplink for each box
Topology
MakeBoxes()
{
    std::vector<Link> links;
    for (NodeId gpu = 0; gpu < 12; ++gpu)
    {
        links.push_back(MakeLink(gpu, 12 + gpu / 4, 3600 * GBPS, 200));
    }
    for (NodeId box = 12; box < 15; ++box)
    {
        links.push_back(MakeLink(box, 15, 400 * GBPS));
    }
    return MakeDerived("boxes", 12, 4, links);
}

/// Where fast links feed slow ones, nothing is dropped: queues fit the links, and links between
/// switches are not promised twice.
class FastIntoSlowTestCase : public DataCentreTestCase
{
  public:
    FastIntoSlowTestCase()
        : DataCentreTestCase("no drops where fast links feed slow ones")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string scheduler : {"forest", "multi-ring"})
        {
            const Experiment experiment = MakeExperiment(MakeBoxes(), scheduler, 8'000'000, 2);
            for (const std::string transport : {"raw", "udp"})
            {
                RunOptions options = MakeOptions(transport, "dependency");
                options.verifyData = false;
                const auto result = RunExperiment(experiment, options);
                const std::string name = scheduler + " " + transport;
                NS_TEST_EXPECT_MSG_EQ(result.failure, "", name);
                NS_TEST_EXPECT_MSG_EQ(result.nDropped, 0, name);
                NS_TEST_EXPECT_MSG_LT(result.measuredSeconds, 0.4e-3, name);
            }
        }
    }
};

/// Acknowledgements beside the data let the queue of a link grow that is busy all the time; what
/// waits there is not lost, and sending it again would make the queue grow faster.
class BusyLinkTestCase : public DataCentreTestCase
{
  public:
    BusyLinkTestCase()
        : DataCentreTestCase("a queue that grows slowly is not taken for loss")
    {
    }

  private:
    void DoRun() override
    {
        const Topology hub("hub",
                           4,
                           0,
                           {MakeLink(0, 1, GBPS, 10'000),
                            MakeLink(0, 2, 400 * GBPS, 10'000),
                            MakeLink(2, 3, 400 * GBPS, 10'000),
                            MakeLink(0, 3, 400 * GBPS, 10'000)});
        const Experiment experiment = MakeExperiment(hub, "ring-aware", 400'000, 100);
        for (const std::string transport : {"raw", "udp"})
        {
            const auto result = RunExperiment(experiment, MakeOptions(transport, "dependency"));
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", transport);
            NS_TEST_EXPECT_MSG_EQ(result.nResent, 0, transport);
            NS_TEST_EXPECT_MSG_EQ(result.nDropped, 0, transport);
            NS_TEST_EXPECT_MSG_LT(result.measuredSeconds,
                                  1.05 * result.predictedSeconds,
                                  transport);
        }
    }
};

/// Queues follow from rates and delays unless they are set.
class QueueSizeTestCase : public TestCase
{
  public:
    QueueSizeTestCase()
        : TestCase("queues follow from rates and delays")
    {
    }

  private:
    void DoRun() override
    {
        Check(MakeStar(2, 1), 0, "900000B"); // 100 packets
        Check(MakeBoxes(), 0, "23125000B");  // half of 25 us at 1850 GB/s
        const Link far = MakeLink(1, 2, GBPS, 10'000);
        const Topology mixed("mixed", 2, 1, {MakeLink(0, 2, 1000 * GBPS), far});
        Check(mixed, 0, "38500000B"); // four packets of 72 us and 20 us there and back, at 125 GB/s
        Check(mixed, 1, "1564063B");  // half of 25 us at 125 + 0.125 GB/s
        RunOptions options;
        options.queue = "1MB";
        NS_TEST_EXPECT_MSG_EQ(*options.GetQueue(), QueueSize("1000000B"), "bytes");
        options.queue = "7";
        NS_TEST_EXPECT_MSG_EQ(*options.GetQueue(), QueueSize("7p"), "packets");
    }

    void Check(const Topology& topology, LinkId link, const std::string& expected)
    {
        for (const bool isLight : {false, true})
        {
            TopologyHelper helper(topology);
            helper.SetDeviceAttribute("Mtu", UintegerValue(9000));
            helper.SetLight(isLight);
            PointerValue queue;
            helper.Install()->GetDevice(2 * link)->GetAttribute("TxQueue", queue);
            NS_TEST_EXPECT_MSG_EQ(queue.Get<QueueBase>()->GetMaxSize(),
                                  QueueSize(expected),
                                  topology.GetName() << " link " << link);
            Simulator::Destroy();
        }
    }
};

/// Predictions that were off by 5 to 25 %: senders that wait for a slow server, frames that meet at
/// a port, and transfers of different rates that share a connection.
class PacingPredictionTestCase : public DataCentreTestCase
{
  public:
    PacingPredictionTestCase()
        : DataCentreTestCase("prediction of paced transfers")
    {
    }

  private:
    void DoRun() override
    {
        constexpr uint64_t MIB = 1 << 20;
        Check(MakeExperiment(MakeStar(8, 0.5), "greedy", MIB, 1), "raw", "dependency");
        Check(MakeExperiment(MakeStar(16, 0.875), "greedy", MIB, 8), "raw", "barrier");
        std::vector<Link> links;
        for (NodeId server = 0; server < 2; ++server)
        {
            links.push_back(MakeLink(server, 2, 1716 * GBPS, 9000));
            links.push_back(MakeLink(server, 3 + server, 10 * GBPS, 9000));
        }
        links.push_back(MakeLink(3, 4, 2 * GBPS, 9000));
        const Topology pair = MakeDerived("pair", 2, 3, links);
        Check(MakeExperiment(pair, "forest", 1'618'577, 12), "tcp", "dependency");
    }

    void Check(const Experiment& experiment, const std::string& transport, const std::string& sync)
    {
        RunOptions options = MakeOptions(transport, sync);
        options.verifyData = false;
        const auto result = RunExperiment(experiment, options);
        const std::string name = experiment.topology.GetName() + " " + transport + " " + sync;
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", name);
        NS_TEST_EXPECT_MSG_EQ_TOL(result.predictedSeconds / result.measuredSeconds, 1, 0.02, name);
    }
};

/// The suite.
class MixedSpeedTestSuite : public TestSuite
{
  public:
    MixedSpeedTestSuite()
        : TestSuite("allreduce-mixed-speed", TestSuite::Type::UNIT)
    {
        AddTestCase(new WorkloadRatesTestCase);
        AddTestCase(new IdealTestCase);
        AddTestCase(new SharedPathTestCase, EXTENSIVE);
        AddTestCase(new LabelsTestCase);
        AddTestCase(new RandomNetworksTestCase, EXTENSIVE);
        AddTestCase(new DependencyPredictionTestCase, EXTENSIVE);
        AddTestCase(new ChunkChoiceTestCase, EXTENSIVE);
        AddTestCase(new ControlTestCase, EXTENSIVE);
        AddTestCase(new FastIntoSlowTestCase);
        AddTestCase(new BusyLinkTestCase);
        AddTestCase(new QueueSizeTestCase);
        AddTestCase(new PacingPredictionTestCase);
    }
};

MixedSpeedTestSuite g_mixedSpeedTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
