/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-test-utils.h"
#include "random-network.h"
#include "session-test-utils.h"

#include "ns3/allreduce-helper.h"
#include "ns3/allreduce-transport.h"
#include "ns3/boolean.h"
#include "ns3/chunk-needs.h"
#include "ns3/enum.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/test.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

using Adaptation = AllReduceSession::Adaptation;

/// @return the network with links that are slower by a factor
Topology
SlowDownLinks(const Topology& topology, const std::map<LinkId, uint64_t>& factors)
{
    std::vector<Link> links = topology.GetLinks();
    for (const auto& [link, factor] : factors)
    {
        links[link].rateBps = std::max<uint64_t>(1, links[link].rateBps / factor);
    }
    return topology.WithLinks(topology.GetName(), std::move(links));
}

/// Experiments, and how they are run, that differ by how they adapt.
struct AdaptationRun
{
    Experiment experiment;       //!< its network may have slow links that nobody announced
    ExperimentSettings settings; //!< all but how it adapts

    /// @return what comes out @param adapt how it adapts
    ExperimentResult Run(Adaptation adapt) const
    {
        ExperimentSettings adapted = settings;
        adapted.adapt = adapt;
        return RunExperiment(experiment, adapted);
    }
};

/// @return an AllReduce over the transport with real numbers, of rounds that do not wait
AdaptationRun
MakeAdaptationRun(const Topology& announced,
                  const std::map<LinkId, uint64_t>& slow,
                  uint64_t bytes,
                  uint32_t chunksPerServer,
                  const std::string& transport)
{
    AdaptationRun run{MakeExperiment(announced, "forest", bytes, chunksPerServer), {}};
    run.experiment.topology = SlowDownLinks(announced, slow);
    run.experiment.announced = announced;
    run.settings.transport = transport;
    run.settings.sync = AllReduceSession::DEPENDENCY;
    run.settings.verifyData = true;
    return run;
}

/// Draws runs on networks that are not as announced.
class AdaptationDraw
{
  public:
    /// @param seed another seed draws another run
    explicit AdaptationDraw(uint64_t seed)
        : m_random(seed),
          m_seed(seed)
    {
    }

    /// @return a run; none: what was drawn needs relays that it may not have
    std::optional<AdaptationRun> Make()
    {
        const Topology announced = DrawTopology();
        const Collective collective = DrawCollective(announced, m_random);
        if (!FindCutOff(AllReduceState(announced, collective), false).empty())
        {
            return std::nullopt;
        }
        const auto scheduler = CreateScheduler(Choose({"forest", "greedy"}));
        VerifiedPlan plan = PlanVerified(announced, collective, *scheduler);
        const uint64_t bytes = DrawBytes(collective.GetNChunks());
        AdaptationRun run{{DrawActual(announced), "random", scheduler, plan, bytes}, {}};
        run.experiment.announced = announced;
        DrawSettings(run.settings);
        DrawFaults(run.settings, announced, bytes);
        return run;
    }

    /// @return how it adapts @param settings of the run
    Adaptation DrawAdaptation(const ExperimentSettings& settings)
    {
        const bool canBeLive = settings.sync == AllReduceSession::DEPENDENCY;
        return canBeLive && Draw(m_random, 3) > 0 ? AllReduceSession::LIVE
                                                  : AllReduceSession::REPLAN;
    }

  private:
    std::string Choose(const std::vector<std::string>& choices)
    {
        return choices[Draw(m_random, choices.size())];
    }

    Topology DrawTopology()
    {
        const std::string number = std::to_string(1 + Draw(m_random, 100));
        const std::string spec = Choose({"star",
                                         "bcube:2,1",
                                         "bcube:3,1",
                                         "bcube:4,1",
                                         "dcell:2,1",
                                         "dcell:3,1",
                                         "torus:6",
                                         "torus:3x3",
                                         "torus:4x4",
                                         "jellyfish:6,3,1," + number,
                                         "jellyfish:4,2,2," + number,
                                         "random"});
        return spec == "star"     ? MakeTestStar(4 + Draw(m_random, 13))
               : spec == "random" ? DrawNetwork(m_seed, 16)
                                  : ParseTopology(spec);
    }

