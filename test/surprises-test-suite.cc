/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"
#include "allreduce-test-utils.h"
#include "fault-options.h"
#include "job-experiment.h"
#include "run-experiment.h"
#include "run-rows.h"
#include "session-test-utils.h"

#include "ns3/allreduce-transport.h"
#include "ns3/link-capacities.h"
#include "ns3/link-faults.h"
#include "ns3/network-surprises.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-builder.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

/**
 * @file
 * @ingroup allreduce-tests
 * Networks that are not what was announced: links that become slower and recover, bursts of other
 * traffic, servers that are late.
 */

namespace ns3::allreduce
{

namespace
{

constexpr uint64_t GBPS = 1'000'000'000;

/// A packet that is being sent keeps its rate, later ones have the new one; on both kinds of links.
class LinkRateTestCase : public TestCase
{
  public:
    LinkRateTestCase()
        : TestCase("the rate of one direction of a link changes")
    {
    }

  private:
    static constexpr uint64_t RATE = 8'000'000; //!< a byte in a microsecond
    static constexpr uint32_t FRAME = 1000;     //!< with two bytes of PPP

    static Topology MakePair()
    {
        Link link{0, 1};
        link.rateBps = RATE;
        link.delayNs = 0;
        return Topology("pair", 2, 0, {link});
    }

    /// Send frames at once. @return when they arrived, in microseconds
    static std::vector<int64_t> SendFrames(Ptr<AllReduceNetwork> network,
                                           DirectedLinkId link,
                                           uint32_t count)
    {
        auto arrivals = std::make_shared<std::vector<int64_t>>();
        network->GetDevice(link ^ 1)->TraceConnectWithoutContext(
            "PhyRxEnd",
            Callback<void, Ptr<const Packet>>([arrivals](Ptr<const Packet>) {
                arrivals->push_back(Simulator::Now().GetMicroSeconds());
            }));
        constexpr uint16_t UNKNOWN = 0x86DD; // IPv6, which nobody takes
        for (uint32_t i = 0; i < count; ++i)
        {
            network->GetDevice(link)->Send(Create<Packet>(FRAME - 2),
                                           network->GetDevice(link ^ 1)->GetAddress(),
                                           UNKNOWN);
        }
        Simulator::Run();
        return *arrivals;
    }

