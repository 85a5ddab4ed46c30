/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_EXPORT_H
#define ALLREDUCE_CHAKRA_EXPORT_H

#include "chakra-trace.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Write a schedule as Chakra traces, one for each server, as ASTRA-sim takes them for a collective
 * algorithm of one's own (all-reduce-implementation-custom). Paths and rounds are not part of them.
 *
 * Every workload is a send at one server and a receive at the other, of a tag of their own: the
 * number of the workload in the schedule. A receive waits for nothing. A compute node adds two
 * parts of a chunk and waits for both; if it waits for one node only, the other part is what the
 * server itself contributes. A send waits for the node that made what it sends, and for nothing if
 * that is the server's own contribution. A node stands behind those that it waits for.
 *
 * Every message is taken to have memory of its own: nothing waits until memory is free.
 *
 * @param topology the network
 * @param schedule a schedule on it
 * @param bytes size of the gradient
 * @param write called with each server and its trace
 * @throws InputError if the schedule is not correct, has more workloads than there are tags, or has
 * more chunks than bytes
 */
void ExportChakra(const Topology& topology,
                  const AllReduceSchedule& schedule,
                  uint64_t bytes,
                  const std::function<void(NodeId, const std::vector<ChakraNode>&)>& write);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_EXPORT_H */