    /// One byte in each chunk, or less, or some frames.
    uint64_t DrawBytes(uint32_t nChunks)
    {
        const uint32_t kind = Draw(m_random, 6);
        return kind == 0   ? nChunks
               : kind == 1 ? 1 + Draw(m_random, nChunks)
                           : 1 + Draw(m_random, 1U << (10 + Draw(m_random, 12)));
    }

    Topology DrawActual(const Topology& announced)
    {
        std::map<LinkId, uint64_t> slow;
        for (uint32_t n = Draw(m_random, 5); n > 0; --n)
        {
            slow[Draw(m_random, announced.GetNLinks())] =
                2 + Draw(m_random, 2U << Draw(m_random, 7));
        }
        return SlowDownLinks(announced, slow);
    }

    void DrawSettings(ExperimentSettings& settings)
    {
        settings.transport = Choose(GetTransportNames());
        settings.sync =
            Draw(m_random, 4) == 0 ? AllReduceSession::BARRIER : AllReduceSession::DEPENDENCY;
        settings.verifyData = true;
        settings.iterations = 1 + Draw(m_random, 3);
        settings.computeTime = NanoSeconds(Draw(m_random, 2) * Draw(m_random, 100'000));
        settings.frame = Draw(m_random, 2) == 0 ? 9000 : 1500;
        if (Draw(m_random, 3) == 0)
        {
            settings.queue = QueueSize(QueueSizeUnit::PACKETS, 5 + Draw(m_random, 100));
        }
    }

    /// Links that break and are mended; now and then one that is not.
    void DrawFaults(ExperimentSettings& settings, const Topology& announced, uint64_t bytes)
    {
        const Link& link = announced.GetLink(0);
        const uint64_t scale = 32e9 * bytes / link.rateBps + 40.0 * link.delayNs + 1000;
        for (uint32_t n = Draw(m_random, 2) * Draw(m_random, 5); n > 0; --n)
        {
            LinkFault fault;
            fault.link = Draw(m_random, announced.GetNLinks());
            fault.down = NanoSeconds(Draw(m_random, 5) == 0 ? 0 : m_random() % scale);
            fault.up = fault.down + NanoSeconds(1 + m_random() % scale);
            settings.faults.push_back(fault);
        }
        if (Draw(m_random, 4) == 0)
        {
            settings.nRandomFaults = 1 + Draw(m_random, std::min(3U, announced.GetNLinks()));
            settings.faultSeed = m_seed;
        }
    }

    TestRandom m_random; //!< random numbers
    uint64_t m_seed;     //!< of the run
};

/// Whatever is slow or breaks, each run ends, and all sums are exact.
class RandomAdaptationTestCase : public DataCentreTestCase
{
  public:
    /// @param first seed of the first run @param last seed of the last run
    RandomAdaptationTestCase(uint64_t first, uint64_t last)
        : DataCentreTestCase("random runs " + std::to_string(first) + " to " +
                             std::to_string(last) + " that adapt"),
          m_first(first),
          m_last(last)
    {
    }

  private:
    void DoRun() override
    {
        uint32_t nCutOff = 0;
        for (uint64_t seed = m_first; seed <= m_last; ++seed)
        {
            nCutOff += Check(seed) ? 1 : 0;
        }
        NS_TEST_EXPECT_MSG_LT(nCutOff, (m_last - m_first + 1) / 4, "most are not cut off");
    }

    /// @return whether it was cut off
    bool Check(uint64_t seed)
    {
        AdaptationDraw draw(seed);
        const std::optional<AdaptationRun> run = draw.Make();
        if (!run)
        {
            return false;
        }
        const Adaptation adapt = draw.DrawAdaptation(run->settings);
        const ExperimentResult result = run->Run(adapt);
        const std::string what = "seed " + std::to_string(seed) +
                                 (adapt == AllReduceSession::LIVE ? ", live" : ", replan");
        // Links that are mended wait; only those that break for good can cut servers off.
        const bool isCutOff = run->settings.nRandomFaults > 0 &&
                              Contains(result.failure, "cut off by links that are down");
        NS_TEST_EXPECT_MSG_EQ((isCutOff ? "" : result.failure), "", what);
        NS_TEST_EXPECT_MSG_EQ((isCutOff || result.isVerified), true, what << ": verified");
        return isCutOff;
    }

    const uint64_t m_first; //!< seed of the first run
    const uint64_t m_last;  //!< seed of the last run
};

/// A link that is ten times slower than announced costs little if the session adapts.
class SurprisinglySlowTestCase : public DataCentreTestCase
{
  public:
    /// @param mebibytes of the gradient
    explicit SurprisinglySlowTestCase(uint64_t mebibytes)
        : DataCentreTestCase("a link that is ten times slower than announced, " +
                             std::to_string(mebibytes) + " MiB"),
          m_bytes(mebibytes << 20)
    {
    }

  private:
    void DoRun() override
    {
        const Topology announced = ParseTopology("bcube:4,1");
        const LinkId link = GetLinkId(*announced.FindDirectedLink(0, 16));
        const AdaptationRun even = MakeAdaptationRun(announced, {}, m_bytes, 8, "raw");
        const AdaptationRun slow = MakeAdaptationRun(announced, {{link, 10}}, m_bytes, 8, "raw");
        const double usual = Run(even, AllReduceSession::NO_ADAPTATION);
        const double none = Run(slow, AllReduceSession::NO_ADAPTATION);
        const double replan = Run(slow, AllReduceSession::REPLAN);
        const double live = Run(slow, AllReduceSession::LIVE);
        NS_TEST_EXPECT_MSG_GT(none, 5 * usual, "followed blindly");
        NS_TEST_EXPECT_MSG_LT(replan, 3 * usual, "planned anew");
        NS_TEST_EXPECT_MSG_LT(live, 2 * usual, "chosen live");
    }

    double Run(const AdaptationRun& run, Adaptation adapt)
    {
        const ExperimentResult result = run.Run(adapt);
        NS_TEST_EXPECT_MSG_EQ(result.failure, "", "adapt " << adapt);
        NS_TEST_EXPECT_MSG_EQ((result.nReplans > 0), (adapt == AllReduceSession::REPLAN), adapt);
        return result.measuredSeconds;
    }

    const uint64_t m_bytes; //!< of the gradient
};

/// What was learned in one AllReduce serves the next.
class SlowAgainTestCase : public DataCentreTestCase
{
  public:
    SlowAgainTestCase()
        : DataCentreTestCase("a slow link in one AllReduce after another")
    {
    }

  private:
    void DoRun() override
    {
        const Topology announced = ParseTopology("bcube:4,1");
        const LinkId link = GetLinkId(*announced.FindDirectedLink(0, 16));
        for (const Adaptation adapt : {AllReduceSession::REPLAN, AllReduceSession::LIVE})
        {
            AdaptationRun run = MakeAdaptationRun(announced, {{link, 10}}, 2 << 20, 8, "raw");
            const double once = run.Run(adapt).measuredSeconds;
            run.settings.iterations = 3;
            const ExperimentResult result = run.Run(adapt);
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", "adapt " << adapt);
            NS_TEST_EXPECT_MSG_LT(result.measuredSeconds, 1.1 * once, "adapt " << adapt);
            NS_TEST_EXPECT_MSG_EQ(result.knownIdealSeconds,
                                  result.idealSeconds,
                                  "nothing changes, so that there is nothing else to know");
        }
    }
};

/// Where all is as announced, adapting costs nothing.
class EvenNetworkTestCase : public DataCentreTestCase
{
  public:
    /// @param spec the network @param transports names
    EvenNetworkTestCase(const std::string& spec, std::vector<std::string> transports)
        : DataCentreTestCase(spec + ", as announced"),
          m_spec(spec),
          m_transports(std::move(transports))
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& transport : m_transports)
        {
            Check(ParseTopology(m_spec), transport);
        }
    }