    void CheckArrivals(bool isLight)
    {
        for (const DirectedLinkId link : {0, 1})
        {
            TopologyHelper helper(MakePair());
            helper.SetLight(isLight);
            const auto network = helper.Install();
            // 0 to 1 ms as before, 1 to 5 ms at a quarter of the rate, 5 to 6 ms as before.
            ScheduleRateChanges(network,
                                {{link, 4'500'000, RATE},
                                 {link, 500'000, RATE / 4},
                                 {link ^ 1, 100'000, RATE / 10}});
            const auto arrivals = SendFrames(network, link, 3);
            const std::vector<int64_t> expected = {1000, 5000, 6000};
            NS_TEST_EXPECT_MSG_EQ((arrivals == expected), true, "light " << isLight);
            NS_TEST_EXPECT_MSG_EQ(network->GetRate(link), RATE, "it has recovered");
            NS_TEST_EXPECT_MSG_EQ(network->GetRate(link ^ 1), RATE / 10, "the other has not");
            NS_TEST_EXPECT_MSG_EQ(network->GetWorstSlowdown(), 10, "of both directions");
            Simulator::Destroy();
        }
    }

    void DoRun() override
    {
        CheckArrivals(true);
        CheckArrivals(false);
        const auto network = TopologyHelper(MakePair()).Install();
        ScheduleRateChanges(network, {{0, 0, RATE / 4}, {0, 0, RATE / 2}});
        NS_TEST_EXPECT_MSG_EQ(network->GetRate(0), RATE / 2, "at once, and the last one counts");
        NS_TEST_EXPECT_MSG_EQ(Contains(GetAbortMessage([&] { network->SetLinkRate(0, 0); }),
                                       "directed link 0 of pair: rate 0, expected 1 bit/s or more"),
                              true,
                              "nothing is an outage");
        NS_TEST_EXPECT_MSG_EQ(
            Contains(GetAbortMessage([&] { network->SetLinkRate(2, 1); }), "directed link 2"),
            true,
            "there is none");
        Simulator::Destroy();
    }
};

/// What links can carry, judged by looking at each moment.
class CapacityChangesTestCase : public TestCase
{
  public:
    CapacityChangesTestCase()
        : TestCase("what links can carry over time")
    {
    }

  private:
    /// By directed link and time what is listed.
    static uint64_t Find(const Topology& topology,
                         const std::vector<RateChange>& changes,
                         DirectedLinkId link,
                         int64_t atNs)
    {
        uint64_t rate = topology.GetLinkOf(link).rateBps;
        for (const RateChange& change : changes)
        {
            rate = change.link == link && change.atNs <= atNs ? change.rateBps : rate;
        }
        return rate;
    }

    /// By the meaning of each kind of surprise.
    static uint64_t Judge(const Topology& topology,
                          const Surprises& surprises,
                          DirectedLinkId link,
                          Time now)
    {
        double rate = topology.GetLinkOf(link).rateBps;
        Time since = Time(-1);
        for (const RateChange& change : surprises.rateChanges)
        {
            const Time at = NanoSeconds(change.atNs);
            if (change.link == link && at <= now && at >= since)
            {
                rate = change.rateBps;
                since = at;
            }
        }
        for (const Burst& burst : surprises.bursts)
        {
            const bool isOn = burst.link == link && burst.begin <= now && now < burst.end;
            rate *= isOn ? 1 - burst.load : 1;
        }
        for (const LinkFault& fault : surprises.faults)
        {
            const bool isDown = fault.down <= now && (!fault.up || now < *fault.up);
            rate = fault.link == link / 2 && isDown ? 0 : rate;
        }
        for (const LateServer& late : surprises.lateServers)
        {
            const bool isEnd =
                topology.GetSource(link) == late.server || topology.GetTarget(link) == late.server;
            rate = isEnd && now < NanoSeconds(late.readyNs) ? 0 : rate;
        }
        return std::llround(rate);
    }

    static Surprises DrawAll(const Topology& topology, TestRandom& random)
    {
        constexpr uint32_t LATEST = 1000;
        Surprises surprises;
        for (uint32_t i = 0; i < 6; ++i)
        {
            const DirectedLinkId link = Draw(random, topology.GetNDirectedLinks());
            surprises.rateChanges.push_back(
                {link, Draw(random, LATEST), 1 + Draw(random, 1'000'000'000)});
        }
        surprises.faults = DrawFaults(topology, 3, Draw(random, LATEST), NanoSeconds(LATEST));
        const BurstModel model{0.3, 0.25, NanoSeconds(100), NanoSeconds(150), Draw(random, LATEST)};
        surprises.bursts = DrawBursts(topology, model, NanoSeconds(LATEST));
        surprises.lateServers = {{Draw(random, topology.GetNServers()), Draw(random, LATEST)}};
        return surprises;
    }

    void CheckRandom(const Topology& topology, uint32_t seed)
    {
        TestRandom random(seed);
        const Surprises surprises = DrawAll(topology, random);
        const Time begin = NanoSeconds(Draw(random, 500));
        const auto changes = ListCapacityChanges(topology, surprises, begin);
        const bool isAscending =
            std::is_sorted(changes.begin(), changes.end(), [](const auto& x, const auto& y) {
                return std::pair(x.atNs, x.link) < std::pair(y.atNs, y.link);
            });
        NS_TEST_ASSERT_MSG_EQ(isAscending, true, "in time, then by link");
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            for (int64_t now = 0; now < 1200; now += 7)
            {
                NS_TEST_ASSERT_MSG_EQ(Find(topology, changes, link, now),
                                      Judge(topology, surprises, link, begin + NanoSeconds(now)),
                                      topology.GetName() << " seed " << seed << " link " << link
                                                         << " at " << now << " ns");
            }
        }
    }

    void DoRun() override
    {
        for (uint32_t seed = 0; seed < 20; ++seed)
        {
            CheckRandom(ParseTopology("bcube:3,1"), seed);
            CheckRandom(ParseTopology("dcell:3,1"), seed);
        }
        const Topology star = MakeTestStar(3);
        const uint64_t rate = star.GetLink(0).rateBps;
        Surprises surprises;
        surprises.rateChanges = {{0, 5, rate / 2}, {0, 9, rate}};
        surprises.faults = {{0, NanoSeconds(6), NanoSeconds(7)}};
        const auto changes = ListCapacityChanges(star, surprises, NanoSeconds(2));
        const std::vector<std::tuple<int64_t, DirectedLinkId, uint64_t>> expected =
            {{3, 0, rate / 2}, {4, 0, 0}, {4, 1, 0}, {5, 0, rate / 2}, {5, 1, rate}, {7, 0, rate}};
        std::vector<std::tuple<int64_t, DirectedLinkId, uint64_t>> found;
        for (const RateChange& change : changes)
        {
            found.emplace_back(change.atNs, change.link, change.rateBps);
        }
        NS_TEST_EXPECT_MSG_EQ((found == expected), true, "by hand");
        const auto rates = ListRates(star, surprises);
        NS_TEST_EXPECT_MSG_EQ(rates.size(), 2, "devices know nothing of links that are down");
        surprises.bursts = {{0, Time(0), NanoSeconds(20), 1 - 1e-15}};
        NS_TEST_EXPECT_MSG_EQ(ListRates(star, surprises).front().rateBps, 1, "something is left");
    }
};

/// Bursts are as often, as long and on as many links as was asked for.
class DrawBurstsTestCase : public TestCase
{
  public:
    DrawBurstsTestCase()
        : TestCase("bursts are drawn")
    {
    }

  private:
    static bool AreSame(const std::vector<Burst>& x, const std::vector<Burst>& y)
    {
        return x.size() == y.size() &&
               std::equal(x.begin(), x.end(), y.begin(), [](const Burst& a, const Burst& b) {
                   return a.link == b.link && a.begin == b.begin && a.end == b.end;
               });
    }

    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:4,1");
        const Time horizon = Seconds(1);
        const BurstModel model{0.25, 0.5, MicroSeconds(300), MicroSeconds(700), 7};
        const auto bursts = DrawBursts(topology, model, horizon);
        std::set<DirectedLinkId> links;
        double on = 0;
        for (std::size_t i = 0; i < bursts.size(); ++i)
        {
            const Burst& burst = bursts[i];
            const bool isFirst = links.insert(burst.link).second;
            on += (burst.end - burst.begin).GetSeconds();
            NS_TEST_ASSERT_MSG_EQ(burst.load, 0.5, "load");
            NS_TEST_ASSERT_MSG_EQ((burst.begin < burst.end && burst.begin < horizon), true, "when");
            NS_TEST_ASSERT_MSG_EQ((isFirst || bursts[i - 1].end < burst.begin), true, "in turns");
        }
        NS_TEST_EXPECT_MSG_EQ(links.size(), topology.GetNDirectedLinks() / 4, "a quarter of all");
        NS_TEST_EXPECT_MSG_EQ_TOL(on / links.size(), 0.3, 0.02, "share of the time");
        NS_TEST_EXPECT_MSG_EQ_TOL(on / bursts.size(), 300e-6, 20e-6, "mean of a burst");
        NS_TEST_EXPECT_MSG_EQ(AreSame(bursts, DrawBursts(topology, model, horizon)), true, "again");
        auto longer = DrawBursts(topology, model, Seconds(2));
        longer.erase(std::remove_if(longer.begin(),
                                    longer.end(),
                                    [&](const Burst& burst) { return burst.begin >= horizon; }),
                     longer.end());
        NS_TEST_EXPECT_MSG_EQ(AreSame(bursts, longer), true, "whoever takes longer meets the same");
        BurstModel other = model;
        other.seed = 8;
        NS_TEST_EXPECT_MSG_EQ(AreSame(bursts, DrawBursts(topology, other, horizon)), false, "seed");
        other.share = 1e-6;
        std::set<DirectedLinkId> one;
        for (const Burst& burst : DrawBursts(topology, other, horizon))
        {
            one.insert(burst.link);
        }
        NS_TEST_EXPECT_MSG_EQ(one.size(), 1, "at least one link");
        CheckBeginning(topology, model);
        NS_TEST_EXPECT_MSG_EQ(
            GetError([&] { DrawBursts(topology, model, Seconds(1000)); }),
            "bursts: more than 1000000 until 1000 s, expected longer times, or fewer links that "
            "have them",
            "nobody waits for so many");
    }

    /// A link is busy at time 0 as likely as at any other time.
    void CheckBeginning(const Topology& topology, BurstModel model)
    {
        model.share = 1;
        uint32_t nBusy = 0;
        constexpr uint32_t N_SEEDS = 100;
        for (model.seed = 0; model.seed < N_SEEDS; ++model.seed)
        {
            for (const Burst& burst : DrawBursts(topology, model, NanoSeconds(1)))
            {
                nBusy += burst.begin.IsZero();
            }
        }
        NS_TEST_EXPECT_MSG_EQ_TOL(nBusy / double(N_SEEDS * topology.GetNDirectedLinks()),
                                  0.3,
                                  0.02,
                                  "share of links that are busy at first");
    }
};

/// Runs over links whose rates change take as long as these rates say.
class SlowForATimeTestCase : public DataCentreTestCase
{
  public:
    SlowForATimeTestCase()
        : DataCentreTestCase("links that are slow for a time")
    {
    }

  private:
    static ExperimentResult Run(const RunOptions& options)
    {
        return RunExperiment(MakeExperiment(MakeTestStar(4), "ring", 1 << 20, 1), options);
    }

    void CheckTimes(const std::string& transport, const std::string& sync)
    {
        const std::string what = transport + " " + sync;
        RunOptions options = MakeOptions(transport, sync);
        const ExperimentResult calm = Run(options);
        const double end = calm.endSeconds;
        const std::string half = std::to_string(std::llround(0.5e9 * end)) + "ns";
        options.faults.slow = {"2-4:4@0"};
        const ExperimentResult slow = Run(options);
        NS_TEST_EXPECT_MSG_EQ(slow.failure, "", what << " slow is not broken");
        NS_TEST_EXPECT_MSG_EQ_TOL(slow.measuredSeconds / calm.measuredSeconds, 4, 0.3, what);
        NS_TEST_EXPECT_MSG_EQ(slow.idealSeconds, calm.idealSeconds, what << " ideal at first");
        NS_TEST_EXPECT_MSG_EQ(slow.predictedSeconds, calm.predictedSeconds, what << " predicted");
        options.faults.slow = {"2-4:4@" + half};
        const ExperimentResult later = Run(options);
        NS_TEST_EXPECT_MSG_EQ_TOL(later.measuredSeconds / calm.measuredSeconds,
                                  0.5 + 4 * 0.5,
                                  0.3,
                                  what << " from the middle on");
        options.faults.slow = {"2-4:4@0," + half};
        const ExperimentResult recovered = Run(options);
        NS_TEST_EXPECT_MSG_EQ_TOL(recovered.measuredSeconds / calm.measuredSeconds,
                                  0.5 + (1 - 0.5 / 4),
                                  0.1,
                                  what << " recovers");
        options.faults.slow = {"2-4:4@1s"};
        const ExperimentResult after = Run(options);
        NS_TEST_EXPECT_MSG_EQ(after.measuredSeconds, calm.measuredSeconds, what << " too late");
        NS_TEST_EXPECT_MSG_EQ(after.nLateFaults, 1, what << " is told");
    }

    void CheckFullStack()
    {
        RunOptions options = MakeOptions("raw", "dependency");
        options.faults.slow = {"2-4:3@100us,300us", "2-4:2@300us"};
        options.faults.bursts = "0.5,0.7,20us,30us,4";
        const ExperimentResult light = Run(options);
        options.fullStack = true;
        const ExperimentResult full = Run(options);
        NS_TEST_EXPECT_MSG_EQ(light.failure, "", "ends well");
        NS_TEST_EXPECT_MSG_EQ(full.measuredSeconds, light.measuredSeconds, "the same");
    }

    /// What takes so much longer is neither given up nor sent again and again.
    void CheckVerySlow()
    {
        for (const std::string transport : {"raw", "udp"})
        {
            const Experiment experiment = MakeExperiment(MakeTestStar(4), "ring", 1 << 20, 1);
            RunOptions options = MakeOptions(transport, "barrier");
            const double calm = RunExperiment(experiment, options).measuredSeconds;
            options.faults.slow = {"2-4:10000@1us"};
            const auto result = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", transport);
            NS_TEST_EXPECT_MSG_EQ_TOL(result.measuredSeconds / calm, 10000, 500, transport);
            NS_TEST_EXPECT_MSG_LT(result.nResent, 100, transport);
        }
    }

    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            for (const std::string& sync : SYNCS)
            {
                CheckTimes(transport, sync);
            }
        }
        CheckFullStack();
        CheckVerySlow();
    }
};

/// Links that are nearly always busy are slower by what the bursts take.
class BurstsTestCase : public DataCentreTestCase
{
  public:
    BurstsTestCase()
        : DataCentreTestCase("bursts on links")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            const Experiment experiment = MakeExperiment(MakeTestStar(4), "ring", 1 << 20, 1);
            RunOptions options = MakeOptions(transport, "barrier");
            const auto calm = RunExperiment(experiment, options);
            options.faults.bursts = "1,0.5,1000s,1ns,1";
            const auto busy = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_EQ(busy.failure, "", transport);
            NS_TEST_EXPECT_MSG_EQ_TOL(busy.measuredSeconds / calm.measuredSeconds,
                                      2,
                                      0.15,
                                      transport << " has half of the rate");
            options.faults.bursts = "1,0.5,50us,50us,1";
            const auto sometimes = RunExperiment(experiment, options);
            NS_TEST_EXPECT_MSG_GT(sometimes.measuredSeconds, 1.1 * calm.measuredSeconds, transport);
            NS_TEST_EXPECT_MSG_LT(sometimes.measuredSeconds, busy.measuredSeconds, transport);
            NS_TEST_EXPECT_MSG_EQ(RunExperiment(experiment, options).measuredSeconds,
                                  sometimes.measuredSeconds,
                                  transport << " repeats");
        }
    }
};

/// No link carries more than the list of what links can carry says.
class CarriedTestCase : public DataCentreTestCase
{
  public:
    CarriedTestCase()
        : DataCentreTestCase("links carry what they can")
    {
    }

