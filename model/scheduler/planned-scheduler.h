/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNED_SCHEDULER_H
#define ALLREDUCE_PLANNED_SCHEDULER_H

#include "allreduce-scheduler.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A scheduler that plans all rounds at once, from the beginning or from any other state.
 *
 * It keeps nothing of a plan: who asked for it follows it, and asks again when the state is another
 * than the plan expects because a link went down or a workload did not arrive.
 */
class PlannedScheduler : public AllReduceScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /// @return the first round of a plan of all that is left @param state where to begin
    WorkloadList NextRound(const AllReduceState& state) override;
    std::vector<WorkloadList> PlanRounds(const AllReduceState& start) override;
    bool ChoosesByRound() const override;
    std::string GetPlanner() const final;

  protected:
    /// Random seed, for schedulers that use one.
    /// @return the attribute Seed
    uint64_t GetSeed() const;

    /**
     * Say in PlanRest that somebody else plans what is left.
     *
     * @param planner a name that users know
     */
    void HandOver(const std::string& planner);

  private:
    /**
     * Plan an AllReduce, or another collective if PlansGroups says so, from its beginning.
     *
     * @param state the beginning
     * @return all rounds
     * @throws InputError if the network does not have what the scheduler needs
     */
    virtual std::vector<WorkloadList> PlanAll(const AllReduceState& state) = 0;

    /// @return whether it plans other collectives than AllReduces of all servers
    virtual bool PlansGroups() const;

    /**
     * Plan what is left of an AllReduce. Unless a subclass knows better it is handed over to
     * greedy.
     *
     * @param state any state in which no workload is in flight
     * @return the rounds that are left
     * @throws InputError if servers are cut off, or the scheduler does not want to go on
     */
    virtual std::vector<WorkloadList> PlanRest(const AllReduceState& state);

    uint64_t m_seed{1};    //!< see GetSeed
    std::string m_planner; //!< see GetPlanner
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNED_SCHEDULER_H */
