/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_PLACEMENT_H
#define ALLREDUCE_RING_PLACEMENT_H

#include "gpu-cluster.h"
#include "ring-embedding.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Shortest paths over links that have bandwidth left.
 *
 * Searches breadth first and goes no farther than it must, so that what is near costs little in a
 * network of any size.
 */
class FreePathSearch
{
  public:
    /// What makes a server the better end of a path; the highest score wins, below 0 none does.
    using Score = std::function<int64_t(NodeId)>;

    /**
     * @param topology the network, which must outlive the search
     * @param freeBps bit/s left by directed link; must outlive the search
     */
    FreePathSearch(const Topology& topology, const std::vector<uint64_t>& freeBps);

    /**
     * Nodes that paths may end at but not pass, from now on.
     *
     * @param nodes the nodes
     */
    void SetBlocked(const std::vector<NodeId>& nodes);

    /**
     * Choose among equally short paths, from now on: searches look at the ports of a node from this
     * one on.
     *
     * @param port any number
     */
    void SetFirstPort(uint32_t port);

    /**
     * Find the best of the nearest servers.
     *
     * @param from where the path begins
     * @param bandwidthBps bit/s that each of its links must have left
     * @param score which servers will do, and how well
     * @return the path; empty if there is none
     */
    Path FindNearest(NodeId from, uint64_t bandwidthBps, const Score& score);

  private:
    Path TraceBack(NodeId from, NodeId to) const;
    bool IsSeen(NodeId node) const;
    void See(NodeId node, NodeId parent);

    const Topology& m_topology;
    const std::vector<uint64_t>& m_freeBps; //!< by directed link
    uint32_t m_search{0};                   //!< number of this search
    std::vector<uint32_t> m_seen;           //!< by node: the last search that saw it
    std::vector<NodeId> m_parent;           //!< by node: where that search came from
    std::vector<NodeId> m_queue;            //!< nodes seen, in this order
    std::vector<bool> m_isBlocked;          //!< by node
    std::vector<NodeId> m_blocked;          //!< the blocked nodes
    uint32_t m_firstPort{0};                //!< see SetFirstPort
};

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

    /**
     * Put a ring back where it was, if its place is still free.
     *
     * @param ring what Remove returned
     */
    void RestoreIfFree(const RingEmbedding& ring);

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

    /**
     * @param most so many at most
     * @return servers with free GPUs, those with most first
     */
    std::vector<NodeId> FindRoomiest(std::size_t most) const;

    /**
     * @param workers their number
     * @return the server with the least room that is enough for them, if there is any
     */
    std::optional<NodeId> FindTightest(uint32_t workers) const;

    /// @return the GPUs of all servers
    uint32_t GetNGpus() const;

    /// @return reserved bit/s, summed over directed links
    uint64_t GetReservedBps() const;

    /// @return what could be reserved, summed over directed links
    uint64_t GetReservableBps() const;

  private:
    static constexpr uint32_t NO_RING = ~uint32_t{0};

    bool PlaceOnOne(JobId job, uint32_t workers, uint64_t bandwidthBps);
    bool PlaceFrom(NodeId first, JobId job, uint32_t workers, uint64_t bandwidthBps);
    void SpreadPaths(JobId job, uint64_t bandwidthBps);
    void AddShare(RingEmbedding& ring, ServerShare share);
    bool AddPath(RingEmbedding& ring, const Path& path);
    bool Close(RingEmbedding ring);
    void Keep(RingEmbedding ring);
    void Undo(const RingEmbedding& ring);
    void Reserve(const RingEmbedding& ring, const Path& path);
    void SetFree(NodeId server, uint32_t nFree);

    const GpuCluster& m_cluster;
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
