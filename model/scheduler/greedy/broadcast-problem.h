/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BROADCAST_PROBLEM_H
#define ALLREDUCE_BROADCAST_PROBLEM_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a planner of broadcasts is given: who holds which chunks, who wants them, and the
 * network between.
 *
 * A reduce is the same problem read backwards in time: plan the broadcast, then mirror it. So one
 * planner serves both halves of an AllReduce, from its start or from the middle of it. A server
 * that neither holds nor wants a chunk may relay it, if mayHold says so. It receives the chunk,
 * then.
 */
struct BroadcastProblem
{
    const Topology* topology{nullptr}; //!< the network; must outlive the problem
    std::vector<uint32_t> capacity;    //!< by directed link: unit flows a round; 0 is down
    uint32_t nChunks{0};               //!< number of chunks
    BitMatrix holders;                 //!< [server][chunk]: has it from the start
    BitMatrix wants;                   //!< [server][chunk]: must have it in the end
    BitMatrix mayHold;                 //!< [server][chunk]: may relay it; no columns: all may
};

/// @ingroup allreduce
/// Broadcast workloads, round by round, that solve a BroadcastProblem.
using BroadcastPlan = std::vector<WorkloadList>;

/**
 * @ingroup allreduce
 *
 * Find out which servers must receive what, so that every wanted chunk can spread from its holders.
 * Those that want a chunk receive it. Where no path of switches leads to them from who has it, as
 * few others as lie on shortest paths receive it, too, and relay it.
 *
 * @param problem who holds and wants what, and the network
 * @return [server][chunk]: wants it, or relays it
 * @throws InputError that names a chunk and a server which wants it, if no links that are up lead
 *         there from a holder
 */
BitMatrix FindReceivers(const BroadcastProblem& problem);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BROADCAST_PROBLEM_H */
