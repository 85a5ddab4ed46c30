/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BOUNDS_H
#define ALLREDUCE_BOUNDS_H

#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <limits>
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

/**
 * @ingroup allreduce
 *
 * @brief Link prices, and what they prove: C chunks take C * treePrice / widthPrice rounds or more,
 * and a gradient of B bits as many seconds if B stands for C and the widths are rates in bit/s.
 */
struct PriceBound
{
    std::vector<uint64_t> prices; //!< by link, the same in both directions: 0, 1 or 2
    uint64_t treePrice{0};        //!< the cheapest spanning tree of the servers over switches
    uint64_t widthPrice{1};       //!< the sum of width * price over all links
    std::vector<std::vector<NodeId>> parts; //!< the servers between which the prices are
    std::vector<uint32_t>
        side; //!< by node: the part on whose side it is, or how many parts there are
};

/// The side of a node that is on none.
constexpr uint32_t NO_SIDE = std::numeric_limits<uint32_t>::max();

/**
 * @ingroup allreduce
 *
 * @brief Sets of nodes, and what must cross their borders: a collective takes crossings / width
 * rounds or more.
 *
 * *One side X.* Let K be the contributors, R the receivers and r the root of a chunk. Something of
 * the chunk leaves X if K has a server in X and r is outside, since a contribution of K must reach
 * r; and once more, as the final sum, if r is in X and R has a server outside. Likewise into X. A
 * partial sum and the final sum are two workloads, so both count. In a round no more leaves X than
 * the links out of it carry, the width, and no more comes in. So T >= leaving / width, and
 * T >= entering / width.
 *
 * *Several sides*, no node on two of them, every server that may hold a chunk on one of them. The
 * reduces of a chunk join all sides on which K has servers. Each workload from one side to another
 * leaves one and enters one, so at least k - 1 workloads leave sides, if K is on k of them, and as
 * many enter. The same holds for R and broadcasts. All links that leave sides together are the
 * width. Links to servers that may hold nothing carry nothing, and do not count. For an AllReduce
 * of all servers this is the bound by prices, see FindLinkPrices.
 *
 * Of an AllReduce, K = R, as much crosses wherever its sums are made, and without a root: something
 * of all contributions on one side must come to the other, and 2 (k - 1) workloads between k sides
 * are needed so that each hears of all others, see FindLinkPrices.
 */
struct CutBound
{
    std::vector<uint32_t> side; //!< by node: its side, or NO_SIDE
    uint32_t nSides{0};         //!< how many sides there are
    uint64_t crossings{0};      //!< how many workloads, or bytes, cross borders in one direction
    uint64_t width{1};          //!< what the links over borders carry in one direction
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
