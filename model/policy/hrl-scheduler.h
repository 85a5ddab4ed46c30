/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HRL_SCHEDULER_H
#define ALLREDUCE_HRL_SCHEDULER_H

#include "policy-rollout.h"

#include "ns3/planned-scheduler.h"

#include <functional>
#include <memory>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Plans with the two learned policies: in each round the upper one selects flow-trees, the
 * lower one schedules their workloads.
 *
 * From the beginning of an AllReduce it plans from the middle outwards (see PlanMiddle); from any
 * other state it goes on forwards.
 */
class HrlScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;
    std::vector<WorkloadList> PlanRest(const AllReduceState& state) override;
    /// Makes the plan of a sample.
    using RolloutPlanner = std::function<std::vector<WorkloadList>(const RolloutOptions&)>;

    /// @return the shortest of the sampled plans
    std::vector<WorkloadList> FindShortest(const RolloutPlanner& makePlan) const;
    /// Reads the checkpoint, unless that has been done.
    void LoadWeights();

    std::string m_checkpoint;                       //!< the attribute Checkpoint
    uint32_t m_samples{1};                          //!< the attribute Samples
    uint32_t m_middles{1};                          //!< the attribute Middles
    uint64_t m_searchEffort{0};                     //!< the attribute SearchEffort
    bool m_usesUpper{true};                         //!< the attribute Upper
    std::string m_loaded;                           //!< where m_weights are from
    std::shared_ptr<const PolicyWeights> m_weights; //!< of the policies
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HRL_SCHEDULER_H */