    void Check(const Topology& topology, const std::string& transport)
    {
        const AdaptationRun run = MakeAdaptationRun(topology, {}, 4 << 20, 8, transport);
        const ExperimentResult none = run.Run(AllReduceSession::NO_ADAPTATION);
        const ExperimentResult replan = run.Run(AllReduceSession::REPLAN);
        const ExperimentResult live = run.Run(AllReduceSession::LIVE);
        const std::string what = topology.GetName() + ", " + transport;
        NS_TEST_EXPECT_MSG_EQ(none.failure + replan.failure + live.failure, "", what);
        NS_TEST_EXPECT_MSG_EQ(replan.nReplans, 0, what << ": nothing is planned anew");
        NS_TEST_EXPECT_MSG_EQ(replan.measuredSeconds, none.measuredSeconds, what);
        NS_TEST_EXPECT_MSG_EQ(replan.bytesGivenUp + live.bytesGivenUp, 0, what);
        NS_TEST_EXPECT_MSG_LT(live.measuredSeconds, 1.05 * none.measuredSeconds, what);
    }

    const std::string m_spec;                    //!< the network
    const std::vector<std::string> m_transports; //!< names
};

/// A session that does not adapt neither looks at flows nor cares what was announced.
class NoAdaptationTestCase : public DataCentreTestCase
{
  public:
    NoAdaptationTestCase()
        : DataCentreTestCase("a session that does not adapt")
    {
    }