  private:
    static constexpr uint32_t FRAME = 9002;

    /// @return the bytes that a directed link can carry from 0 to a time
    static double Integrate(const Topology& topology,
                            const std::vector<RateChange>& changes,
                            DirectedLinkId link,
                            double end)
    {
        double bytes = 0;
        double since = 0;
        double rate = topology.GetLinkOf(link).rateBps;
        for (const RateChange& change : changes)
        {
            const double at = std::min(1e-9 * change.atNs, end);
            if (change.link == link)
            {
                bytes += (at - since) * rate / 8 + FRAME; // The last one keeps its rate.
                since = at;
                rate = change.rateBps;
            }
        }
        return bytes + (end - since) * rate / 8;
    }

    void Check(const std::string& spec, AllReduceSession::Adaptation adapt, uint64_t seed)
    {
        const Experiment experiment = MakeExperiment(ParseTopology(spec), "greedy", 4 << 20, 4);
        const Topology& topology = experiment.topology;
        ExperimentSettings settings;
        settings.transport = "raw";
        settings.sync = AllReduceSession::DEPENDENCY;
        settings.adapt = adapt;
        settings.bursts = BurstModel{0.5, 0.8, MicroSeconds(100), MicroSeconds(150), seed};
        settings.rateChanges = {{0, 500'000, topology.GetLink(0).rateBps / 8},
                                {0, 2'500'000, topology.GetLink(0).rateBps}};
        settings.lateServers = {{1, 700'000}};
        settings.faults = {{3, MicroSeconds(900), MicroSeconds(1500)}};
        const ExperimentResult result = RunExperiment(experiment, settings);
        NS_TEST_ASSERT_MSG_EQ(result.failure, "", spec << " seed " << seed);
        const Time end = Seconds(result.endSeconds);
        const auto changes =
            ListCapacityChanges(topology, DrawSurprises(topology, settings, end, end));
        double mostUsed = 0;
        for (const LinkUse& use : result.links)
        {
            const double most = Integrate(topology, changes, use.link, result.endSeconds);
            const double waiting = double(use.queuePeak) * FRAME;
            NS_TEST_EXPECT_MSG_LT_OR_EQ(use.bytes,
                                        most + waiting,
                                        spec << " seed " << seed << " link " << use.link);
            mostUsed = std::max(mostUsed, use.bytes / most);
        }
        NS_TEST_EXPECT_MSG_GT(mostUsed, 0.3, spec << " seed " << seed << ": it matters");
    }

    void DoRun() override
    {
        for (uint64_t seed = 1; seed <= 5; ++seed)
        {
            for (const auto adapt : {AllReduceSession::NO_ADAPTATION, AllReduceSession::LIVE})
            {
                Check("bcube:3,1", adapt, seed);
                Check("dcell:3,1", adapt, seed);
            }
        }
    }
};

/// The others wait for a late server, or begin without it.
class LateServerTestCase : public DataCentreTestCase
{
  public:
    LateServerTestCase()
        : DataCentreTestCase("a late server")
    {
    }

  private:
    static ExperimentResult Run(const RunOptions& options)
    {
        return RunExperiment(MakeExperiment(MakeTestStar(6), "greedy", 3'000'000, 4), options);
    }

    void CheckWaiting(const std::string& transport, const std::string& sync)
    {
        const std::string what = transport + " " + sync;
        RunOptions options = MakeOptions(transport, sync);
        const ExperimentResult calm = Run(options);
        options.faults.late = {"2:1ms", "5:3ms"};
        const ExperimentResult late = Run(options);
        NS_TEST_EXPECT_MSG_EQ(late.failure, "", what);
        NS_TEST_EXPECT_MSG_EQ_TOL(late.measuredSeconds,
                                  calm.measuredSeconds + 3e-3,
                                  0.05 * calm.measuredSeconds,
                                  what << " waits for the last one");
        NS_TEST_EXPECT_MSG_EQ(late.idealSeconds, calm.idealSeconds, what << " ideal");
        options.iterations = 2;
        options.computeTime = "1ms";
        const ExperimentResult twice = Run(options);
        NS_TEST_EXPECT_MSG_EQ_TOL(twice.measuredSeconds,
                                  calm.measuredSeconds + 1.5e-3,
                                  0.05 * calm.measuredSeconds,
                                  what << " waits once");
    }

    void CheckLive()
    {
        RunOptions options = MakeOptions("raw", "dependency");
        options.faults.late = {"2:3ms"};
        const double waiting = Run(options).measuredSeconds;
        options.adapt = "live";
        const ExperimentResult live = Run(options);
        NS_TEST_EXPECT_MSG_EQ(live.failure, "", "live");
        NS_TEST_EXPECT_MSG_LT(live.measuredSeconds, waiting, "the others have begun");
        NS_TEST_EXPECT_MSG_GT(live.measuredSeconds, 3e-3, "but cannot end without it");
        options.faults.fail = {"2-6@2ms,5ms"};
        const ExperimentResult cutOff = Run(options);
        NS_TEST_EXPECT_MSG_EQ(cutOff.failure, "", "it waits for the only link of the late one");
        NS_TEST_EXPECT_MSG_GT(cutOff.measuredSeconds, 5e-3, "which is mended then");
    }

    void CheckExperiment()
    {
        const Experiment experiment = MakeExperiment(MakeTestStar(6), "greedy", 3'000'000, 4);
        ExperimentSettings settings;
        settings.lateServers = {{6, 1}};
        NS_TEST_EXPECT_MSG_EQ(GetError([&] { RunExperiment(experiment, settings); }),
                              "lateServers: server 6 at 1 ns, expected one of the 6 of " +
                                  experiment.topology.GetName() + " at 0 ns or later",
                              "no such server");
        settings.lateServers.clear();
        settings.rateChanges = {{12, 1, 1}};
        NS_TEST_EXPECT_MSG_EQ(Contains(GetError([&] { RunExperiment(experiment, settings); }),
                                       "rateChanges: directed link 12 at 1 ns, expected one of"),
                              true,
                              "no such link");
        for (const uint64_t rate : {uint64_t{0}, 1000 * GBPS})
        {
            settings.rateChanges = {{1, 1, rate}};
            NS_TEST_EXPECT_MSG_EQ(Contains(GetError([&] { RunExperiment(experiment, settings); }),
                                           " bit/s, expected 1 to "),
                                  true,
                                  "not a rate that it can have: " << rate);
        }
        settings.rateChanges.clear();
        settings.bursts = BurstModel{0.5, 1, NanoSeconds(1), NanoSeconds(1)};
        NS_TEST_EXPECT_MSG_EQ(Contains(GetError([&] { RunExperiment(experiment, settings); }),
                                       "bursts: share 0.5, load 1, times"),
                              true,
                              "nothing would be left");
    }

    void CheckJobs()
    {
        PlanOptions plan;
        plan.schedulers = {"greedy"};
        plan.chunksPerServer = "2";
        RunOptions run = MakeOptions("raw", "dependency");
        run.faults.late = {"2:3ms"};
        const auto jobs = PlanJobs(MakeTestStar(6),
                                   ParseJobs({"name=a", "name=b;start=4ms"}, plan, run, 1 << 20));
        const auto calm = RunJobs(jobs, run);
        const double alone = calm[0].alone.measuredSeconds;
        NS_TEST_EXPECT_MSG_GT(calm[0].together.measuredSeconds, alone + 3e-3, "waits");
        NS_TEST_EXPECT_MSG_LT(calm[1].together.measuredSeconds, 3e-3, "starts later anyway");
        run.faults.slow = {"0-6:2@0"};
        run.faults.bursts = "0.5,0.5,10us,10us,3";
        const auto all = RunJobs(jobs, run);
        for (std::size_t i = 0; i < jobs.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(all[i].together.failure, "", jobs[i].options.name);
            NS_TEST_EXPECT_MSG_EQ(all[i].alone.measuredSeconds, alone, "alone all is calm");
            NS_TEST_EXPECT_MSG_GT(all[i].together.measuredSeconds,
                                  1.5 * calm[i].together.measuredSeconds - 3e-3,
                                  "slower links for all jobs");
        }
    }

    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            for (const std::string& sync : SYNCS)
            {
                CheckWaiting(transport, sync);
            }
        }
        CheckLive();
        CheckExperiment();
        CheckJobs();
    }
};

/// What is constant can be told to planners, and then is no surprise.
class KnownTestCase : public DataCentreTestCase
{
  public:
    KnownTestCase()
        : DataCentreTestCase("planners that know")
    {
    }

