/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BOTTLENECK_TEXT_H
#define ALLREDUCE_BOTTLENECK_TEXT_H

#include "cut-bound.h"
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
 * @param topology the network
 * @param links some of its links, one or more
 * @return "link 7-17 of 10 Gb/s", "4 links of 100 Gb/s" or "12 links of 10 Gb/s to 40 Gb/s"
 */
std::string DescribeLinks(const Topology& topology, const std::vector<LinkId>& links);

/**
 * @ingroup allreduce
 *
 * Say what makes an AllReduce slow.
 *
 * @param topology the network
 * @param bound the best prices
 * @return "server 4, 4 links of 100 Gb/s", "the ports of all servers, 32 links of 10 Gb/s" or
 *         "9 parts, 12 links of 10 Gb/s between them: servers 0 to 4 | server 5 | ..."
 */
std::string DescribeBottleneck(const Topology& topology, const PriceBound& bound);

/**
 * @ingroup allreduce
 *
 * Say what makes a collective of groups slow.
 *
 * @param topology the network
 * @param cut the best sides
 * @return the same for them
 */
std::string DescribeBottleneck(const Topology& topology, const CutBound& cut);

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param servers a set of servers, not all of them
 * @return "the way into server 7, link 7-17 of 10 Gb/s"; of a large set, what is the same: "the way
 *         out of server 4, 4 links of 100 Gb/s"
 */
std::string DescribeWayInto(const Topology& topology, const std::vector<NodeId>& servers);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BOTTLENECK_TEXT_H */
