/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CUT_BOUND_H
#define ALLREDUCE_CUT_BOUND_H

#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

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

/**
 * @ingroup allreduce
 *
 * Find sides that prove much. For one group of servers the best single side is found: for an
 * AllReduce the least cut between two of its servers; for a reduce-scatter, an all-gather, a
 * broadcast or a reduce the side with the most roots outside for its width, by Dinkelbach's method
 * with one max-flow for each server. For several groups these sides and single servers are tried
 * with the chunks of all groups, and the parts of the network's price bound; there may be better.
 *
 * @param topology a network whose servers are connected
 * @param collective a collective of groups, without a fault
 * @param widths by link, 1 or more: capacities, or rates
 * @param sizes by chunk: what a workload of it counts for, as bytes; none: 1 each
 * @return the sides, and what they prove
 */
CutBound FindBestCut(const Topology& topology,
                     const Collective& collective,
                     const std::vector<uint64_t>& widths,
                     std::vector<uint64_t> sizes = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CUT_BOUND_H */