  private:
    void DoRun() override
    {
        const Topology topology = ParseTopology("bcube:3,1");
        PlanOptions plan;
        plan.chunksPerServer = "8";
        RunOptions options = MakeOptions("raw", "dependency");
        options.faults.slow = {"0-9:10", "1-9:2@1us,2us"};
        const Experiment unknown = PlanExperiment(topology, "forest", 4 << 20, plan, options);
        const auto before = RunExperiment(unknown, options);
        const auto rowBefore = MakeRow(unknown, options, before);
        options.faults.known = true;
        const Experiment known = PlanExperiment(topology, "forest", 4 << 20, plan, options);
        const auto after = RunExperiment(known, options);
        const auto row = MakeRow(known, options, after);
        NS_TEST_EXPECT_MSG_EQ(after.failure, "", "on the same network");
        NS_TEST_EXPECT_MSG_EQ(known.GetAnnounced().GetLink(0).rateBps,
                              unknown.GetAnnounced().GetLink(0).rateBps / 10,
                              "what planners are told");
        NS_TEST_EXPECT_MSG_EQ(after.idealSeconds, before.idealSeconds, "of the actual network");
        NS_TEST_EXPECT_MSG_LT(after.measuredSeconds, before.measuredSeconds / 3, "it helps");
        std::vector<Link> links = topology.GetLinks();
        links[0].rateBps /= 10;
        DeriveCapacities(links); // as in a file
        options.faults.known = false;
        options.faults.slow.erase(options.faults.slow.begin());
        const Topology file = topology.WithLinks(topology.GetName(), links);
        const Experiment ofFile = PlanExperiment(file, "forest", 4 << 20, plan, options);
        NS_TEST_EXPECT_MSG_EQ(ofFile.plan.GetHash(), known.plan.GetHash(), "as with a file");
        NS_TEST_EXPECT_MSG_EQ(RunExperiment(ofFile, options).measuredSeconds,
                              after.measuredSeconds,
                              "that says so");
        NS_TEST_EXPECT_MSG_EQ(rowBefore["slower_than_planned"].size(), 2, "both");
        NS_TEST_EXPECT_MSG_EQ(rowBefore["predicted_for"], "announced network", "not the actual");
        NS_TEST_EXPECT_MSG_EQ(row["slower_than_planned"].size(), 1, "nobody knows what comes");
        NS_TEST_EXPECT_MSG_EQ(row.contains("predicted_for"), false, "of the network that there is");
    }
};

/// What is no surprise is refused with a message that names it.
class SurpriseOptionsTestCase : public TestCase
{
  public:
    SurpriseOptionsTestCase()
        : TestCase("options of surprises")
    {
    }

