/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_MATCHING_H
#define ALLREDUCE_FOREST_MATCHING_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/path-table.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The workloads of flow-trees, in the order in which they are to be sent.
 *
 * A workload is known by its chunk, its half and a server: in the reduce (0) the server sends, in
 * the broadcast (1) it receives. The index of a chunk and a server is the chunk's number times the
 * number of servers, plus the server.
 */
struct ForestOrder
{
    const Topology& topology;                           //!< the network
    const std::vector<NodeId>& roots;                   //!< by chunk
    const PathTable& paths;                             //!< of the trees
    const std::array<std::vector<PathId>, 2>& toParent; //!< by half: by index
    const std::vector<uint32_t>& tasks;                 //!< twice the index, plus the half
};

/**
 * @ingroup allreduce
 *
 * Place the workloads of flow-trees round by round, such that busy links do not idle. Each path has
 * a queue of the workloads whose data is there. PathMatching chooses the paths of a round, and
 * the first workloads of their queues are sent.
 *
 * @param order the workloads; those in front are first in the queues
 * @param [out] round by half: by index: the round
 * @return how much work it was: rounds times different paths
 */
uint64_t PlaceByMatching(const ForestOrder& order, std::array<std::vector<uint32_t>, 2>& round);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_MATCHING_H */
