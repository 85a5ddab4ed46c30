/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_FILES_H
#define ALLREDUCE_CHAKRA_FILES_H

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"
#include "ns3/chakra-workload.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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

/**
 * Read workload traces, for the option --chakra-in.
 *
 * @param prefix a file, which is then every server's, or how the names of a file for each server
 *        begin
 * @param nServers how many servers there are
 * @return what servers do: one workload for all, or one for each
 * @throws InputError that names the file and the node
 */
std::vector<ChakraWorkload> ReadChakraFiles(const std::string& prefix, uint32_t nServers);

/// What servers do in a training iteration; nullptr if that was not asked for.
using Training = std::shared_ptr<const std::vector<ChakraWorkload>>;

/**
 * @param prefix --chakra-in
 * @param nServers how many servers there are
 * @return what they do; nullptr if the prefix is empty
 * @throws InputError if a trace cannot be read
 */
Training ReadTraining(const std::string& prefix, uint32_t nServers);

/**
 * @param training what servers do, or nullptr
 * @param bytes of an AllReduce outside of training
 * @return the bytes of the largest AllReduce, for which is planned
 */
uint64_t GetLargest(const Training& training, uint64_t bytes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_FILES_H */
