/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REDUCE_TREES_H
#define ALLREDUCE_REDUCE_TREES_H

#include "planning-problem.h"

#include "ns3/bit-matrix.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What is left to reduce: for each open chunk, the servers that have yet to send their
/// partial sum to their parent, and which of them can do so now.
class ReduceTrees
{
  public:
    /// @param problem whose open chunks they are
    explicit ReduceTrees(const PlanningProblem& problem);

    /// @return how many servers have yet to send, or what they sent has not arrived
    /// @param chunk a chunk
    uint32_t CountLeft(ChunkId chunk) const
    {
        return m_nLeft[chunk];
    }

    /// @return whether a server has yet to send @param server the server @param chunk the chunk
    bool IsPending(NodeId server, ChunkId chunk) const
    {
        return m_isPending.Test(server, chunk);
    }

    /// @return how many partial sums a server still waits for
    /// @param server the server @param chunk the chunk
    uint32_t CountAwaited(NodeId server, ChunkId chunk) const
    {
        return m_nAwaited[Index(server, chunk)];
    }

    /// @return whether a server has merged something @param server the server @param chunk the
    /// chunk
    bool HasMerged(NodeId server, ChunkId chunk) const
    {
        return m_hasMerged.Test(server, chunk);
    }

    /// @return edges between a server and the root @param server the server @param chunk the chunk
    uint32_t GetDepth(NodeId server, ChunkId chunk) const
    {
        return m_depth[Index(server, chunk)];
    }

    /// @return the depth of the deepest server that has yet to send @param chunk the chunk
    uint32_t GetHeight(ChunkId chunk) const
    {
        return m_height[chunk];
    }

    /// @return how many partial sums a server has yet to send @param server the server
    uint32_t CountPending(NodeId server) const
    {
        return m_nPending[server];
    }

    /// @return what one server could send to another now, in no particular order
    /// @param sender the one @param receiver the other
    const std::vector<ChunkId>& GetReady(NodeId sender, NodeId receiver) const
    {
        static const std::vector<ChunkId> none;
        for (const ReadyFor& ready : m_ready[sender])
        {
            if (ready.receiver == receiver)
            {
                return ready.chunks;
            }
        }
        return none;
    }

    /// A server sends its partial sum to its parent. @param sender the server @param chunk the
    /// chunk
    void Send(NodeId sender, ChunkId chunk);

    /// What was sent arrives. @param sender the server that sent @param chunk the chunk
    /// @return whether this completes the sum
    bool Arrive(NodeId sender, ChunkId chunk);

    /// A server turns out to have no partial sum, and nobody's but its own was expected from it.
    /// @param server a server that has yet to send and awaits nothing @param chunk the chunk
    /// @return whether this completes the sum
    bool Leave(NodeId server, ChunkId chunk);

  private:
    std::size_t Index(NodeId server, ChunkId chunk) const
    {
        return std::size_t{chunk} * m_nServers + server;
    }

    /// What a server could send to one of its parents.
    struct ReadyFor
    {
        NodeId receiver;             //!< the parent
        std::vector<ChunkId> chunks; //!< what it could send
    };

    std::vector<ChunkId>& FindReady(NodeId sender, NodeId receiver);
    void AddTree(ChunkId chunk);
    void MakeReady(NodeId server, ChunkId chunk);
    void RemovePending(NodeId server, ChunkId chunk);
    bool Detach(NodeId server, ChunkId chunk);

    const PlanningProblem& m_problem; //!< says where partial sums go
    const uint32_t m_nServers;
    BitMatrix m_isPending;                         //!< [server][chunk]: has yet to send
    BitMatrix m_hasMerged;                         //!< [server][chunk]: somebody's has arrived
    std::vector<uint16_t> m_nAwaited;              //!< by chunk and server
    std::vector<uint16_t> m_depth;                 //!< by chunk and server
    std::vector<uint32_t> m_nLeft;                 //!< by chunk
    std::vector<uint32_t> m_height;                //!< by chunk
    std::vector<std::vector<uint32_t>> m_nAtDepth; //!< by chunk and depth: pending servers
    std::vector<uint32_t> m_nPending;              //!< by server
    std::vector<std::vector<ReadyFor>> m_ready;    //!< by sender: for its parents, who are few
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REDUCE_TREES_H */
