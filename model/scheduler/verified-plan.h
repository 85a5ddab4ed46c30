/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_VERIFIED_PLAN_H
#define ALLREDUCE_VERIFIED_PLAN_H

#include "allreduce-scheduler.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <memory>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief All rounds of a collective from its beginning, which the verifier has proven.
 *
 * Without the proof there is no such object. Copies share the rounds.
 */
class VerifiedPlan
{
  public:
    /**
     * Prove a schedule.
     *
     * @param topology the network that it is for
     * @param schedule the schedule
     * @param planner who made it, by the name that users know
     * @throws InputError that says what is not correct
     */
    VerifiedPlan(const Topology& topology, AllReduceSchedule schedule, std::string planner);

    /// @return what is summed where, and the rounds
    const AllReduceSchedule& GetSchedule() const;

    /// @return the rounds
    const std::vector<WorkloadList>& GetRounds() const;

    /// @return what is summed where
    const Collective& GetCollective() const;

    /// @return HashRounds of the rounds
    uint64_t GetHash() const;

    /// @return who made it
    const std::string& GetPlanner() const;

  private:
    std::shared_ptr<const AllReduceSchedule> m_schedule; //!< see GetSchedule
    uint64_t m_hash;                                     //!< see GetHash
    std::string m_planner;                               //!< see GetPlanner
};

/**
 * @ingroup allreduce
 *
 * Plan with a scheduler from the beginning, and prove the plan.
 *
 * @param topology the network
 * @param collective what is to be summed where
 * @param scheduler the scheduler
 * @param progress where it says how far it has come
 * @return the plan
 * @throws InputError if the scheduler cannot plan, or the plan is not correct
 */
VerifiedPlan PlanVerified(const Topology& topology,
                          const Collective& collective,
                          AllReduceScheduler& scheduler,
                          const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_VERIFIED_PLAN_H */
