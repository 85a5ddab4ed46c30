/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BROADCAST_PROGRESS_H
#define ALLREDUCE_BROADCAST_PROGRESS_H

#include "broadcast-problem.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief How far a broadcast has come while it is planned: what is held, what is on its way, what
 * is missing, and counts of it that are kept up to date with every step.
 */
class BroadcastProgress
{
  public:
    /**
     * @param problem who holds what, and the network
     * @param receivers [server][chunk]: must receive it unless it holds it (FindReceivers)
     */
    BroadcastProgress(const BroadcastProblem& problem, const BitMatrix& receivers);

    /// @return the number of 64-bit words in a row of chunks
    std::size_t GetRowWords() const
    {
        return m_held.GetRowWords();
    }

    /// @return the chunks that a server has had since before this round @param server the server
    const uint64_t* GetHeld(NodeId server) const
    {
        return m_held.GetRow(server);
    }

    /// @return whether it has had it since before this round
    /// @param server the server @param chunk the chunk
    bool Holds(NodeId server, ChunkId chunk) const
    {
        return m_held.Test(server, chunk);
    }

    /// @return the chunks that a server must still be sent @param server the server
    const uint64_t* GetMissing(NodeId server) const
    {
        return m_missing.GetRow(server);
    }

    /// @return how many chunks a server must still be sent @param server the server
    uint32_t GetNMissing(NodeId server) const
    {
        return m_nMissingChunks[server];
    }

    /// @return how many servers must still be sent a chunk @param chunk the chunk
    uint32_t GetDemand(ChunkId chunk) const
    {
        return m_demand[chunk];
    }

    /// @return how many transfers are still to be planned
    uint64_t GetNTransfersLeft() const
    {
        return m_nTransfersLeft;
    }

    /**
     * @param server a server
     * @param chunk a chunk that it is to receive
     * @return which share of the server's neighbors must still be sent the chunk, averaged over its
     *         ports: how much use it can make of the chunk. (The server itself may be in it, the
     *         same for every chunk.)
     */
    double GetLackingShare(NodeId server, ChunkId chunk) const;

    /// Send a chunk on its way. @param chunk the chunk @param server a server that misses it
    void Send(ChunkId chunk, NodeId server);

    /// Undo Send. @param chunk the chunk @param server where it was sent
    void Recall(ChunkId chunk, NodeId server);

    /// A chunk on its way is there. @param chunk the chunk @param server where it was sent
    void Arrive(ChunkId chunk, NodeId server);

    /// Undo Arrive. @param chunk the chunk @param server where it arrived
    void Withdraw(ChunkId chunk, NodeId server);

  private:
    /// A port of a server over which it can send, seen as the servers next to it.
    struct Neighborhood
    {
        NodeId node;  //!< the switch that they are at, or the only one of them
        float weight; //!< of each of them in GetLackingShare
    };

    /// Fill the tables of neighborhoods.
    void FindNeighborhoods(const BroadcastProblem& problem);
    /// Note that one server more (or less) lacks a chunk.
    void AddLacking(ChunkId chunk, NodeId server, int32_t change);

    uint32_t m_nServers;                          //!< number of servers
    uint32_t m_nChunks;                           //!< number of chunks
    BitMatrix m_held;                             //!< [server][chunk]: since before this round
    BitMatrix m_missing;                          //!< [server][chunk]: neither held nor on its way
    std::vector<uint32_t> m_nMissingChunks;       //!< by server
    std::vector<uint32_t> m_demand;               //!< by chunk: servers that miss it
    uint64_t m_nTransfersLeft{0};                 //!< sum of m_demand
    std::vector<uint32_t> m_firstNeighborhood;    //!< by server: index in m_neighborhoods
    std::vector<Neighborhood> m_neighborhoods;    //!< one server after another
    std::vector<uint32_t> m_firstSwitch;          //!< by server: index in m_switches
    std::vector<uint32_t> m_switches;             //!< those that lead to each server, from 0 on
    std::vector<uint16_t> m_nLacking;             //!< [switch][chunk]: servers that miss it
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BROADCAST_PROGRESS_H */
