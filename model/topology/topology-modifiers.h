/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_MODIFIERS_H
#define ALLREDUCE_TOPOLOGY_MODIFIERS_H

#include "allreduce-topology.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Remove a share of the links, chosen at random, such that every server can still reach every
 * other. Where that share cannot be removed, as many are as can.
 *
 * @param topology the network, its servers connected
 * @param fraction share of the links to remove, 0 to 1; at least one link if more than 0
 * @param seed another seed removes others
 * @return the network without them, its name followed by " degrade=FRACTION,SEED"
 */
Topology Degrade(const Topology& topology, double fraction, uint64_t seed = 1);

/**
 * @ingroup allreduce
 *
 * Double capacity and rate of a share of the links, chosen at random. The unit flow stays what it
 * was, so a capacity that had been rounded down can grow by one more.
 *
 * @param topology the network
 * @param fraction share of the links to widen, 0 to 1, rounded to whole links
 * @param seed another seed widens others
 * @return the new network, its name followed by " mixed=FRACTION,SEED"
 */
Topology MixCapacity(const Topology& topology, double fraction, uint64_t seed = 1);

/**
 * @ingroup allreduce
 *
 * Make all links faster or slower by the same factor.
 *
 * @param topology the network
 * @param unitRateBps what a unit flow gets then, in bit/s
 * @return the new network, under the same name
 */
Topology WithUnitRate(const Topology& topology, uint64_t unitRateBps);

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param delayNs propagation delay of every link, in ns
 * @return the new network, under the same name
 */
Topology WithDelay(const Topology& topology, int64_t delayNs);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_MODIFIERS_H */
