/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "soak-run.h"

#include "allreduce-test-utils.h"
#include "random-network.h"
#include "run-experiment.h"
#include "session-test-utils.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-transport.h"
#include "ns3/allreduce-units.h"
#include "ns3/topology-file.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <sstream>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// What is drawn for a run.
struct SoakCase
{
    Topology topology;         //!< with delays and losses
    std::string scheduler;     //!< who plans
    uint32_t chunksPerServer;  //!< number of chunks for each server
    uint64_t bytes;            //!< size of the gradient
    RunOptions options;        //!< the rest
    std::vector<Link> downs;   //!< links that go down, by fault
    std::vector<Time> begins;  //!< when
    std::vector<Time> mending; //!< when they are up again; 0: never
};

/// Draws a run.
class SoakDraw
{
  public:
    explicit SoakDraw(uint64_t seed)
        : m_random(seed),
          m_seed(seed)
    {
    }

    SoakCase Make()
    {
        SoakCase drawn{DrawTopology(),
                       Choose(GetNamesWithoutLearning()),
                       1 + Draw(m_random, 2),
                       1 + Draw(m_random, 1u << Draw(m_random, 19)),
                       MakeOptions(Choose(GetTransportNames()), Choose(SYNCS)),
                       {},
                       {},
                       {}};
        drawn.options.control = Choose({"ideal", "packets"});
        drawn.options.iterations = 1 + Draw(m_random, 3);
        drawn.options.queue = Choose<std::string>({"5", "20", "auto"});
        drawn.options.recordsFlows = true;
        DrawSlow(drawn);
        DrawFaults(drawn);
        return drawn;
    }

  private:
    template <typename T>
    T Choose(const std::vector<T>& choices)
    {
        return choices[Draw(m_random, choices.size())];
    }

    std::string Choose(const std::vector<std::string>& choices)
    {
        return choices[Draw(m_random, choices.size())];
    }

    Topology DrawTopology()
    {
        const std::string number = std::to_string(1 + Draw(m_random, 100));
        const std::string spec = Choose({"bcube:2,1",
                                         "bcube:3,1",
                                         "dcell:2,1",
                                         "dcell:3,1",
                                         "torus:3x3",
                                         "fattree:4",
                                         "jellyfish:6,3,1," + number,
                                         "jellyfish:4,2,2," + number,
                                         "random"});
        const Topology plain = spec == "random" ? DrawNetwork(m_seed, 8) : ParseTopology(spec);
        std::vector<Link> links = plain.GetLinks();
        m_hasBackground = Draw(m_random, 5) == 0;
        const int64_t delay = std::llround(std::pow(10, 3 + Draw(m_random, 501) / 100.0));
        const double loss = Draw(m_random, 3) == 0 ? 0.001 * (1 + Draw(m_random, 20)) : 0;
        const bool keepsDelays = spec == "random" && Draw(m_random, 2) == 0;
        // Background traffic of fast links for the time of long delays would take minutes to
        // simulate: links get slower, so that about as many packets are sent.
        const uint64_t divisor = m_hasBackground ? 100 + delay / 10'000 : 1;
        for (Link& link : links)
        {
            link.delayNs = keepsDelays ? link.delayNs : delay;
            link.rateBps /= divisor;
            link.errorRate = loss;
        }
        return plain.WithLinks(spec, links);
    }

    void DrawSlow(SoakCase& drawn)
    {
        const uint32_t nSlow = Draw(m_random, 3);
        std::set<std::string> used;
        for (uint32_t i = 0; i < nSlow; ++i)
        {
            const std::string link = FormatEnds(DrawLink(drawn));
            const std::string factor = std::to_string(2 + Draw(m_random, 99));
            if (used.insert(link).second)
            {
                drawn.options.faults.slow.push_back(link + ":" + factor);
            }
        }
        if (m_hasBackground)
        {
            // Random traffic overflows a short queue so often that TCP does little but wait.
            const bool isShort = drawn.options.queue != "auto";
            const std::string least = drawn.options.transport == "tcp" ? "0.02" : "0.1";
            drawn.options.faults.background = isShort ? least : Choose({"0.1", "0.3", "0.5"});
        }
    }

