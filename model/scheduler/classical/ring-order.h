/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_ORDER_H
#define ALLREDUCE_RING_ORDER_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Servers in a circle.
struct Ring
{
    std::vector<NodeId> order; //!< every server once
    std::vector<Path> paths;   //!< from each to the next, or empty if there is no good one
};

/**
 * @ingroup allreduce
 *
 * Find an order of the servers that follows the topology.
 *
 * Where every server has one port, it is a depth-first tour of the switches, which uses each
 * direction of a link at most once; paths then take short cuts over links that are free, above all
 * the path back from the last server to the first. Elsewhere it is a Hamiltonian cycle of servers
 * that share a switch or a link, found by rotations and extensions (Posa); each server then sends
 * on one port and receives on one. Where no cycle is found, it is a depth-first tour of the whole
 * network.
 *
 * @param topology the network, its servers connected
 * @param seed random seed
 * @param mayRelay if there is no cycle: servers that have lost all neighbors but one stand beside
 * it in the ring, and it relays what they send
 * @return the ring
 */
Ring FindRing(const Topology& topology, uint64_t seed, bool mayRelay = false);

/// @ingroup allreduce
/// @param topology the network @return the ring in the order of numbers, without paths
Ring ListServers(const Topology& topology);

/**
 * @ingroup allreduce
 *
 * @param state how an AllReduce begins
 * @param ring the ring; where it has no path between two servers, any will do
 * @return a plan in which each chunk goes round once to be summed and once more to be copied
 */
std::vector<WorkloadList> PlanRing(const AllReduceState& state, const Ring& ring);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_ORDER_H */
