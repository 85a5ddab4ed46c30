/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHUNK_SPREAD_H
#define ALLREDUCE_CHUNK_SPREAD_H

#include "port-neighborhoods.h"

#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Which servers hold which chunks, and how many servers around a port lack them.
class ChunkSpread
{
  public:
    /// How much a chunk is lacking around a receiver: shares of servers.
    struct Lack
    {
        float nearest;       //!< of its neighbors
        float aroundTwo;     //!< of those two hops away
        float mostElsewhere; //!< the most at one of its other ports
        float atPort;        //!< at this port
        float direct;        //!< of its direct neighbors
        float newlyCovered;  //!< of its neighbors, and no holder is near them yet
    };

    /// @param around the network; must outlive this @param nChunks number of chunks
    ChunkSpread(const PortNeighborhoods& around, uint32_t nChunks);

    /// A server has a chunk, will have it, or does not want it.
    /// @param server the server @param chunk the chunk
    void AddHolder(NodeId server, ChunkId chunk);

    /// A server's neighbors can get a chunk from it.
    /// @param server the server @param chunk the chunk
    void Cover(NodeId server, ChunkId chunk);

    /// @return by chunk: its holders
    const std::vector<uint32_t>& GetCounts() const
    {
        return m_nHolders;
    }

    /// @return how many servers near a holder lack a chunk @param chunk the chunk
    uint32_t CountFrontier(ChunkId chunk) const;

    /// @return how lacking a chunk is around a receiver @param port of the receiver
    /// @param chunk the chunk
    Lack FindLack(uint32_t port, ChunkId chunk) const;

  private:
    uint32_t CountLacking(const BitMatrix& servers, std::size_t row, ChunkId chunk) const
    {
        return CountAndNot(servers.GetRow(row), m_holders.GetRow(chunk), m_holders.GetRowWords());
    }

    const PortNeighborhoods* m_around;
    BitMatrix m_holders;              //!< [chunk][server]
    BitMatrix m_covered;              //!< [chunk][server]: near a holder
    std::vector<uint32_t> m_nHolders; //!< by chunk
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHUNK_SPREAD_H */
