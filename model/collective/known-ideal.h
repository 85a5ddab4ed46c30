/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_KNOWN_IDEAL_H
#define ALLREDUCE_KNOWN_IDEAL_H

#include "collective.h"
#include "ideal-time.h"

#include "ns3/allreduce-topology.h"
#include "ns3/rate-change.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * The time that no correct run can beat, whatever it knew ahead, on a network whose rates change.
 * Without changes it is that of ComputeIdealTime, and it rests on the same.
 *
 * - **bandwidth**: T + w. Take sides S1..Sk of the network, as in FindLinkPrices or CutBound, and
 *   what must leave them, X bits: 2 (k - 1) times the gradient in an AllReduce of all servers.
 *   What a link carries out of a side comes from a server on it and goes to one that is not. So
 *   a link that is a delay of a away from the servers of its side, and of b, its own included, from
 *   the others, is of use from a until b before the end; a + b is w or more, the least delay of a
 *   path between two servers. If the run takes T + w, that is some T within it that begins at w
 *   or before. Let r(t) be the rate of a link, and R(t) the largest of its rates between t and
 *   t + w. Then it carries no more than the integral of R from 0 to T, and
 *
 *       sum of the integrals of R from 0 to T over all links that leave a side >= X
 *
 *   The left side grows with T. The first T for which this is so is a bound, for *any* sides, and
 * so it is for what must enter sides. Of two sides in an AllReduce of all servers, all of the
 *   gradient must leave and enter each by itself.
 *
 *   *Search.* Take the best sides for the rates at first, and the T that they prove; then those for
 *   the mean rates until this T, and what they prove; and so on until it is no longer than before.
 *   Each T is proven, so nothing depends on when this ends; and it ends, because each sides prove
 *   one T, and T only grows. In an AllReduce of all servers nothing better is left out: if any
 * sides proved more than T, so would those that are best for the mean rates until T. They are those
 * of FindLinkPrices and, if the directions of some link differ, those that are hardest to leave or
 * to enter, together or one alone. In a collective of groups sides are sought for the mean of both
 *   directions, and what they prove is by direction; of a single side that may be either.
 *
 * - **latency**: t + d(u), for every server u, if its ports need t to send its B bits, at the rates
 *   that they have from 0 on, and the farthest server is d(u) away. Likewise for what u must
 *   receive: nothing that the farthest server has contributed to comes before d(u), so ports count
 *   from then on.
 *
 * A link that is down, and the ports of a server that is not ready yet, have the rate 0.
 *
 * @param topology a connected network, as it is when the run begins
 * @param collective what is to be summed where; roots alone: an AllReduce of all servers
 * @param bytes size of all chunks; the first ones have a byte more if it cannot be divided
 * @param changes how rates change, at ascending times, in nanoseconds since the run began
 * @return the time; its text names rates that are means until then
 * @throws InputError if changes are not possible, or links stay so slow or broken that the data can
 * never get through; the message names them
 */
IdealTime ComputeKnownIdealTime(const Topology& topology,
                                const Collective& collective,
                                uint64_t bytes,
                                const std::vector<RateChange>& changes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_KNOWN_IDEAL_H */
