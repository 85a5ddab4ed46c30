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
/// Seconds that no correct run can beat, and why.
struct IdealTime
{
    double seconds{0}; //!< the larger of the two that follow
    double bandwidth{
        0};            //!< what the links need to carry all the data, and the path of its last byte
    double latency{0}; //!< what a server's data needs through its ports and to the farthest other
    std::string bottleneck; //!< what decides bandwidth: "server 4, 4 links of 100 Gb/s"
    std::string farthest;   //!< what decides latency: "server 0 and server 9, 4us apart"

    /// @return what decides the time
    const std::string& GetReason() const
    {
        return latency > bandwidth ? farthest : bottleneck;
    }
};

/**
 * @ingroup allreduce
 *
 * The time that no correct run can beat, from the rates and delays of the links, without any
 * header. It holds however the data is cut into chunks, and wherever sums are made: also if several
 * servers finish the same sum by themselves, as in recursive doubling.
 *
 * What it rests on: servers send partial sums and sums of elements, a byte or more each, and what
 * is sent of one element says nothing about another. Switches neither add nor copy.
 *
 * - **bandwidth**: B f + w. For any link prices, a gradient of B bits keeps the links busy for
 *   B f seconds or more, with f = MST / sum(rate * price), see FindLinkPrices, which finds the best
 *   prices and has the proof. For a collective of groups, the crossings of FindBestCut, with rates
 *   as widths, take the place of prices. No link can be busy all of the time: what it carries has
 *   left a server before and must still reach one. Both ways together, and the link's own delay,
 *   take at least w, the least delay of a path between two servers.
 *
 * - **latency**: B / R(u) + d(u), for every server u. All its B bits must leave u, whose ports have
 *   the rate R(u) together. The last one is gone after B / R(u) at the earliest, and must still
 *   reach the farthest server, over the delays d(u). Likewise for what u must receive. In a
 *   collective of groups B is what u must send to others, or receive from others, and d(u) the
 *   least of the distances that its data has to go, since nobody says what goes last. The longest
 *   of the distances alone is a bound, too.
 *
 * For an AllReduce neither depends on the number of chunks or on their roots. In a reduce-scatter
 * or an all-gather the roots are part of what is asked for.
 *
 * @param topology a connected network
 * @param collective what is to be summed where; roots alone: an AllReduce of all servers
 * @param bytes size of all chunks; the first ones have a byte more if it cannot be divided
 * @return the time
 */
IdealTime ComputeIdealTime(const Topology& topology, const Collective& collective, uint64_t bytes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_IDEAL_TIME_H */
