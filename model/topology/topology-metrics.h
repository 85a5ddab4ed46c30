/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_METRICS_H
#define ALLREDUCE_TOPOLOGY_METRICS_H

#include "allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param from a node
 * @return by node: how many links it is away, or UNREACHABLE
 */
std::vector<uint32_t> ComputeDistances(const Topology& topology, NodeId from);

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @return the largest number of links on a shortest path between two servers, or UNREACHABLE
 */
uint32_t ComputeDiameter(const Topology& topology);

/**
 * @ingroup allreduce
 *
 * @param topology a network
 * @return the mean number of ports of a server, rounded, 1 or more
 */
uint32_t ComputeMeanPorts(const Topology& topology);

/**
 * @ingroup allreduce
 *
 * @param topology a network
 * @return whether some of its links are faster than others
 */
bool AreRatesMixed(const Topology& topology);

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param from a node
 * @param to another node
 * @return a shortest path (the one whose nodes are smallest), empty if there is none
 */
Path FindShortestPath(const Topology& topology, NodeId from, NodeId to);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_METRICS_H */
