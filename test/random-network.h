/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RANDOM_NETWORK_H
#define ALLREDUCE_RANDOM_NETWORK_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <random>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce-tests
 *
 * Draw a network such as nobody would build: servers joined directly or over switches, with one
 * to three ports, links of 1, 10, 25, 40, 100 or 400 Gb/s, delays of 100 ns to 50 us.
 *
 * @param seed another seed draws another network
 * @param mostServers the largest number of servers; the smallest is 2
 * @return the network, its servers connected, its capacities as they follow from the rates
 */
Topology DrawNetwork(uint64_t seed, uint32_t mostServers);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RANDOM_NETWORK_H */
