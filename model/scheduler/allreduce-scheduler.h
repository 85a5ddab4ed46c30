/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULER_H
#define ALLREDUCE_SCHEDULER_H

#include "planning-progress.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-state.h"
#include "ns3/object.h"

#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Whatever chooses rounds.
 *
 * A subclass anywhere that registers itself with NS_OBJECT_ENSURE_REGISTERED can be chosen by its
 * TypeId name wherever a scheduler can be named.
 */
class AllReduceScheduler : public Object
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /**
     * The hook: choose the workloads of the next round.
     *
     * @param state how far the AllReduce has come; no workload is in flight
     * @return workloads that are legal together in this state; none only if there is nothing to do
     */
    virtual WorkloadList NextRound(const AllReduceState& state) = 0;

    /**
     * What a scheduler that keeps a plan means to hand out, so that all of it can be proven before
     * any of it is used.
     *
     * @return the rounds from the one that NextRound handed out last to the end; none if the
     * scheduler keeps no plan
     */
    virtual RoundRange GetPlan() const;

    /**
     * Who made the plan that is handed out, if the scheduler handed over to another planner.
     *
     * @return a name for users; "" if the scheduler planned itself
     */
    virtual std::string GetPlanner() const;

    /**
     * What else users should know about the plan, such as what it is made of.
     *
     * @return a few words; "" if there is nothing to say
     */
    virtual std::string GetRemark() const;

    /// @param progress where to say how far planning has come from now on
    void SetProgress(PlanningProgress progress);

  protected:
    /// @return where to say how far planning has come
    const PlanningProgress& GetProgress() const;

  private:
    PlanningProgress m_progress; //!< see SetProgress
};

/**
 * @ingroup allreduce
 *
 * The flow-level simulator: ask the scheduler for rounds and carry them out until all is done.
 *
 * @param scheduler whom to ask
 * @param state where to begin
 * @param progress where scheduler and simulator say how far they have come
 * @return the rounds
 * @throws InputError if the scheduler hands out something illegal, or does not come to an end
 */
AllReduceSchedule Plan(AllReduceScheduler& scheduler,
                       AllReduceState state,
                       const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULER_H */
