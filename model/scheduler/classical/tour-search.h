/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOUR_SEARCH_H
#define ALLREDUCE_TOUR_SEARCH_H

#include "cover-merging.h"
#include "ring-order.h"

#include "ns3/allreduce-topology.h"
#include "ns3/random-source.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Find *tours*: Hamiltonian cycles without a common link. Servers must be joined in pairs, by links
 * or by switches with two ports, and each must be in an even number of pairs, as in most tori and
 * in hypercubes of even dimension. Each tour makes two rings, one for each direction.
 *
 * An Eulerian orientation gives covers by cycles. Of two covers, links are exchanged along short
 * alternating cycles, above all squares: mostly this joins two cycles of each. Without directions
 * there are far more such exchanges than MergeCycles has. That tori are sums of Hamiltonian cycles
 * is proven (Kotzig; Foregger; Aubert and Schneider).
 *
 * @param topology the network
 * @param nTours how many Hamiltonian cycles
 * @param effort how to search
 * @param random random numbers
 * @return twice as many rings, or none if they are not found
 */
std::vector<Ring> FindTours(const Topology& topology,
                            uint32_t nTours,
                            const MergingEffort& effort,
                            PlannerRandom& random);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOUR_SEARCH_H */
