/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-files.h"

#include "output-file.h"

#include "ns3/chakra-export.h"

namespace ns3::allreduce
{

std::string
NameChakraFile(const std::string& prefix, NodeId server)
{
    return prefix + "." + std::to_string(server) + ".et";
}

void
WriteChakraFiles(const std::string& prefix,
                 const Topology& topology,
                 const AllReduceSchedule& schedule,
                 uint64_t bytes)
{
    ExportChakra(topology,
                 schedule,
                 bytes,
                 [&](NodeId server, const std::vector<ChakraNode>& nodes) {
                     OutputFile file("--chakra-out", NameChakraFile(prefix, server));
                     WriteChakraTrace(nodes, file.Get());
                     file.Finish();
                 });
}

} // namespace ns3::allreduce
