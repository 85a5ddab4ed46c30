/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_PLACEMENT_H
#define ALLREDUCE_RING_PLACEMENT_H

#include "free-path-search.h"
#include "gpu-cluster.h"
#include "ring-embedding.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Workers on a server.
struct ServerShare
{
    NodeId server;    //!< the server
    uint32_t workers; //!< how many of its GPUs
};

/**
 * @ingroup allreduce
 *
 * @brief The rings in a cluster, and the GPUs and the bandwidth that they leave.
 *
 * Every policy places its rings here, so that none can take what is not there. A ring stays where
 * it is until it is removed: what does not change from slot to slot costs nothing.
 */
class RingPlacement
{
  public:
    /// @param cluster the cluster, which must outlive this
    explicit RingPlacement(const GpuCluster& cluster);

    /**
     * Find a place for a ring: the server with the least room that is enough; or, if there is none,
     * the server with most room and from there on the nearest with any, over links with bandwidth
     * left. If that leads nowhere, a few other servers are tried as the first.
     *
     * @param job a job that has no ring
     * @param workers their number
     * @param bandwidthBps to be reserved on every hop
     * @return whether there is a place; if not, nothing changes
     */
    bool Place(JobId job, uint32_t workers, uint64_t bandwidthBps);

    /**
     * Place a ring on given servers, in this order, over shortest paths with bandwidth left.
     *
     * @param job a job that has no ring
     * @param shares servers with as many free GPUs
     * @param bandwidthBps to be reserved on every hop; 0: nothing is reserved
     * @return whether there is a place; if not, nothing changes
     */
    bool PlaceOn(JobId job, const std::vector<ServerShare>& shares, uint64_t bandwidthBps);

    /**
     * @param job a job that has a ring
     * @return the ring, which is there no longer
     */
    RingEmbedding Remove(JobId job);

    /**
     * Put a ring back where it was.
     *
     * @param ring what Remove returned, while its place is still free
     */
    void Restore(RingEmbedding ring);

    /// Remove all rings.
    void Clear();

    /**
     * @param job a job
     * @return its ring, valid until rings change; nullptr if it has none
     */
    const RingEmbedding* Find(JobId job) const;

    /// @return all rings
    const std::vector<RingEmbedding>& GetRings() const;

    /// @return free GPUs of all servers
    uint32_t GetNFreeGpus() const;

    /**
     * @param server a server
     * @return its free GPUs
     */
    uint32_t GetNFreeGpus(NodeId server) const;

    /// @return the GPUs of all servers
    uint32_t GetNGpus() const;

    /// @return reserved bit/s, summed over directed links
    uint64_t GetReservedBps() const;

    /// @return what could be reserved, summed over directed links
    uint64_t GetReservableBps() const;

  private:
    static constexpr uint32_t NO_RING = ~uint32_t{0};

    std::vector<NodeId> FindRoomiest(std::size_t most) const;
    bool PlaceOnOne(JobId job, uint32_t workers, uint64_t bandwidthBps);
    bool PlaceFrom(NodeId first, JobId job, uint32_t workers, uint64_t bandwidthBps);
    void AddShare(RingEmbedding& ring, ServerShare share);
    bool AddPath(RingEmbedding& ring, const Path& path);
    bool Close(RingEmbedding& ring);
    void Keep(RingEmbedding ring);
    void Undo(const RingEmbedding& ring);
    void Reserve(const RingEmbedding& ring, const Path& path);
    void SetFree(NodeId server, uint32_t nFree);

    const GpuCluster& m_cluster;               //!< the cluster
    uint32_t m_nGpus;                          //!< of all servers
    uint32_t m_nFree{0};                       //!< free GPUs of all servers
    std::vector<uint32_t> m_free;              //!< free GPUs by server
    std::vector<std::vector<NodeId>> m_byFree; //!< servers by number of free GPUs
    std::vector<uint32_t> m_place;             //!< by server: where it is in m_byFree
    std::vector<uint64_t> m_freeBps;           //!< bit/s left, by directed link
    uint64_t m_reservedBps{0};                 //!< summed over directed links
    uint64_t m_reservableBps{0};               //!< summed over directed links
    std::vector<RingEmbedding> m_rings;        //!< all rings
    std::vector<uint32_t> m_ringOfJob;         //!< by job: its ring's index
    FreePathSearch m_search;                   //!< finds paths
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_PLACEMENT_H */
