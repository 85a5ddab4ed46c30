/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REGION_SUPPLY_H
#define ALLREDUCE_REGION_SUPPLY_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * @brief Which chunks the regions of a network hold and lack, and their slack in receiving them.
 *
 * A region is a set of servers that few links lead into: a rack (a switch with the servers that
 * have no other neighbor; any other server is a rack by itself), or what lies on one side of a link
 * that is the only one between its sides. Every chunk should come into a region once and then be
 * passed on inside.
 */
class RegionSupply
{
  public:
    /// Slack where there is no region: more than any there can be.
    static constexpr int64_t NO_LIMIT = std::numeric_limits<int64_t>::max();

    /// What a round has left.
    struct RoomLeft
    {
        const std::vector<uint32_t>& free; //!< by directed link: workloads that it still takes
        int64_t roundsAfter;               //!< rounds after this one
    };

    /// @param topology the network @param capacity by directed link: unit flows a round; 0 is down
    /// @param nChunks number of chunks
    RegionSupply(const Topology& topology, const std::vector<uint32_t>& capacity, uint32_t nChunks);

    /// A server has a chunk, or soon will. @param server the server @param chunk the chunk
    void Bring(NodeId server, ChunkId chunk);

    /// A server wants a chunk; call after all of Bring at the start.
    /// @param server the server @param chunk the chunk
    void Want(NodeId server, ChunkId chunk);

    /// @param receiver a server @param room what the round has left
    /// @return the least slack of its regions: workloads that can come in beyond those that must
    int64_t CountSlack(NodeId receiver, const RoomLeft& room) const;

    /// @param sender a server @param receiver another @param room what the round has left
    /// @return the least slack of the regions that a workload from one to the other comes into
    int64_t CountSlack(NodeId sender, NodeId receiver, const RoomLeft& room) const;

    /// @param sender a server @param receiver another @param chunk a chunk
    /// @param room what the round has left
    /// @return the least slack of the regions that a workload from one to the other brings it into
    int64_t CountSlack(NodeId sender, NodeId receiver, ChunkId chunk, const RoomLeft& room) const;

  private:
    /// A region as seen from outside.
    struct Region
    {
        std::vector<DirectedLinkId> inLinks; //!< links that lead into it
        uint32_t inCapacity{0};              //!< workloads that they carry in a round
        uint32_t nServers{0};                //!< servers in it
        uint32_t nWanted{0};                 //!< chunks wanted in it that nobody there has
    };

    void AddRegion(const std::vector<bool>& isInside);
    void AddRacks();
    void AddSides();
    std::vector<bool> FindSide(NodeId start, DirectedLinkId without) const;
    void KeepTightest();
    int64_t CountSlackOf(uint32_t region, const RoomLeft& room) const;

    template <typename Counts>
    int64_t FindLeast(NodeId receiver, const RoomLeft& room, Counts counts) const;

    const Topology& m_topology;
    const std::vector<uint32_t>& m_capacity; //!< by directed link
    std::vector<Region> m_regions;
    std::vector<std::vector<uint32_t>> m_regionsOf; //!< by server: the tightest that it is in
    std::vector<std::vector<bool>> m_isInside;      //!< [region][node]
    BitMatrix m_present;                            //!< [region][chunk]: somebody has it
    BitMatrix m_wanted;                             //!< [region][chunk]: counted in nWanted
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REGION_SUPPLY_H */
