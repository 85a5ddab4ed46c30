/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SHORTEST_PATH_BROADCAST_H
#define ALLREDUCE_SHORTEST_PATH_BROADCAST_H

#include "transfer-table.h"

#include "ns3/allreduce-state.h"
#include "ns3/huge-page-allocator.h"
#include "ns3/random-source.h"
#include "ns3/topology-metrics.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Broadcasts every chunk from its root along a shortest-path tree that grows with the
 * schedule.
 *
 * A server gets a chunk from a server nearby that is closer to the root (or, with a detour, not
 * farther from it), whichever of these has it and can be reached first. A round looks at some
 * chunks for each server, of those that one of its senders has, so that its cost does not depend on
 * how much is left to do.
 */
class ShortestPathBroadcast
{
  public:
    /**
     * @param state the network and the roots, which must outlive this
     * @param seed decides between equal deliveries
     * @param detour links more than to the nearest sender that there may be to another
     * @param isNearestFirst whether servers near a root come first: others wait for them
     */
    ShortestPathBroadcast(const AllReduceState& state,
                          uint64_t seed,
                          uint32_t detour,
                          bool isNearestFirst);

    /// @return the rounds
    std::vector<WorkloadList> Run();

  private:
    using TransferId = TransferTable::Id;

    /// A server that chunks have to reach.
    struct Receiver
    {
        std::vector<TransferId> transfers;       //!< to it, those with the fewest links first
        std::vector<std::vector<ChunkId>> ready; //!< by distance of the root: what a sender has
        uint32_t nMissing;                       //!< chunks that it does not have
        bool hasOneLength;                       //!< all transfers have as many links
    };

    void MeasureDistances();
    void ListTransfers();
    /// Fill m_mostLinks, but for receivers whose transfers have one length.
    void FindMostLinks();

    /// @return how many links a server is away from a root
    uint32_t GetDistance(NodeId root, NodeId server) const
    {
        return m_distances[std::size_t{server} * m_nServers + root];
    }

    /// @return how many links a transfer to a server may have, for the chunks of a root
    uint32_t GetMostLinks(NodeId root, NodeId server) const
    {
        if (m_receivers[server].hasOneLength)
        {
            return UNREACHABLE; // A look at the large table would not tell more.
        }
        return m_mostLinks[std::size_t{server} * m_nServers + root];
    }

    /// @return whether a server may pass the chunks of a root on to another, if they are near
    bool IsAllowed(NodeId root, NodeId from, NodeId to) const
    {
        return GetDistance(root, from) + (m_detour == 0) <= GetDistance(root, to);
    }

    /// A server has a chunk anew: it may pass it on.
    void Spread(ChunkId chunk, NodeId server);
    WorkloadList MakeRound();
    /// Receive what is this far from its root, as far as there is room.
    void Receive(NodeId server, uint32_t distance, WorkloadList& round);
    bool HasRoom(NodeId server) const;
    /// Fetch what the next tries look at into the cache. @param nLeft chunks not yet tried
    void PrefetchTries(NodeId server, const std::vector<ChunkId>& ready, std::size_t nLeft) const;
    /// Forget open transfers whose ends have no room by now.
    void DropFullTransfers();
    /// @return whether the delivery could be made in this round
    bool Deliver(ChunkId chunk, NodeId server, WorkloadList& round);

    const Topology& m_topology;
    AllReduceState m_state; //!< how far all has come
    uint32_t m_nServers;
    TransferTable m_transfers;
    RandomSource<LookaheadEngine> m_random; //!< decides between equal deliveries
    uint32_t m_detour;                      //!< see the constructor
    bool m_isNearestFirst;                  //!< see the constructor
    // A receiver looks at many roots in turn: what it needs is in one row.
    HugePageVector<uint16_t> m_distances;               //!< [server][server]: links between them
    HugePageVector<uint16_t> m_mostLinks;               //!< [server][root]: see GetMostLinks
    uint32_t m_farthest{0};                             //!< the largest of m_distances
    std::vector<Receiver> m_receivers;                  //!< by server
    std::vector<NodeId> m_order;                        //!< of the receivers in a round
    BitMatrix m_isReady;                                //!< [server][chunk]: is or was in ready
    std::vector<std::pair<ChunkId, NodeId>> m_arrivals; //!< in this round
    std::vector<TransferId> m_openTransfers; //!< to the present receiver, with room at both ends
    Path m_path;                             //!< the present path
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SHORTEST_PATH_BROADCAST_H */
