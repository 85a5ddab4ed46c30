/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HEAD_TAIL_BOUND_H
#define ALLREDUCE_HEAD_TAIL_BOUND_H

#include "reduce-growth.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Rounds that no schedule can beat, and the servers that have to wait.
struct HeadTailBound
{
    uint64_t rounds{0};          //!< no schedule takes fewer
    uint64_t head{0};            //!< e: no chunk that counts comes in before this round
    uint64_t width{0};           //!< B(S)
    std::vector<NodeId> servers; //!< S, ascending
};

/**
 * @ingroup allreduce
 *
 * The way into a set S of servers is a machine that all chunks must pass, not before a time (their
 * head) and not at the end (their tail): what one-machine scheduling knows as heads and tails
 * (Carlier 1982).
 *
 * Let B(S) be the capacity of the least cut between S and the other servers, each switch being on
 * the side where that costs less. At most B(S) workloads lead into S in a round. Of each chunk
 * c one workload leads into S in round e(c) or later, and q(c) rounds or more follow it:
 *
 * - *The root r is outside.* The sum must be broadcast into S. It is final at r after
 *   F(r) rounds at the earliest (ReduceGrowth), and the h-th workload from there is the first one
 *   that can reach S, where h is the number of workloads, one after another, from r to the nearest
 *   server of S. So e = F(r) + h. Take the first such workload. In its round at most B(S) servers
 * of S get the sum. From then on each server that has it sends it to at most as many others in a
 * round as its ports have capacity, p at most, and at most B(S) more come in. So q is the number of
 * rounds until y, from B(S) on, grows to |S| by y -> y (1 + p) + B(S); 0 for a single server.
 *
 * - *The root r is inside.* All contributions of the N - |S| servers outside must come in. After t
 *   rounds at most the sum over k <= t of B(S) times the largest G(u, k - 1) outside S
 *   (ReduceGrowth) of one chunk's can have done so. So the last workload into S is in a round e
 *   or later for which this sum reaches N - |S|. Only then the sum can become final, and it must
 *   still get to all others: q = F(r).
 *
 * Take the chunks with e(c) >= e and q(c) >= q, n of them. Their n workloads into S are in round e
 * or later, B(S) of them at most in each round, so one of them is in round e - 1 + ceil(n / B(S))
 * or later, and q rounds follow:
 *
 *     T >= e - 1 + ceil(n / B(S)) + q,    for every S, e and q
 *
 * Plans read backwards in time give the same for the way out of S, so there is no bound of its own.
 *
 * @param topology a connected network of two servers or more
 * @param growth how fast sums can become final in it
 * @param nChunks by server: the number of chunks whose root it is
 * @param sets what to try for S besides every single server: none empty, none all servers
 * @return the largest bound; of equal ones the first
 */
HeadTailBound ComputeHeadTailBound(const Topology& topology,
                                   const ReduceGrowth& growth,
                                   const std::vector<uint64_t>& nChunks,
                                   const std::vector<std::vector<NodeId>>& sets);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HEAD_TAIL_BOUND_H */