  private:
    void DoRun() override
    {
        const Topology announced = ParseTopology("bcube:3,1");
        for (const std::string& transport : GetTransportNames())
        {
            for (const auto sync : {AllReduceSession::BARRIER, AllReduceSession::DEPENDENCY})
            {
                AdaptationRun run = MakeAdaptationRun(announced, {{0, 20}}, 1 << 20, 4, transport);
                run.settings.sync = sync;
                const ExperimentResult told = run.Run(AllReduceSession::NO_ADAPTATION);
                run.experiment.announced.reset();
                const ExperimentResult untold = run.Run(AllReduceSession::NO_ADAPTATION);
                NS_TEST_EXPECT_MSG_EQ(told.failure + untold.failure, "", transport);
                NS_TEST_EXPECT_MSG_EQ(told.measuredSeconds, untold.measuredSeconds, transport);
                NS_TEST_EXPECT_MSG_EQ(told.nEvents, untold.nEvents, transport << ": no looks");
                NS_TEST_EXPECT_MSG_EQ(told.nReplans + told.nAborted, 0, transport);
            }
        }
    }
};

/// A session whose servers start at any time.
class LateServersTestCase : public DataCentreTestCase
{
  public:
    /// @param lateOnes how late, in nanoseconds
    explicit LateServersTestCase(std::vector<int64_t> lateOnes)
        : DataCentreTestCase("a server that is ready later, with links that break meanwhile, " +
                             std::to_string(lateOnes.size()) + " times"),
          m_lates(std::move(lateOnes))
    {
    }

