/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FIXED_SCHEDULER_H
#define ALLREDUCE_FIXED_SCHEDULER_H

#include "planned-scheduler.h"

#include "ns3/allreduce-schedule.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Hands out a schedule that has been made before; after a failure the rest is planned
 * greedily.
 */
class FixedScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /// @param schedule what to hand out
    void SetSchedule(AllReduceSchedule schedule);

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;
    bool PlansGroups() const override;

    AllReduceSchedule m_schedule; //!< what to hand out
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FIXED_SCHEDULER_H */
