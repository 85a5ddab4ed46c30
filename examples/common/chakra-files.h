/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_FILES_H
#define ALLREDUCE_CHAKRA_FILES_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

/**
 * @param prefix how the names of the traces begin
 * @param server a server
 * @return the name of its trace: PREFIX.SERVER.et, as ASTRA-sim expects it
 */
std::string NameChakraFile(const std::string& prefix, NodeId server);

/**
 * Write a schedule as Chakra traces, a file for each server, for the option --chakra-out.
 *
 * @param prefix how their names begin
 * @param topology the network
 * @param schedule a schedule on it
 * @param bytes size of the gradient
 * @throws InputError if one cannot be written
 */
void WriteChakraFiles(const std::string& prefix,
                      const Topology& topology,
                      const AllReduceSchedule& schedule,
                      uint64_t bytes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_FILES_H */
