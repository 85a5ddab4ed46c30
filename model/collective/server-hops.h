/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SERVER_HOPS_H
#define ALLREDUCE_SERVER_HOPS_H

#include "ns3/topology-metrics.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param from some servers
 * @return by server: the least number of workloads, one after another, from or to one of these;
 *         UNREACHABLE if there is no path. A workload passes any number of switches.
 */
std::vector<uint32_t> ComputeServerHops(const Topology& topology, const std::vector<NodeId>& from);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SERVER_HOPS_H */
