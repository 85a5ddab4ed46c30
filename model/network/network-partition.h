/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_NETWORK_PARTITION_H
#define ALLREDUCE_NETWORK_PARTITION_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// By node: the rank that simulates it, from 0.
using NetworkPartition = std::vector<uint32_t>;

/**
 * @ingroup allreduce
 *
 * Share a network among ranks. The links that are cut are those with the largest delay that leaves
 * ranks of about the same load, because no rank can be ahead of another by more than that. Load is
 * what a plan sends through nodes; of cuts that are as good otherwise, one is chosen that little
 * crosses. METIS does this if the module was built with it, otherwise a breadth-first search.
 *
 * @param topology the network
 * @param plan what is sent over it
 * @param nRanks number of ranks
 * @return who simulates what; the same wherever it is called
 * @throws InputError if there is no such partition
 */
NetworkPartition PartitionNetwork(const Topology& topology,
                                  const AllReduceSchedule& plan,
                                  uint32_t nRanks);

/**
 * @ingroup allreduce
 *
 * Read a partition: a line with a rank for each node, servers first, as METIS writes them.
 *
 * @param in the text
 * @param name its name, for messages
 * @param topology the network
 * @param nRanks number of ranks
 * @return who simulates what
 * @throws InputError that names the line and what was expected
 */
NetworkPartition ReadPartition(std::istream& in,
                               const std::string& name,
                               const Topology& topology,
                               uint32_t nRanks);

/**
 * @ingroup allreduce
 *
 * Refuse a partition that cannot be simulated: every rank has a server, and every link between two
 * ranks a delay.
 *
 * @param topology the network
 * @param partition who simulates what
 * @param nRanks number of ranks
 * @param name what the partition is called in messages
 * @throws InputError that says what is wrong
 */
void CheckPartition(const Topology& topology,
                    const NetworkPartition& partition,
                    uint32_t nRanks,
                    const std::string& name);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_NETWORK_PARTITION_H */
