/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_IDEAL_TIME_H
#define ALLREDUCE_IDEAL_TIME_H

#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Seconds that no schedule can beat, and why.
struct IdealTime
{
    double seconds{0}; //!< the larger of the two that follow
    double volume{0};  //!< what the links need to carry all the data, and the way of its last byte
    double latency{0}; //!< what the farthest contribution and the farthest copy need, one by one
    std::string bottleneck; //!< "prices", "cut" or "hops"
};

/**
 * @ingroup allreduce
 *
 * The time that no schedule can beat, from the rates and delays of the links, without any header.
 *
 * - **volume**: B f + w. For any link prices, a gradient of B bits keeps the links busy for
 *   B f seconds or more, with f = MST / sum(rate * price), see FindLinkPrices, which finds the best
 *   prices. For a collective of groups, the crossings of FindBestCut, with rates as widths, take
 * the place of prices. No link can be busy all of the time: what it carries has left a server
 * before and must still reach one. Both ways together, and the link's own delay, take at least w,
 * the least delay of a path between two servers.
 *
 * - **latency**: 2 e(r) for every root r of a chunk that has bytes. Let a workload of b bits take
 *   the delays of its path and b / rate of the path's first link. Then the farthest contribution
 *   needs e(r), the longest of the shortest ways from another server, to reach the root, since
 *   servers can send on only what has arrived in whole, and the final sum needs as long back. In a
 *   collective of groups, so long as from the farthest contributor and to the farthest receiver.
 *
 * The sum of a chunk becomes final at one root, as everywhere in this module.
 *
 * @param topology a connected network
 * @param collective what is to be summed where; roots alone: an AllReduce of all servers
 * @param bytes size of all chunks; the first ones have a byte more if it cannot be divided
 * @return the time
 */
IdealTime ComputeIdealTime(const Topology& topology, const Collective& collective, uint64_t bytes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_IDEAL_TIME_H */
