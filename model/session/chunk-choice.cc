/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chunk-choice.h"

#include "time-prediction.h"

#include "ns3/allreduce-state.h"
#include "ns3/ideal-time.h"
#include "ns3/log.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-metrics.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceChunkChoice");

namespace
{

/// The search ends if the prediction is so near to the ideal.
constexpr double NEAR_IDEAL = 1.02;
/// Larger plans are not tried, but for the first.
constexpr uint64_t MOST_WORKLOADS = 200'000;
/// Larger plans are not tried if smaller ones were no better twice in a row.
constexpr uint64_t FEW_WORKLOADS = 20'000;

/// More chunks are worth so much of the time to sessions that adapt.
constexpr double MANY_CHUNKS_FACTOR = 1.02;
/// They take at most so many chunks for each port of a server.
constexpr uint32_t MOST_TIMES_ADAPTIVE = 16;
/// Fewer frames in a chunk tell nothing about a link.
constexpr uint32_t LEAST_FRAMES_ADAPTIVE = 8;

/// A plan for a number of chunks, before anybody has proven it.
struct Attempt
{
    uint32_t chunksPerServer{0};       //!< their number
    Ptr<AllReduceScheduler> scheduler; //!< who made the plan
    AllReduceSchedule schedule;        //!< the plan
    double predictedSeconds{0};        //!< see PredictSeconds
};

} // namespace

ChunkChoice
ChooseChunks(const Topology& topology,
             const CollectiveMaker& makeCollective,
             const std::function<Ptr<AllReduceScheduler>()>& makeScheduler,
             const AllReduceTransport& transport,
             uint32_t mtu,
             uint64_t bytes,
             const PlanUse& use,
             const PlanningProgress& progress)
{
    const auto tryOut = [&](uint32_t chunksPerServer) {
        Attempt attempt;
        attempt.chunksPerServer = chunksPerServer;
        attempt.scheduler = makeScheduler();
        const PlanningProgress part =
            progress.GetPart(0, 1, std::to_string(chunksPerServer) + " chunks per server");
        attempt.schedule = Plan(*attempt.scheduler,
                                AllReduceState(topology, makeCollective(chunksPerServer)),
                                part);
        part.Show("predicting its time", 0);
        attempt.predictedSeconds =
            PredictSeconds(topology, transport, mtu, attempt.schedule, bytes, use.hasBarriers);
        NS_LOG_INFO(chunksPerServer << " chunks per server: " << attempt.schedule.rounds.size()
                                    << " rounds, " << attempt.predictedSeconds << " s predicted");
        return attempt;
    };
    const uint32_t nPorts = ComputeMeanPorts(topology);
    Attempt best = tryOut(nPorts);
    const double enough =
        NEAR_IDEAL * ComputeIdealTime(topology, best.schedule.collective, bytes).bandwidth;
    const auto improve = [&](uint32_t chunksPerServer) {
        Attempt other = tryOut(chunksPerServer);
        const bool isBetter = other.predictedSeconds < best.predictedSeconds;
        if (isBetter)
        {
            best = std::move(other);
        }
        return isBetter;
    };
    constexpr uint32_t MOST_TIMES = 32;
    const uint32_t payload = transport.GetFrameFormat(1, mtu).payload;
    uint32_t nInVain = 0;
    for (uint32_t times = 2; times <= MOST_TIMES; times *= 2)
    {
        const Collective collective = makeCollective(times * nPorts);
        const uint64_t nWorkloads = CountLeastWorkloads(collective, topology.GetNServers());
        const bool isLittleHope =
            nWorkloads > FEW_WORKLOADS || bytes / collective.GetNChunks() < payload;
        if (best.predictedSeconds <= enough || nWorkloads > MOST_WORKLOADS ||
            (nInVain >= 2 && isLittleHope))
        {
            break;
        }
        nInVain = improve(times * nPorts) ? 0 : nInVain + 1;
    }
    if (nPorts > 1 && best.predictedSeconds > enough)
    {
        improve(1);
    }
    for (uint32_t times = MOST_TIMES_ADAPTIVE;
         use.isAdaptive && times * nPorts > best.chunksPerServer;
         times /= 2)
    {
        const Collective collective = makeCollective(times * nPorts);
        if (CountLeastWorkloads(collective, topology.GetNServers()) > MOST_WORKLOADS ||
            bytes / collective.GetNChunks() < LEAST_FRAMES_ADAPTIVE * payload)
        {
            continue;
        }
        Attempt finer = tryOut(times * nPorts);
        if (finer.predictedSeconds <= MANY_CHUNKS_FACTOR * best.predictedSeconds)
        {
            best = std::move(finer);
        }
    }
    return {best.chunksPerServer,
            best.scheduler,
            VerifiedPlan(topology, std::move(best.schedule), GetSchedulerName(*best.scheduler)),
            best.predictedSeconds};
}

} // namespace ns3::allreduce