  private:
    void NoteStarted(uint32_t)
    {
        m_firstRound = Min(m_firstRound, Simulator::Now());
    }

    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            for (const int64_t late : m_lates)
            {
                Check(transport, late, {});
                Check(transport, late, {late / 2, late});
                Check(transport, late, {late, 2 * late});
                Check(transport, late, {late / 2, 2 * late + 1'000'000});
            }
        }
    }

    /// @param outage begin and end in ns of that of another server's link; none: nothing breaks
    void Check(const std::string& transport, int64_t late, const std::vector<int64_t>& outage)
    {
        const auto network = TopologyHelper(MakeTestStar(5)).Install();
        AllReduceHelper helper(network);
        helper.SetAttribute("Bytes", UintegerValue(1 << 20));
        helper.SetAttribute("Sync", EnumValue(AllReduceSession::DEPENDENCY));
        helper.SetAttribute("Adapt", EnumValue(AllReduceSession::LIVE));
        helper.SetAttribute("Iterations", UintegerValue(2));
        helper.SetAttribute("VerifyData", BooleanValue(true));
        helper.SetChunksPerServer(4);
        const auto session = helper.Install("forest", transport);
        session->TraceConnectWithoutContext("RoundStarted",
                                            MakeCallback(&LateServersTestCase::NoteStarted, this));
        helper.GetApplications().Get(2)->SetStartTime(NanoSeconds(late));
        if (!outage.empty())
        {
            network->ScheduleOutage(0,
                                    NanoSeconds(outage[0]),
                                    NanoSeconds(outage[1] - outage[0] + 1));
        }
        m_firstRound = Time::Max();
        Simulator::Run();
        const std::string what = transport + ", late " + std::to_string(late) + " ns" +
                                 (outage.empty() ? "" : ", outage at " + std::to_string(outage[0]));
        NS_TEST_EXPECT_MSG_EQ(session->GetFailure(), "", what);
        NS_TEST_EXPECT_MSG_EQ(session->IsFinished(), true, what);
        if (late == 20'000'000)
        {
            NS_TEST_EXPECT_MSG_LT(m_firstRound, NanoSeconds(late), what << ": others begin");
        }
        Simulator::Destroy();
    }

    const std::vector<int64_t> m_lates; //!< how late, in nanoseconds
    Time m_firstRound;                  //!< when the first round began
};

/// One of several transfers on a path is given up.
class GivenUpTestCase : public DataCentreTestCase
{
  public:
    GivenUpTestCase()
        : DataCentreTestCase("a transfer that is given up leaves others on its path alone")
    {
    }

  private:
    void NoteSent(TransferId id)
    {
        ++m_nSent[id];
    }

    void NoteDelivered(TransferId id, const Bytes& data)
    {
        m_delivered[id] = data;
    }