    /// Times on the scale of a run: its share on the wires, and one delay for each of some rounds.
    Time DrawTime(const SoakCase& drawn)
    {
        const Link& link = drawn.topology.GetLink(0);
        const double wire = 16.0 * drawn.bytes / link.rateBps;
        const double scale = 1e9 * wire + 20.0 * link.delayNs + 1000;
        return NanoSeconds(1 + Draw(m_random, std::min(scale, 4e9)));
    }

    void DrawFaults(SoakCase& drawn)
    {
        const uint32_t nFaults = Draw(m_random, 4);
        std::set<std::string> used;
        for (uint32_t i = 0; i < nFaults; ++i)
        {
            const Link& link = DrawLink(drawn);
            if (!used.insert(FormatEnds(link)).second)
            {
                continue;
            }
            const Time down = DrawTime(drawn);
            const Time up = Draw(m_random, 2) == 0 ? down + DrawTime(drawn) : Time(0);
            drawn.downs.push_back(link);
            drawn.begins.push_back(down);
            drawn.mending.push_back(up);
            drawn.options.faults.fail.push_back(
                FormatEnds(link) + "@" + FormatTime(down.GetNanoSeconds()) +
                (up.IsZero() ? "" : "," + FormatTime(up.GetNanoSeconds())));
        }
    }

    const Link& DrawLink(const SoakCase& drawn)
    {
        return drawn.topology.GetLink(Draw(m_random, drawn.topology.GetNLinks()));
    }

    static std::string FormatEnds(const Link& link)
    {
        return std::to_string(link.a) + "-" + std::to_string(link.b);
    }

    TestRandom m_random;         //!< where chance comes from
    uint64_t m_seed;             //!< of the run
    bool m_hasBackground{false}; //!< there is other traffic
};

/// @return a number for the servers and switches that reached each other at a time
std::vector<uint32_t>
FindIslands(const SoakCase& drawn, Time time)
{
    std::vector<uint32_t> island(drawn.topology.GetNNodes());
    std::iota(island.begin(), island.end(), 0);
    for (const Link& link : drawn.topology.GetLinks())
    {
        bool isUp = true;
        for (std::size_t i = 0; i < drawn.downs.size(); ++i)
        {
            const bool isSame = drawn.downs[i].a == link.a && drawn.downs[i].b == link.b;
            const bool isMended = !drawn.mending[i].IsZero() && drawn.mending[i] <= time;
            isUp &= !(isSame && drawn.begins[i] <= time && !isMended);
        }
        if (isUp)
        {
            std::replace(island.begin(), island.end(), island[link.a], uint32_t{island[link.b]});
        }
    }
    return island;
}

/// @return what is wrong with a cut-off that a session reports; "" if it is one
std::string
FindWrongCutOff(const SoakCase& drawn, const std::string& failure, Time end)
{
    const std::string head = "cut off by links that are down: server ";
    if (failure.compare(0, head.size(), head) != 0)
    {
        return failure;
    }
    for (const Time& mending : drawn.mending)
    {
        if (mending > end)
        {
            return failure + ": but a link is due to be mended";
        }
    }
    std::set<NodeId> named;
    std::istringstream list(failure.substr(head.size()));
    for (std::string number; std::getline(list, number, ',');)
    {
        named.insert(std::stoul(number));
    }
    const std::vector<uint32_t> islands = FindIslands(drawn, end);
    for (NodeId x = 0; x < drawn.topology.GetNServers(); ++x)
    {
        for (NodeId y = 0; y < drawn.topology.GetNServers(); ++y)
        {
            if (named.count(x) > 0 && named.count(y) == 0 && islands[x] == islands[y])
            {
                return failure + ": but " + std::to_string(x) + " and " + std::to_string(y) +
                       " can reach each other";
            }
        }
    }
    return "";
}

