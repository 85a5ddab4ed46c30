/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GPU_CLUSTER_H
#define ALLREDUCE_GPU_CLUSTER_H

#include "cluster-job.h"
#include "collective-times.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Servers with GPUs, joined by links whose bandwidth can be reserved, in slots of time.
 */
struct GpuCluster
{
    Topology topology;                 //!< servers, switches and links
    std::vector<uint32_t> gpus;        //!< by server
    double slotSeconds{60};            //!< how long a slot is
    double reduceBytesPerSecond{1e10}; //!< G: how fast a worker adds up gradients
    double reservableShare{1};         //!< how much of a link's rate can be reserved
    double contentionAlpha{0.1};       //!< see GetContendedBandwidth
    /// How long AllReduces take on the servers of a job; nullptr: as long as a ring does.
    std::shared_ptr<CollectiveTimes> collectiveTimes{};
    double moveSeconds{0}; //!< what a job that goes on elsewhere or later loses

    /// @return the GPUs of all servers
    uint32_t GetNGpus() const;

    /**
     * @param servers of a job
     * @return time of its AllReduce / time of a ring
     */
    double GetTransferShare(const std::vector<NodeId>& servers) const;

    /**
     * @param link one direction of a link
     * @return bit/s that can be reserved on it
     */
    uint64_t GetReservable(DirectedLinkId link) const;
};

/**
 * @ingroup allreduce
 *
 * @param cluster a cluster
 * @throws InputError that says what is not possible
 */
void CheckCluster(const GpuCluster& cluster);

/**
 * @ingroup allreduce
 *
 * Give every server one of several numbers of GPUs at random.
 *
 * @param nServers number of servers
 * @param choices the numbers to choose from
 * @param seed random seed
 * @return by server
 */
std::vector<uint32_t> DrawGpus(uint32_t nServers,
                               const std::vector<uint32_t>& choices,
                               uint64_t seed);

/**
 * @ingroup allreduce
 *
 * @param cluster where the job runs
 * @param job a job, which must outlive the state
 * @return the job before its first iteration
 */
JobState MakeJobState(const GpuCluster& cluster, const Job& job);

/**
 * @ingroup allreduce
 *
 * @param cluster a cluster
 * @param jobs what is to run there
 * @return slots in which they probably end: until the last arrives, then the longest job by itself,
 * then twice what all take if no GPU idles
 */
uint64_t EstimateSlots(const GpuCluster& cluster, const std::vector<Job>& jobs);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GPU_CLUSTER_H */