    void DoRun() override
    {
        for (const std::string& name : GetTransportNames())
        {
            for (const int64_t ns : {0, 1'000, 100'000, 500'000, 1'000'000})
            {
                Check(name, NanoSeconds(ns));
            }
        }
    }

    void Check(const std::string& name, Time when)
    {
        constexpr uint64_t BYTES = 1'000'000;
        m_nSent.clear();
        m_delivered.clear();
        const auto network = TopologyHelper(MakeTestStar(2)).Install();
        const auto transport = CreateTransport(name);
        transport->Open(network,
                        MakeCallback(&GivenUpTestCase::NoteSent, this),
                        MakeCallback(&GivenUpTestCase::NoteDelivered, this));
        const auto send = [&](TransferId id) {
            auto payload = std::make_shared<Bytes>(BYTES);
            for (uint64_t i = 0; i < BYTES; ++i)
            {
                (*payload)[i] = static_cast<uint8_t>(i * (id + 1));
            }
            transport->Send({id, {0, 2, 1}, BYTES, DEFAULT_LINK_RATE_BPS / 3, payload});
            m_expected[id] = *payload;
        };
        for (const TransferId id : {1, 2, 3})
        {
            send(id);
        }
        Simulator::Schedule(when, [&] { transport->Cancel(2); });
        Simulator::Schedule(when + MicroSeconds(10), [&] { send(4); });
        Simulator::Run();
        const std::string what = name + ", after " + std::to_string(when.GetNanoSeconds()) + " ns";
        NS_TEST_EXPECT_MSG_EQ(m_delivered.count(2), 0, what << ": given up");
        for (const TransferId id : {1, 3, 4})
        {
            NS_TEST_EXPECT_MSG_EQ((m_delivered[id] == m_expected[id]), true, what << ": " << id);
            NS_TEST_EXPECT_MSG_LT_OR_EQ(m_nSent[id], 1, what << ": told once that it is sent");
        }
        transport->Dispose();
        Simulator::Destroy();
    }

    std::map<TransferId, uint32_t> m_nSent;  //!< by transfer: how often its sender was done
    std::map<TransferId, Bytes> m_delivered; //!< by transfer: what has arrived
    std::map<TransferId, Bytes> m_expected;  //!< by transfer: what was sent
};

/// Links that break before the first transfer, or all at once.
class EarlyOutagesTestCase : public DataCentreTestCase
{
  public:
    EarlyOutagesTestCase()
        : DataCentreTestCase("links that break while a transport prepares, and all at once")
    {
    }

  private:
    void DoRun() override
    {
        for (const std::string& transport : GetTransportNames())
        {
            for (const int64_t down : {0, 1, 500, 5'000, 40'000})
            {
                Check(transport, down, 1);
                Check(transport, down, 100);
            }
        }
    }

    void Check(const std::string& transport, int64_t down, LinkId nLinks)
    {
        AdaptationRun run =
            MakeAdaptationRun(ParseTopology("bcube:2,1"), {}, 100'000, 2, transport);
        for (LinkId link = 0; link < std::min(nLinks, run.experiment.topology.GetNLinks()); ++link)
        {
            run.settings.faults.push_back({link, NanoSeconds(down), NanoSeconds(down + 30'000)});
        }
        for (const Adaptation adapt : {AllReduceSession::REPLAN, AllReduceSession::LIVE})
        {
            const ExperimentResult result = run.Run(adapt);
            const std::string what = transport + ", adapt " + std::to_string(adapt) + ", " +
                                     std::to_string(nLinks) + " links down at " +
                                     std::to_string(down) + " ns";
            NS_TEST_EXPECT_MSG_EQ(result.failure, "", what);
            NS_TEST_EXPECT_MSG_EQ(result.isVerified, true, what);
        }
    }
};

class AdaptationTestSuite : public TestSuite
{
  public:
    AdaptationTestSuite()
        : TestSuite("allreduce-adaptation", TestSuite::Type::UNIT)
    {
        // Nanoseconds: while a transport prepares, in the middle, when all others are done.
        AddTestCase(new LateServersTestCase({1'000, 20'000'000}));
        AddTestCase(new LateServersTestCase({1, 10'000, 100'000, 200'000, 500'000, 1'000'000}),
                    EXTENSIVE);
        AddTestCase(new GivenUpTestCase);
        AddTestCase(new NoAdaptationTestCase);
        AddTestCase(new EvenNetworkTestCase("bcube:4,1", {"raw"}));
        for (const char* spec : {"bcube:4,1", "torus:4x4", "fattree:4"})
        {
            AddTestCase(new EvenNetworkTestCase(spec, GetTransportNames()), EXTENSIVE);
        }
        AddTestCase(new SurprisinglySlowTestCase(4));
        AddTestCase(new SurprisinglySlowTestCase(16), EXTENSIVE);
        AddTestCase(new SlowAgainTestCase);
        AddTestCase(new EarlyOutagesTestCase);
        AddTestCase(new RandomAdaptationTestCase(31, 60));
        AddTestCase(new RandomAdaptationTestCase(1, 30), EXTENSIVE);
        AddTestCase(new RandomAdaptationTestCase(61, 600), EXTENSIVE);
    }
};

AdaptationTestSuite g_adaptationTestSuite; //!< registers the suite

} // namespace

} // namespace ns3::allreduce