  private:
    static std::string Refuse(const FaultOptions& options)
    {
        const Topology topology = ParseTopology("bcube:2,1");
        ExperimentSettings settings;
        return GetError([&] {
            options.Check();
            options.SetFaults(topology, settings);
            options.ApplySlow(topology);
        });
    }

    void CheckSlow()
    {
        const std::map<std::vector<std::string>, std::string> refusals = {
            {{"0-4:2@"}, "expected a time"},
            {{"0-4@1ms"}, "expected A-B:FACTOR[@TIME[,UP_TIME]]"},
            {{"0-4:2@x"}, "expected a time"},
            {{"0-4:2@2ms,1ms"}, "expected the link to recover after it became slower"},
            {{"0-4:2@2ms,2ms"}, "expected the link to recover after it became slower"},
            {{"0-4:1@2ms"}, "expected a factor above 1"},
            {{"0-4:1e11@2ms"}, "expected less, and 1 bit/s or more"},
            {{"0-1:2@2ms"}, "has no link 0-1"},
            {{"0-4:2@1ms,3ms", "4-0:3@2ms"}, "named twice for the same time, expected once"},
            {{"0-4:3@2ms", "4-0:2@3ms"}, "named twice for the same time, expected once"},
            {{"0-4:3@2ms", "4-0:2"}, "named twice for the same time, expected once"},
            {{"0-4:3", "0-4:2"}, "named twice for the same time, expected once"},
        };
        for (const auto& [slow, expected] : refusals)
        {
            FaultOptions options;
            options.slow = slow;
            NS_TEST_EXPECT_MSG_EQ(Contains(Refuse(options), expected),
                                  true,
                                  "--slow=" << slow.front() << ": " << Refuse(options));
        }
        FaultOptions options;
        options.slow = {"4-0:4@3ms,5ms", "0-4:2@1ms,3ms", "1-4:2"};
        ExperimentSettings settings;
        const Topology topology = ParseTopology("bcube:2,1");
        options.SetFaults(options.ApplySlow(topology), settings);
        const uint64_t rate = topology.GetLink(0).rateBps;
        const auto changes =
            ListRates(topology, {{}, settings.rateChanges, {}, settings.lateServers});
        const std::vector<std::pair<int64_t, uint64_t>> expected = {{1'000'000, rate / 2},
                                                                    {3'000'000, rate / 4},
                                                                    {5'000'000, rate}};
        NS_TEST_ASSERT_MSG_EQ(changes.size(), 2 * expected.size(), "both directions");
        for (std::size_t i = 0; i < changes.size(); ++i)
        {
            NS_TEST_EXPECT_MSG_EQ(changes[i].link, i % 2, "link 0-4");
            NS_TEST_EXPECT_MSG_EQ(changes[i].atNs, expected[i / 2].first, "when");
            NS_TEST_EXPECT_MSG_EQ(changes[i].rateBps, expected[i / 2].second, "what");
        }
    }

