/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHUNK_CHOICE_H
#define ALLREDUCE_CHUNK_CHOICE_H

#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-transport.h"
#include "ns3/verified-plan.h"

#include <cstdint>
#include <functional>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A number of chunks, and the plan that it was chosen for.
struct ChunkChoice
{
    uint32_t chunksPerServer;          //!< their number
    Ptr<AllReduceScheduler> scheduler; //!< who made the plan
    VerifiedPlan plan;                 //!< the plan
    double predictedSeconds;           //!< see PredictSeconds
};

/// @ingroup allreduce
/// How a plan is to be followed.
struct PlanUse
{
    bool hasBarriers{false}; //!< all wait for each other between rounds
    bool isAdaptive{false};  //!< it may have to be changed on the way, see Adapt of a session
};

/// Makes a collective with a number of chunks per server.
using CollectiveMaker = std::function<Collective(uint32_t)>;

/**
 * @ingroup allreduce
 *
 * Choose how many chunks a gradient is cut into: of 1, and 1, 2, 4, 8, 16 and 32 times the mean
 * number of a server's ports, the number for which the scheduler's plan has the least predicted
 * time. Few chunks mean few rounds, each of which costs the delay of its longest path; many keep
 * links busy that few cannot.
 *
 * If the plan may have to be changed on the way, the largest number of up to 16 times the ports is
 * taken that costs at most 2 % of predicted time: small chunks can soon take another way.
 *
 * Else the search begins with the number of ports and ends when the prediction is within 2 % of the
 * ideal. Numbers for which a plan would have more than 200,000 workloads are not tried, nor those
 * for which it would have more than 20,000, or chunks less than a frame, if more chunks were no
 * better twice in a row.
 *
 * @param topology the network
 * @param makeCollective what is to be summed where, for a number of chunks per server
 * @param makeScheduler makes a scheduler for each plan
 * @param transport how data is cut into frames; it need not be open
 * @param mtu largest packet on the links
 * @param bytes size of all chunks
 * @param use how the plan is to be followed
 * @param progress where it is said how far the present plan has come
 * @return the choice
 * @throws InputError if the scheduler cannot plan, or the plan is not correct
 */
ChunkChoice ChooseChunks(const Topology& topology,
                         const CollectiveMaker& makeCollective,
                         const std::function<Ptr<AllReduceScheduler>()>& makeScheduler,
                         const AllReduceTransport& transport,
                         uint32_t mtu,
                         uint64_t bytes,
                         const PlanUse& use,
                         const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHUNK_CHOICE_H */
