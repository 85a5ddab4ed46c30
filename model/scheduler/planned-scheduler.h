/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNED_SCHEDULER_H
#define ALLREDUCE_PLANNED_SCHEDULER_H

#include "allreduce-scheduler.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A scheduler that plans all rounds at once and hands them out one by one.
 *
 * As long as the world follows the plan it is not made anew; when the state is another than the
 * plan expects (a link went down, a workload did not arrive), the rest is planned from there.
 */
class PlannedScheduler : public AllReduceScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    WorkloadList NextRound(const AllReduceState& state) final;

    /// @return how often a plan was made because the state was not the expected one
    uint32_t GetNReplans() const;

  protected:
    /// Where chance comes from, for schedulers that use it.
    /// @return the attribute Seed
    uint64_t GetSeed() const;

  private:
    /**
     * Plan an AllReduce from its beginning.
     *
     * @param state the beginning
     * @return all rounds
     * @throws InputError if the network does not have what the scheduler needs
     */
    virtual std::vector<WorkloadList> PlanAll(const AllReduceState& state) = 0;

    /**
     * Plan what is left of an AllReduce. Unless a subclass knows better: greedily.
     *
     * @param state any state in which no workload is in flight
     * @return the rounds that are left
     * @throws InputError if servers are cut off
     */
    virtual std::vector<WorkloadList> PlanRest(const AllReduceState& state);

    uint64_t m_seed{1};                //!< see GetSeed
    std::vector<WorkloadList> m_plan;  //!< the rounds; those handed out are empty
    std::size_t m_next{0};             //!< the round to hand out next
    uint64_t m_expectedFingerprint{0}; //!< of the state when the next round is asked for
    uint32_t m_nReplans{0};            //!< see GetNReplans
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNED_SCHEDULER_H */
