/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_PACKING_H
#define ALLREDUCE_RING_PACKING_H

#include "ring-order.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Find as many directed rings as possible that together exceed no link's capacity.
 *
 * Each ring passes every server once, so there are no more of them than the server with the fewest
 * ports has (a wide port counts several times). Covers of the servers by cycles are merged to
 * rings: where servers are joined directly, as in tori, both directions of Hamiltonian cycles
 * (FindTours), else directed rings (MergeCycles). The search is limited: it may find fewer rings
 * than there are.
 *
 * @param topology the network, its servers connected
 * @param mostRings no more than these
 * @param seed where the search begins
 * @return two rings or more, all with paths, or none if there are no two
 */
std::vector<Ring> PackRings(const Topology& topology, uint32_t mostRings, uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_PACKING_H */
