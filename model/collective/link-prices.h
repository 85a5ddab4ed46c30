/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LINK_PRICES_H
#define ALLREDUCE_LINK_PRICES_H

#include "allreduce-bounds.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Find the link prices that prove the most. They are the best there are, not an approximation.
 *
 * *Prices.* Give every link a price p >= 0. The AllReduce of a chunk contains reduces that join all
 * servers, and broadcasts that join all servers: two spanning trees of the servers whose edges are
 * paths over switches. Each pays MST(p) or more. In T rounds all links, in both directions, carry
 * no more than 2 T sum(w p), for widths w. So T >= C MST(p) / sum(w p), for any prices.
 *
 * *Without roots.* An AllReduce pays 2 MST(p) for each element wherever its sums are made. Let k
 * servers, or sets of servers, each know something that all must hear of, and look at the first
 * message after which one of them knows everything. The messages up to it join all k, so there were
 * k - 1 of them or more; each of the other k - 1 still lacks something and receives one more. So 2
 * (k - 1) messages are needed between k sets (the gossip problem with one-way calls, Harary and
 * Schwenk 1974). Now join servers between which there are paths of price x or less; let k(x) sets
 * be left. At least 2 (k(x) - 1) messages cost more than x. The integral over x is what all
 * messages cost, and that of k(x) - 1 is MST(p), as in Kruskal's algorithm.
 *
 * *Parts.* Let S1..Sk be a partition of the servers into two parts or more, and B(S) the least cut
 * between S and the other servers, each switch being on the side where that costs less. Take sides
 * of these cuts that have no node in common (the smallest sides have none: what two of them share
 * could be left out of one or the other). A link's price is how many of these sides it leaves: 2
 * between two sides, 1 between a side and a switch in none, 0 else. A path from one part to another
 * leaves two sides, so MST = 2 (k - 1), and sum(w p) = B(S1) + ... + B(Sk):
 *
 *     T >= 2 C (k - 1) / (B(S1) + ... + B(Sk))
 *
 * *No prices are better than those of some parts.* Let balls grow from all servers at the same
 * speed, with prices as lengths, and join those that meet. At radius r there are k(r) joined balls;
 * MST(p) is the integral of 2 (k(r) - 1) over r, as in Kruskal's algorithm. Meanwhile the balls
 * eat up the links: at radius r those that leave a ball, from each such end, and no part of a link
 * twice. So the sum of w p is at least the integral of sum(B(Si)) over r, where Si are the servers
 * of the joined balls. If p proves MST(p) / sum(w p), at some radius 2 (k - 1) / sum(B(Si)) is as
 * large.
 *
 * *Search.* Dinkelbach's method: given a ratio a / b, look for parts with
 * sum(a B(Si) - 2 b) + 2 b < 0; they have a better ratio; if there are none, the last ones are the
 * best. As B is submodular, the least sum over all partitions is found by one max-flow for each
 * server (Cunningham 1985, for the strength of a graph, which is the case without switches).
 *
 * The case of all servers apart and all switches free is the bound by ports, two parts are a cut.
 *
 * @param topology a connected network of two servers or more
 * @param widths by link, 1 or more: capacities, or rates
 * @return prices and what they prove
 * @throws InputError if the sum of all widths is too large for exact sums
 */
PriceBound FindLinkPrices(const Topology& topology, const std::vector<uint64_t>& widths);

/**
 * @ingroup allreduce
 *
 * Find sides of the network that are hard to leave, if links carry more in one direction than in
 * the other. All servers are on sides, each on one; switches can be on several. All messages that
 * leave a side, which are 2 (k - 1) of each element, need what leaves it, so that
 *
 *     T >= 2 C (k - 1) / (what leaves S1 + ... + what leaves Sk)
 *
 * Of all sides these prove the most. The search is that of FindLinkPrices: what leaves a set is
 * submodular, too.
 *
 * @param topology a connected network of two servers or more
 * @param widths by directed link, 1 or more
 * @return by side, then by node: whether the node is on it
 */
std::vector<std::vector<bool>> FindSidesToLeave(const Topology& topology,
                                                const std::vector<uint64_t>& widths);

/**
 * @ingroup allreduce
 *
 * @param topology a connected network of two servers or more
 * @param widths by directed link, 1 or more
 * @return by node: whether it is on the side, with servers on it and others not on it, that the
 *         least leaves. All chunks must leave it.
 */
std::vector<bool> FindNarrowestSide(const Topology& topology, const std::vector<uint64_t>& widths);

/**
 * @ingroup allreduce
 *
 * @param topology a connected network of two servers or more
 * @return the best prices for its capacities
 */
PriceBound FindLinkPrices(const Topology& topology);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LINK_PRICES_H */