/// Adds up what the flows that arrived carried. @return what is wrong; "" if nothing is
std::string
FindWrongSums(const Experiment& experiment, const ExperimentResult& result, uint32_t nIterations)
{
    std::set<std::tuple<uint32_t, uint32_t, uint32_t>> arrived;
    for (const AllReduceFlow& flow : result.flows)
    {
        arrived.insert({flow.iteration, flow.round, flow.position});
    }
    for (uint32_t iteration = 0; iteration < nIterations; ++iteration)
    {
        AllReduceSchedule handedOut{experiment.plan.collective, result.handedOut.at(iteration)};
        OwnSchedule done(handedOut);
        for (uint32_t round = 0; round < done.rounds.size(); ++round)
        {
            OwnRound kept;
            for (uint32_t position = 0; position < done.rounds[round].size(); ++position)
            {
                if (arrived.count({iteration, round, position}) > 0)
                {
                    kept.push_back(done.rounds[round][position]);
                }
            }
            done.rounds[round] = kept;
        }
        const std::string wrong = ExecuteWithNumbers(experiment.topology, done);
        if (!wrong.empty())
        {
            return "iteration " + std::to_string(iteration) + ": " + wrong;
        }
    }
    return "";
}

std::string
MakeCommand(const SoakCase& drawn, uint64_t seed)
{
    std::ostringstream text;
    text << "allreduce-run --topology=file:soak-" << seed << ".json --scheduler=" << drawn.scheduler
         << " --chunks-per-server=" << drawn.chunksPerServer << " --bytes=" << drawn.bytes
         << " --transport=" << drawn.options.transport << " --sync=" << drawn.options.sync
         << " --control=" << drawn.options.control << " --iterations=" << drawn.options.iterations
         << " --queue=" << drawn.options.queue
         << " --background=" << drawn.options.faults.background << " --verify-data";
    for (const std::string& slow : drawn.options.faults.slow)
    {
        text << " --slow=" << slow;
    }
    for (const std::string& fail : drawn.options.faults.fail)
    {
        text << " --fail=" << fail;
    }
    return text.str();
}

} // namespace

SoakOutcome
DescribeSoak(uint64_t seed)
{
    const SoakCase drawn = SoakDraw(seed).Make();
    std::ostringstream json;
    WriteTopologyJson(drawn.topology, json);
    return {SoakOutcome::DEFECT, "", MakeCommand(drawn, seed), json.str(), 0};
}

SoakOutcome
RunSoak(uint64_t seed)
{
    const SoakCase drawn = SoakDraw(seed).Make();
    SoakOutcome outcome = DescribeSoak(seed);
    const std::clock_t begin = std::clock();
    try
    {
        Experiment experiment =
            MakeExperiment(drawn.topology, drawn.scheduler, drawn.bytes, drawn.chunksPerServer);
        experiment.topology = drawn.options.MakeActual(drawn.topology);
        const ExperimentResult result = RunExperiment(experiment, drawn.options);
        if (result.failure.empty())
        {
            outcome.reason = FindWrongSums(experiment, result, drawn.options.iterations);
            outcome.kind = outcome.reason.empty() ? SoakOutcome::EXACT : SoakOutcome::DEFECT;
        }
        else
        {
            outcome.reason = FindWrongCutOff(drawn, result.failure, Seconds(result.endSeconds));
            outcome.kind = outcome.reason.empty() ? SoakOutcome::CUT_OFF : SoakOutcome::DEFECT;
        }
    }
    catch (const std::exception& error)
    {
        outcome.reason = error.what();
    }
    outcome.processorSeconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    constexpr double MOST_SECONDS = 20;
    if (outcome.processorSeconds > MOST_SECONDS && outcome.kind != SoakOutcome::DEFECT)
    {
        outcome.kind = SoakOutcome::DEFECT;
        outcome.reason = "took " + std::to_string(outcome.processorSeconds) + " s";
    }
    return outcome;
}

} // namespace ns3::allreduce
