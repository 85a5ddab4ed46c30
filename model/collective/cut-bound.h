/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CUT_BOUND_H
#define ALLREDUCE_CUT_BOUND_H

#include "allreduce-bounds.h"
#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

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

/**
 * @ingroup allreduce
 *
 * @param topology a network
 * @param collective a collective of groups
 * @return by server: whether it may hold something of a chunk
 */
std::vector<bool> FindHolders(const Topology& topology, const Collective& collective);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CUT_BOUND_H */
