/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-files.h"

#include "output-file.h"

#include "ns3/allreduce-error.h"
#include "ns3/chakra-export.h"
#include "ns3/input-file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace ns3::allreduce
{

namespace
{

ChakraWorkload
ReadWorkload(const std::string& path)
{
    InputFile in(path, "--chakra-in: file");
    return MakeChakraWorkload(ReadChakraTrace(in, NamePath(path)), NamePath(path));
}

} // namespace

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

std::vector<ChakraWorkload>
ReadChakraFiles(const std::string& prefix, uint32_t nServers)
{
    std::vector<ChakraWorkload> workloads;
    std::error_code error;
    if (std::filesystem::exists(prefix, error) && !std::filesystem::is_directory(prefix, error))
    {
        workloads.push_back(ReadWorkload(prefix));
        return workloads;
    }
    for (NodeId server = 0; server < nServers; ++server)
    {
        workloads.push_back(ReadWorkload(NameChakraFile(prefix, server)));
    }
    CheckSameCollectives(workloads);
    return workloads;
}

Training
ReadTraining(const std::string& prefix, uint32_t nServers)
{
    return prefix.empty() ? nullptr
                          : std::make_shared<const std::vector<ChakraWorkload>>(
                                ReadChakraFiles(prefix, nServers));
}

uint64_t
GetLargest(const Training& training, uint64_t bytes)
{
    if (!training)
    {
        return bytes;
    }
    const auto& collectives = training->front().collectives;
    return std::max_element(collectives.begin(),
                            collectives.end(),
                            [](const auto& x, const auto& y) { return x.bytes < y.bytes; })
        ->bytes;
}

} // namespace ns3::allreduce
