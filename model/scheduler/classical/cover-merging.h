/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_COVER_MERGING_H
#define ALLREDUCE_COVER_MERGING_H

#include "cycle-cover.h"

#include "ns3/random-source.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How long and how boldly to search.
struct MergingEffort
{
    uint32_t nSweeps; //!< in a sweep a quarter of the servers is looked at
    double dearness;  //!< of a cycle more: the dearer, the less often one is made
};

/**
 * @ingroup allreduce
 *
 * Make each of several covers a single cycle, within the links' capacities. Other covers may
 * have any cycles: they are links to exchange.
 *
 * Two moves are tried at random. One joins two cycles of a cover: two servers exchange their
 * successors, over links that the two paths leave or that are free. The other exchanges paths
 * between two covers along an alternating cycle, which is kept if it does not make more cycles, or
 * now and then if it does (simulated annealing).
 *
 * @param topology the network
 * @param covers covers that exceed no link's capacity; changed
 * @param nRings so many covers, the first ones, should become single cycles
 * @param effort how to search
 * @param random random numbers
 * @return whether each of the first ones is a single cycle now
 */
bool MergeCycles(const Topology& topology,
                 std::vector<CycleCover>& covers,
                 uint32_t nRings,
                 const MergingEffort& effort,
                 PlannerRandom& random);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_COVER_MERGING_H */
