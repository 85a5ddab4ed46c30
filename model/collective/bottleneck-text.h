/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BOTTLENECK_TEXT_H
#define ALLREDUCE_BOTTLENECK_TEXT_H

#include "link-prices.h"

#include "ns3/allreduce-topology.h"

#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @param servers servers, ascending, one or more
 * @return "server 7", "servers 0, 1, 4 to 9", or how many there are if that were long
 */
std::string DescribeServers(const std::vector<NodeId>& servers);

/**
 * @ingroup allreduce
 *
 * Say what makes an AllReduce slow.
 *
 * @param topology the network
 * @param bound the best prices
 * @return "server 7 behind link 7-17", "the ports of all servers" or
 *         "9 parts with 12 links between them: servers 0 to 4 | server 5 | ..."
 */
std::string DescribeBottleneck(const Topology& topology, const PriceBound& bound);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BOTTLENECK_TEXT_H */
