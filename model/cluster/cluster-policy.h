/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_POLICY_H
#define ALLREDUCE_CLUSTER_POLICY_H

#include "job-utility.h"
#include "ring-placement.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Decides in every slot which jobs run, with how many workers, and where their rings lie.
 *
 * A policy sees jobs when they arrive and knows nothing of those that will.
 */
class ClusterPolicy
{
  public:
    /// What a policy works with.
    struct World
    {
        const GpuCluster* cluster{nullptr};         //!< where
        const std::vector<JobState>* jobs{nullptr}; //!< by id, also those that have not arrived
        const JobUtility* utility{nullptr};         //!< what progress is worth
        RingPlacement* placement{nullptr};          //!< where rings are placed
        uint32_t nSlots{0};                         //!< how many there will be
    };

    virtual ~ClusterPolicy() = default;

    /// @param world what to work with, before the first slot
    void Begin(const World& world);

    /// @param job a job that has arrived
    virtual void AddJob(JobId job);

    /// @param job a job that has finished; its ring has been removed
    virtual void RemoveJob(JobId job);

    /**
     * Place, keep or remove rings, so that those wanted in this slot are there.
     *
     * @param slot the slot
     */
    virtual void Allocate(uint32_t slot) = 0;

    /// @return what a row of results should say of it besides; mostly ""
    virtual std::string GetRemark() const;

    /// @return what no allocation for the last slot could have gained more than, if that is known
    virtual std::optional<double> GetSlotBound() const;

  protected:
    /// @return the state of a job @param job the job
    const JobState& GetState(JobId job) const;

    World m_world;               //!< what to work with
    std::vector<JobId> m_active; //!< jobs that have arrived and not finished, by arrival
};

/// @ingroup allreduce
/// How many workers a job is to have.
struct RingSize
{
    JobId job;        //!< the job
    uint32_t workers; //!< 1 or more
};

/**
 * @ingroup allreduce
 *
 * Change the rings that are there into rings of given sizes. Those of the right size stay; if
 * not all others find a place and moves are free, all are placed anew, the largest first.
 *
 * @param cluster the cluster
 * @param placement the rings
 * @param jobs the jobs, for their bandwidth
 * @param sizes a ring for each of these jobs, and for no other
 * @return the jobs whose rings found no place, in the order of sizes
 */
std::vector<RingSize> ResizeRings(const GpuCluster& cluster,
                                  RingPlacement& placement,
                                  const std::vector<JobState>& jobs,
                                  const std::vector<RingSize>& sizes);

/// @ingroup allreduce
/// @param isForAll only those that can play every trace
/// @return the names that CreateClusterPolicy knows
std::vector<std::string> GetClusterPolicyNames(bool isForAll = true);

/**
 * @ingroup allreduce
 *
 * @param name one of GetClusterPolicyNames
 * @param seed random seed of a policy
 * @return the policy
 * @throws InputError that names what there is
 */
std::unique_ptr<ClusterPolicy> CreateClusterPolicy(const std::string& name, uint64_t seed);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_POLICY_H */