    void CheckOthers()
    {
        for (const std::vector<std::string>& late :
             std::vector<std::vector<std::string>>{{""},
                                                   {"1"},
                                                   {"4:1ms"},
                                                   {"x:1ms"},
                                                   {"1:x"},
                                                   {"1:0"},
                                                   {"1:1ms", "1:2ms"},
                                                   {"-1:1"}})
        {
            FaultOptions options;
            options.late = late;
            NS_TEST_EXPECT_MSG_EQ(Contains(Refuse(options), "--late"), true, late.front());
        }
        for (const std::string bursts : {"1",
                                         "0,0.5,1ms,1ms,1",
                                         "0.5,0,1ms,1ms,1",
                                         "0.5,1,1ms,1ms,1",
                                         "0.5,0.5,0,1ms,1",
                                         "0.5,0.5,1ms,0,1",
                                         "0.5,0.5,1ms,1ms",
                                         "0.5,0.5,1ms,1ms,x",
                                         "0.5,0.5,1ms,1ms,1,1"})
        {
            FaultOptions options;
            options.bursts = bursts;
            NS_TEST_EXPECT_MSG_EQ(Contains(Refuse(options), "--bursts"), true, bursts);
        }
        FaultOptions options;
        options.known = true;
        NS_TEST_EXPECT_MSG_EQ(Contains(Refuse(options), "--known: has no effect"), true, "no link");
        options.slow = {"0-4:2@1ms"};
        NS_TEST_EXPECT_MSG_EQ(Contains(Refuse(options), "--known: has no effect"), true, "timed");
        options.slow.emplace_back("1-4:2");
        NS_TEST_EXPECT_MSG_EQ(Refuse(options), "", "one is constant");
    }

    void DoRun() override
    {
        CheckSlow();
        CheckOthers();
    }
};

class SurprisesTestSuite : public TestSuite
{
  public:
    SurprisesTestSuite()
        : TestSuite("allreduce-surprises", TestSuite::Type::UNIT)
    {
        AddTestCase(new LinkRateTestCase);
        AddTestCase(new CapacityChangesTestCase);
        AddTestCase(new DrawBurstsTestCase);
        AddTestCase(new SlowForATimeTestCase);
        AddTestCase(new BurstsTestCase);
        AddTestCase(new CarriedTestCase);
        AddTestCase(new LateServerTestCase);
        AddTestCase(new KnownTestCase);
        AddTestCase(new SurpriseOptionsTestCase);
    }
};

SurprisesTestSuite g_surprisesTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
