/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_EMBEDDING_H
#define ALLREDUCE_RING_EMBEDDING_H

#include "cluster-job.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A job's ring in the cluster: workers on servers, and a path from each server to the next.
 *
 * The workers of one server stand next to each other in the ring, so that every server sends to
 * one other and hears from one other. Between workers of one server nothing enters the network.
 */
struct RingEmbedding
{
    JobId job{0};                  //!< whose ring
    uint64_t bandwidthBps{0};      //!< reserved on every hop; 0: shared with whoever comes
    std::vector<NodeId> servers;   //!< in the order of the ring
    std::vector<uint32_t> workers; //!< on each of these servers
    std::vector<Path> paths;       //!< from each server to the next; none if there is one server

    /// @return the workers on all servers
    uint32_t GetNWorkers() const;
};

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param ring a ring in it
 * @return every directed link that the ring crosses, as often as it does
 */
std::vector<DirectedLinkId> GetLinks(const Topology& topology, const RingEmbedding& ring);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_EMBEDDING_H */
