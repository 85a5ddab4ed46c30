/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HRL_SCHEDULER_H
#define ALLREDUCE_HRL_SCHEDULER_H

#include "policy-rollout.h"

#include "ns3/broadcast-problem.h"
#include "ns3/planned-scheduler.h"

#include <functional>
#include <memory>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Plans with the two learned policies: the upper one selects flow-trees once a round, the
 * lower one schedules their workloads.
 *
 * The broadcast is planned, the reduce is its mirror image. Where that leaves ports idle, the upper
 * policy staggers the trees, so that reduces and broadcasts overlap, and the shorter plan is taken.
 * Or, with the attribute Forward, rounds are chosen one after another with reduces and broadcasts
 * in flight together. From a state in the middle of an AllReduce what is left is planned in the
 * same way. Forward policies that never learned may send partial sums to and fro without end: from
 * the beginning that is an error, a rest is handed over to the forward greedy planner.
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

    /// @return a plan; empty if all samples were given up @param state where it begins
    std::vector<WorkloadList> PlanWithPolicies(const AllReduceState& state);
    /// @return a plan whose broadcast was planned @param state where it begins
    std::vector<WorkloadList> PlanMirrored(const AllReduceState& state) const;
    /// @return a plan made round by round; empty if all samples were given up @param state where it
    /// begins
    std::vector<WorkloadList> PlanForward(const AllReduceState& state) const;
    /// @return after how many rounds a forward plan is given up @param state where it begins
    uint32_t GetMostRounds(const AllReduceState& state) const;
    /// @return the shortest of the sampled plans; empty if all were given up
    std::vector<WorkloadList> FindShortest(const RolloutPlanner& makePlan) const;
    /// Reads the checkpoint, unless that has been done.
    void LoadWeights();

    std::string m_checkpoint;                       //!< the attribute Checkpoint
    uint32_t m_samples{1};                          //!< the attribute Samples
    bool m_usesUpper{true};                         //!< the attribute Upper
    bool m_isForward{false};                        //!< the attribute Forward
    uint32_t m_mostRounds{0};                       //!< the attribute MostRounds
    std::string m_loaded;                           //!< where m_weights are from
    std::shared_ptr<const PolicyWeights> m_weights; //!< of the policies
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HRL_SCHEDULER_H */
