/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_BUILDER_H
#define ALLREDUCE_ROUND_BUILDER_H

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3::allreduce
{

class ServerGraph;
class SwitchPathSearch;

/**
 * @ingroup allreduce
 *
 * @brief Fills a round with workloads, one after another, for schedulers that choose by chunk,
 * sender and receiver.
 *
 * It finds each workload a path with room, and takes it only if it is legal together with those
 * that the round already has. Links that are down do not exist for it.
 */
class RoundBuilder
{
  public:
    /// @param state how far the AllReduce has come; its topology must outlive the builder
    explicit RoundBuilder(const AllReduceState& state);
    ~RoundBuilder();

    RoundBuilder(const RoundBuilder&) = delete;
    RoundBuilder& operator=(const RoundBuilder&) = delete;

    /// @return the number of servers
    uint32_t GetNServers() const;

    /**
     * @param server a server
     * @return the servers that it can send to in one workload, nearest (fewest links) first
     */
    const std::vector<NodeId>& GetNeighbors(NodeId server) const;

    /**
     * @param server a server
     * @param chunk a chunk
     * @return how many workloads lead from the server to the chunk's root, or UNREACHABLE
     */
    uint32_t GetHopsToRoot(NodeId server, ChunkId chunk);

    /**
     * Let a server send on all that it holds of a chunk, if it may.
     *
     * @param chunk the chunk
     * @param from the sender
     * @param to the receiver, which merges it with what it holds
     * @return whether the round now has this workload
     */
    bool TryReduce(ChunkId chunk, NodeId from, NodeId to);

    /**
     * Let a server copy the final sum of a chunk to another, if it may.
     *
     * @param chunk the chunk
     * @param from the sender
     * @param to the receiver
     * @return whether the round now has this workload
     */
    bool TryBroadcast(ChunkId chunk, NodeId from, NodeId to);

    /// @return the workloads so far
    const WorkloadList& GetWorkloads() const;

  private:
    bool TryAdd(ChunkId chunk, WorkloadKind kind, NodeId from, NodeId to);

    AllReduceState m_state;                     //!< with the round's workloads under way
    Topology m_up;                              //!< without the links that are down
    std::unique_ptr<ServerGraph> m_servers;     //!< whom a workload can join
    std::unique_ptr<SwitchPathSearch> m_search; //!< finds paths
    std::vector<std::vector<uint32_t>> m_hops;  //!< by root, if it has been asked for: by server
    WorkloadList m_round;
    Path m_path; //!< of the workload being tried
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_BUILDER_H */
