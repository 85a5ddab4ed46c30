/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DELIVERY_PLAN_H
#define ALLREDUCE_DELIVERY_PLAN_H

#include "delivery-paths.h"

#include "ns3/allreduce-workload.h"

#include <array>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// The half of a chunk's AllReduce in which partial sums go up to the root.
constexpr uint32_t UP = 0;
/// The half in which final sums come down.
constexpr uint32_t DOWN = 1;

/**
 * @ingroup allreduce
 *
 * @brief A plan as searches see it: for each half, chunk and server but the root one *delivery*.
 *
 * Both halves are trees that lead from the root to all servers. Down, a delivery brings the final
 * sum from the server's parent. Up, it is the reduce of the server's partial sum to its parent,
 * seen backwards: what is sent over the reversed path. So what holds for one half holds for the
 * other one with time reversed.
 *
 * The index of a delivery within its half is chunk * servers + server; those of roots mean nothing.
 */
struct DeliveryPlan
{
    uint32_t nRounds{0};                         //!< rounds of the plan
    std::array<std::vector<PathId>, 2> paths;    //!< by half, index: from parent to server
    std::array<std::vector<uint32_t>, 2> rounds; //!< by half, index: when it is sent
};

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param nChunks number of chunks
 * @param rounds a plan of whole sums: every server sends one reduce and gets one broadcast
 * @param [in,out] paths gets those of the plan
 * @return the plan as deliveries
 */
DeliveryPlan MakeDeliveries(const Topology& topology,
                            std::size_t nChunks,
                            const std::vector<WorkloadList>& rounds,
                            DeliveryPaths& paths);

/**
 * @ingroup allreduce
 *
 * @param plan the deliveries
 * @param roots the root of each chunk
 * @param paths their paths
 * @return the workloads of each round
 */
std::vector<WorkloadList> MakeRounds(const DeliveryPlan& plan,
                                     const std::vector<NodeId>& roots,
                                     const DeliveryPaths& paths);

/// Play a plan backwards. @param [in,out] plan the deliveries
void Mirror(DeliveryPlan& plan);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DELIVERY_PLAN_H */
