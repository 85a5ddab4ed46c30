/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_MATCHING_H
#define ALLREDUCE_FOREST_MATCHING_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/timetable.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// The deliveries of a Timetable, in the order in which they are to be sent.
struct ForestOrder
{
    const Topology& topology;                        //!< the network
    const PathTable& table;                          //!< of all paths
    const std::array<std::vector<PathId>, 2>& paths; //!< see Timetable
    const std::vector<DeliveryId>& deliveries;       //!< in this order
};

/**
 * @ingroup allreduce
 *
 * Place the workloads of flow-trees round by round, such that busy links do not idle. Each path has
 * a queue of the workloads whose data is there. PathMatching chooses the paths of a round, and
 * the first workloads of their queues are sent.
 *
 * @param order the deliveries; those in front are first in the queues
 * @param [out] rounds see Timetable
 * @return how much work it was: rounds times different paths
 */
uint64_t PlaceByMatching(const ForestOrder& order, std::array<std::vector<uint32_t>, 2>& rounds);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_MATCHING_H */
