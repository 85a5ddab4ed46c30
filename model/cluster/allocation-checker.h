/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ALLOCATION_CHECKER_H
#define ALLREDUCE_ALLOCATION_CHECKER_H

#include "gpu-cluster.h"
#include "ring-embedding.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a job is said to do in a slot.
struct RingRun
{
    RingEmbedding ring;     //!< its ring
    uint32_t iterations{0}; //!< how many it does
    uint32_t rate{0};       //!< how many it could do, if it did not end before
    bool isMoved{false};    //!< it ran before, and not so in the slot before this one
};

/**
 * @ingroup allreduce
 *
 * @brief Replays allocations slot by slot and finds what is not possible.
 *
 * It shares no rule with those who allocate: it has its own map of the links, its own count of
 * GPUs, bandwidth and progress, and its own formula of the iteration time.
 */
class AllocationChecker
{
  public:
    /**
     * @param cluster the cluster, which must outlive the checker
     * @param jobs the jobs, which must outlive the checker
     */
    AllocationChecker(const GpuCluster& cluster, const std::vector<Job>& jobs);

    /**
     * Check the next slot.
     *
     * @param slot its number
     * @param runs what is said to happen in it
     * @return what is wrong; "" if nothing is
     */
    std::string Check(uint32_t slot, const std::vector<RingRun>& runs);

  private:
    std::string CheckJob(uint32_t slot, const RingRun& run);
    std::string CheckServers(const RingEmbedding& ring);
    std::string CheckPaths(const RingEmbedding& ring);
    std::string CheckPath(const RingEmbedding& ring, std::size_t index);
    std::string CheckLinks() const;
    std::string CheckProgress(uint32_t slot, const RingRun& run);
    bool NoteMove(uint32_t slot, const RingEmbedding& ring);
    double FindBandwidth(const RingEmbedding& ring) const;
    uint32_t FindLink(NodeId from, NodeId to) const;

    static constexpr uint32_t NO_LINK = ~uint32_t{0};

    /// When and where a job last ran.
    struct LastRun
    {
        uint32_t slot{0};              //!< the slot
        std::vector<NodeId> servers;   //!< empty: never
        std::vector<uint32_t> workers; //!< on each server
    };

    const GpuCluster& m_cluster;
    const std::vector<Job>& m_jobs;                 //!< by id
    std::unordered_map<uint64_t, uint32_t> m_links; //!< by both ends: index of the direction
    std::vector<double> m_rates;                    //!< by direction: bit/s
    std::vector<double> m_reserved;                 //!< by direction: bit/s in this slot
    std::vector<uint32_t> m_nSharing;               //!< by direction: rings without reservation
    std::vector<uint32_t> m_gpusUsed;               //!< by server, in this slot
    std::vector<uint64_t> m_progress;               //!< by job: iterations before this slot
    std::vector<bool> m_hasRing;                    //!< by job, in this slot
    std::vector<LastRun> m_last;                    //!< by job
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ALLOCATION_CHECKER_H */
