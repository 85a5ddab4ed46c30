/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_NETWORK_VIEW_H
#define ALLREDUCE_NETWORK_VIEW_H

#include "ns3/allreduce-topology.h"

#include <nlohmann/json_fwd.hpp>

namespace ns3::allreduce
{

struct DrawnNetwork;

/**
 * What a page needs to draw a network: its nodes and lines, which nodes of it are drawn as one or
 * stand in a rack, and the bottleneck that the lower bound is about.
 *
 * @param topology the network
 * @param drawn how it is drawn
 * @return the beginning of a view
 */
nlohmann::ordered_json MakeNetworkView(const Topology& topology, const DrawnNetwork& drawn);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_NETWORK_VIEW_H */
