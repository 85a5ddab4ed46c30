/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BOUNDS_H
#define ALLREDUCE_BOUNDS_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A number of rounds that no schedule can beat.
struct LowerBound
{
    std::string name;        //!< "ports", "cut", "region" or "hops"
    uint64_t rounds{0};      //!< no schedule takes fewer
    std::vector<NodeId> cut; //!< "cut", "region": the servers S it is about, ascending
};

/// @ingroup allreduce
/// All lower bounds of one AllReduce.
struct LowerBounds
{
    std::vector<LowerBound> all; //!< never empty

    /// @return the largest; of equal ones the first
    const LowerBound& GetBest() const;
};

/**
 * @ingroup allreduce
 *
 * Bounds on the rounds T of any schedule for N servers and C chunks.
 *
 * What they rest on: a round's workloads exceed no directed link's capacity, what arrives in a
 * round can be used from the next on, and a chunk's sum becomes final at its root. A reduce moves
 * contributions, it does not copy them. So for each chunk every server but the root sends at least
 * one reduce, and receives at least one broadcast. Let P(v) be the sum of the capacities of server
 * v's links, P(S) that of a set S of servers, and B(S) the capacity of the least cut between S and
 * the other servers, each switch being on the side where that costs less.
 *
 * - **ports**: T >= 2 C (N-1) / P(all servers). The C chunks take 2 (N-1) workloads each, and
 *   each of these leaves a server by one of its links.
 *
 * - **cut**: T >= C / B(S) for every S that is neither empty nor all servers. If a chunk's root is
 *   in S, the final sum must leave S; if it is not, contributions must. Either way a workload goes
 *   from a server in S to one outside, and so it uses a link that leads across the cut. The S with
 *   the least B(S) is found exactly, by max-flows. (Both directions of a link have the same
 *   capacity; counting the way into S gives the same bound.) A single server S = {v} is included:
 *   every server sends something of every chunk.
 *
 * - **region**: T >= 2 C |S| / (P(S) + B(S)) for the same S. Per chunk at least 2 |S| workloads
 *   have an end in S. With the root outside S: |S| reduces sent and |S| broadcasts received by
 *   servers of S. With the root inside: |S| - 1 reduces sent from S and at least one that comes in
 *   from outside, |S| - 1 broadcasts received in S and at least one that goes out. In a round at
 *   most P(S) workloads end in S, and at most B(S) others start there. This is larger than both
 *   of the above where many slow servers share a thin way to faster ones. It is listed only if some
 *   S gives more than C / B of the cut above and than 2 C N / P(all servers).
 *
 * - **hops**: T >= 2 ecc(r) for every root r in use, where ecc(r) is the largest number of
 *   workloads, one after another, that it takes from another server to r. Workloads pass switches
 *   only, so that is the number of servers on the way, the first not counted. The farthest
 *   contribution arrives at r in round ecc(r) or later, the final sum can leave only after that,
 *   and needs ecc(r) rounds for the same way back.
 *
 * Rounds are whole, so each bound is rounded up.
 *
 * @param topology the network
 * @param chunkRoots by chunk: its root server
 * @return the bounds
 * @throws InputError if two servers cannot reach each other or a root is not a server
 */
LowerBounds ComputeLowerBounds(const Topology& topology, const std::vector<NodeId>& chunkRoots);

/// @ingroup allreduce
/// How much of a network's width a gradient needs at least, as a fraction.
struct WidthBound
{
    std::string name;            //!< "ports", "cut" or "region"
    int64_t numerator{0};        //!< how often each byte must pass what the bound is about
    int64_t denominator{1};      //!< how wide that is, all of it together
    std::vector<NodeId> servers; //!< "cut", "region": the servers S it is about, ascending
};

/**
 * @ingroup allreduce
 *
 * The bounds "ports", "cut" and "region" of ComputeLowerBounds as fractions f, for links of any
 * width: C chunks take C f rounds or more if widths are capacities, and a gradient of B bits takes
 * B f seconds or more if they are rates in bit/s.
 *
 * @param topology a connected network of two servers or more
 * @param widths by link, 1 or more
 * @return the bounds
 */
std::vector<WidthBound> ComputeWidthBounds(const Topology& topology,
                                           const std::vector<int64_t>& widths);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BOUNDS_H */
