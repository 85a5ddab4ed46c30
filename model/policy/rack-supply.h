/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RACK_SUPPLY_H
#define ALLREDUCE_RACK_SUPPLY_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What the racks of a network have and lack.
 *
 * A rack is a switch with the servers that have no other neighbor; any other server is a rack by
 * itself. Where few links lead into a rack, every chunk should come in once and then be passed on
 * inside.
 */
class RackSupply
{
  public:
    /**
     * @param topology the network
     * @param capacity by directed link: unit flows a round; 0 is down
     * @param nChunks number of chunks
     */
    RackSupply(const Topology& topology, const std::vector<uint32_t>& capacity, uint32_t nChunks);

    /// A server has a chunk, or soon will. @param server the server @param chunk the chunk
    void Bring(NodeId server, ChunkId chunk);

    /// A server wants a chunk; call after all of Bring at the start.
    /// @param server the server @param chunk the chunk
    void Want(NodeId server, ChunkId chunk);

    /// @return whether nobody in a server's rack has a chunk
    /// @param server the server @param chunk the chunk
    bool IsNew(NodeId server, ChunkId chunk) const
    {
        return !m_present.Test(m_rackOf[server], chunk);
    }

    /// @return whether two servers are in the same rack @param x the one @param y the other
    bool AreTogether(NodeId x, NodeId y) const
    {
        return m_rackOf[x] == m_rackOf[y];
    }

    /**
     * @param server a server
     * @param free by directed link: workloads that it still takes in this round
     * @param roundsAfter rounds after this one
     * @return how many workloads more can come into its rack than must
     */
    int64_t CountSlack(NodeId server, const std::vector<uint32_t>& free, int64_t roundsAfter) const;

  private:
    /// A rack as seen from outside.
    struct Rack
    {
        std::vector<DirectedLinkId> inLinks; //!< links that lead into it
        uint32_t inCapacity{0};              //!< workloads that they carry in a round
        uint32_t nWanted{0};                 //!< chunks wanted in it that nobody there has
    };

    std::vector<uint32_t> m_rackOf; //!< by server
    std::vector<Rack> m_racks;      //!< the racks
    BitMatrix m_present;            //!< [rack][chunk]: somebody has it
    BitMatrix m_wanted;             //!< [rack][chunk]: counted in nWanted
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RACK_SUPPLY_H */
