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

/// @ingroup allreduce
/// How far a broadcast has come while it is planned: which server holds, is being sent and misses
/// which chunk. Counts of this are kept up to date with every step.
class BroadcastProgress
{
  public:
    /**
     * @param problem who holds what, and the network
     * @param receivers [server][chunk]: must receive it unless it holds it (FindReceivers)
     */
    BroadcastProgress(const BroadcastProblem& problem, const BitMatrix& receivers);

    /// @return the number of chunks
    uint32_t GetNChunks() const
    {
        return m_nChunks;
    }

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
        return m_nMissing[server];
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
     * @param chunk a chunk that it misses
     * @return which share of the server's neighbors miss the chunk, too, averaged over its ports:
     *         how much use the server could make of it
     */
    double GetLackingShare(NodeId server, ChunkId chunk) const
    {
        float share = 0;
        for (uint32_t i = m_firstNeighbors[server]; i < m_firstNeighbors[server + 1]; ++i)
        {
            share += m_neighbors[i].weight * CountLacking(m_neighbors[i].group, chunk);
        }
        return share;
    }

    /// Send a chunk on its way. @param chunk the chunk @param server a server that misses it
    void Send(ChunkId chunk, NodeId server);

    /// Undo Send. @param chunk the chunk @param server where it was sent
    void Recall(ChunkId chunk, NodeId server);

    /// A chunk on its way is there. @param chunk the chunk @param server where it was sent
    void Arrive(ChunkId chunk, NodeId server);

    /// Undo Arrive. @param chunk the chunk @param server where it arrived
    void Withdraw(ChunkId chunk, NodeId server);

  private:
    /// Servers to be counted together: 0..N-1 are single servers, then come those at each switch,
    /// then those one switch farther.
    using GroupId = uint32_t;

    /// Servers to which a server can send over one of its ports.
    struct Neighbors
    {
        GroupId group; //!< which ones
        float weight;  //!< of each one in GetLackingShare
    };

    /// @return how many servers of a group miss a chunk
    uint32_t CountLacking(GroupId group, ChunkId chunk) const
    {
        return group < m_nServers ? m_missing.Test(group, chunk)
                                  : m_nLacking[std::size_t{group - m_nServers} * m_nChunks + chunk];
    }

    /// Find out which groups each server is in. @return the size of each group
    std::vector<uint32_t> FindMemberships(const BroadcastProblem& problem);
    /// Find out which groups each server can send to.
    void FindNeighbors(const BroadcastProblem& problem, const std::vector<uint32_t>& groupSize);
    /// Note that a chunk is missing at one server more or less.
    void Count(ChunkId chunk, NodeId server, int32_t change);

    uint32_t m_nServers;
    uint32_t m_nChunks;
    BitMatrix m_held;                        //!< [server][chunk]: since before this round
    BitMatrix m_missing;                     //!< [server][chunk]: neither held nor on its way
    std::vector<uint32_t> m_nMissing;        //!< by server: chunks that it misses
    std::vector<uint32_t> m_demand;          //!< by chunk: servers that miss it
    uint64_t m_nTransfersLeft{0};            //!< sum of m_demand
    std::vector<uint32_t> m_firstNeighbors;  //!< by server: index in m_neighbors
    std::vector<Neighbors> m_neighbors;      //!< of one server after another
    std::vector<uint32_t> m_firstMembership; //!< by server: index in m_memberships
    std::vector<GroupId> m_memberships;      //!< groups around switches that a server is in
    std::vector<uint16_t> m_nLacking;        //!< [group around a switch][chunk]: how many miss it
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BROADCAST_PROGRESS_H */
