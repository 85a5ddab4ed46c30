/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BOUNDS_H
#define ALLREDUCE_BOUNDS_H

#include "collective.h"
#include "cut-bound.h"
#include "link-prices.h"

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
    std::string name;       //!< "prices", "head-tail", "hops" or "cut"
    uint64_t rounds{0};     //!< no schedule takes fewer
    std::string bottleneck; //!< what it is about, in words
};

/// @ingroup allreduce
/// All lower bounds of one collective.
struct LowerBounds
{
    std::vector<LowerBound> all; //!< never empty
    PriceBound prices;           //!< the proof of "prices", if there is such a bound
    CutBound cut;                //!< the proof of "cut", if there is such a bound

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
 * contributions, it does not copy them.
 *
 * - **prices**: T >= C MST(p) / sum(capacity p) for all prices p of links, see FindLinkPrices,
 *   which finds the best. With many chunks it can be reached.
 *
 * - **head-tail**: no final sum can come to a server in the first rounds. It has to get through its
 *   ports all the same, so the rounds of the beginning are added to those that its ports, or those
 *   of a set of servers, need for all chunks, see ComputeHeadTailBound.
 *
 * - **hops**: T >= 2 F(r) for every root r in use. The contributions take F(r) rounds at
 *   least to come together at r, see ReduceGrowth, the final sum can leave only after that, and
 *   needs F(r) rounds to reach all servers. F(r) is at least the number of workloads, one after
 *   another, from the farthest server, and more where few ports must take in many contributions.
 *
 * These are the bounds of an AllReduce of all servers. A collective of groups has two:
 *
 * - **cut**: T >= crossings / width for sides of the network, see CutBound and FindBestCut.
 *
 * - **hops**: for every chunk, the workloads one after another from the farthest contributor to the
 *   root, and from there to the farthest receiver.
 *
 * Rounds are whole, so each bound is rounded up.
 *
 * Of algorithms in which several servers finish the same sum by themselves, such as recursive
 * doubling, only **prices** says something, and the **cut** of an AllReduce of groups: there they
 * hold, too.
 *
 * @param topology the network
 * @param collective what is to be summed where; roots alone: an AllReduce of all servers
 * @return the bounds
 * @throws InputError if two servers cannot reach each other, over relays that are allowed, or the
 * collective has a fault
 */
LowerBounds ComputeLowerBounds(const Topology& topology, const Collective& collective);

/**
 * @ingroup allreduce
 *
 * Refuse groups that need relays which they may not have.
 *
 * @param topology the network
 * @param collective what is to be summed where, without a fault
 * @throws InputError that names two servers of a group that cannot reach each other
 */
void CheckGroupsConnected(const Topology& topology, const Collective& collective);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BOUNDS_H */
