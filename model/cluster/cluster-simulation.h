/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_SIMULATION_H
#define ALLREDUCE_CLUSTER_SIMULATION_H

#include "allocation-checker.h"
#include "cluster-policy.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What happened in a slot.
struct SlotReport
{
    uint32_t slot{0};          //!< its number
    std::vector<RingRun> runs; //!< the rings and what they did
    uint32_t nActive{0};       //!< jobs that had arrived and not finished
    uint32_t nFinished{0};     //!< jobs that have finished so far, in this slot too
    double gpuUse{0};          //!< share of the GPUs that had a worker
    double linkUse{0};         //!< share of the bandwidth that was reserved
    double gain{0};            //!< utility added in this slot
    double utility{0};         //!< of all jobs, after this slot
};

/// @ingroup allreduce
/// What became of a job.
struct JobOutcome
{
    uint32_t firstSlot{0}; //!< the first slot in which it ran, if it did
    uint32_t lastSlot{0};  //!< the last one, if it did
    bool hasRun{false};    //!< whether it did
    uint32_t nMoves{0};    //!< how often it went on elsewhere, with other workers or after a pause
    double endSeconds{0};  //!< when it finished, if it did, from the beginning of slot 0 on
};

/// @ingroup allreduce
/// What came out of a trace.
struct ClusterResult
{
    uint32_t nJobs{0};                //!< jobs of the trace
    uint32_t nFinished{0};            //!< jobs that finished in time
    double utility{0};                //!< of all jobs, after the last slot
    double meanUtility{0};            //!< of all jobs, on average over the slots
    double workerSlotCost{0};         //!< what the GPUs cost; part of the utility
    double guaranteedShare{0};        //!< of the best possible utility, see the manual; 0: unknown
    double guaranteedMeanShare{0};    //!< of the best possible mean utility; 0: unknown
    double worstSlotShare{1};         //!< least of gain / bound over the slots; 1: unknown
    double meanGpuUse{0};             //!< share of GPUs with a worker
    double meanLinkUse{0};            //!< share of bandwidth reserved
    double gpuSeconds{0};             //!< that jobs held GPUs for, until they ended
    double fairness{0};               //!< Jain's index of the speeds relative to running alone
    uint64_t nMoves{0};               //!< how often jobs moved, see JobOutcome
    std::string remark;               //!< of the policy, see ClusterPolicy::GetRemark
    std::vector<JobState> jobs;       //!< by id
    std::vector<JobOutcome> outcomes; //!< by id
};

/// Told of every slot.
using SlotObserver = std::function<void(const SlotReport&)>;

/**
 * @ingroup allreduce
 *
 * Play a trace: in each slot jobs arrive, the policy allocates, and rings do as many iterations as
 * fit. AllocationChecker looks at every slot.
 *
 * @param cluster the cluster
 * @param jobs the jobs
 * @param utility what progress is worth
 * @param policy who allocates, unused so far
 * @param nSlots number of slots
 * @param observer told of every slot; may be empty
 * @return what came out
 * @throws InputError if the cluster or a job is not possible
 * @throws std::logic_error if an allocation is not, which is an error of the policy
 */
ClusterResult PlayTrace(const GpuCluster& cluster,
                        const std::vector<Job>& jobs,
                        const JobUtility& utility,
                        ClusterPolicy& policy,
                        uint32_t nSlots,
                        const SlotObserver& observer = {});

/**
 * @ingroup allreduce
 *
 * Play a trace without looking at every slot, for policies that try what would happen. What comes
 * out of it is not for users.
 *
 * @copydetails PlayTrace
 */
ClusterResult TryTrace(const GpuCluster& cluster,
                       const std::vector<Job>& jobs,
                       const JobUtility& utility,
                       ClusterPolicy& policy,
                       uint32_t nSlots);

/**
 * @ingroup allreduce
 *
 * @param cluster the cluster
 * @param jobs the jobs
 * @param rings all rings of a slot
 * @return for each ring the bit/s of its hops: what is reserved, or what sharing leaves
 */
std::vector<double> FindRingBandwidths(const GpuCluster& cluster,
                                       const std::vector<Job>& jobs,
                                       const std::vector<RingEmbedding>& rings);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_SIMULATION_H */
