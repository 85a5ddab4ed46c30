/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WORKLOAD_RATES_H
#define ALLREDUCE_WORKLOAD_RATES_H

#include "allreduce-workload.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * What a plan gives its workloads: every link is shared evenly by the workloads of a round that
 * cross it, and a workload gets the least share on its path. So no link is asked for more than its
 * rate, and a round of equal chunks takes as long as its most loaded link.
 *
 * Senders keep to this rate, ports admit workloads by it, and the prediction counts with it.
 *
 * @param topology the network
 * @param round the workloads of a round, along paths of the network
 * @return by workload: bit/s, 1 or more
 */
std::vector<uint64_t> ComputeWorkloadRates(const Topology& topology, const WorkloadList& round);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_WORKLOAD_RATES_H */
