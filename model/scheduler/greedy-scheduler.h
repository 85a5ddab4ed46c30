/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GREEDY_SCHEDULER_H
#define ALLREDUCE_GREEDY_SCHEDULER_H

#include "planned-scheduler.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Plans the broadcast greedily and the reduce as its mirror image.
 */
class GreedyScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;
    std::vector<WorkloadList> PlanRest(const AllReduceState& state) override;

    uint32_t m_samples{1}; //!< the attribute Samples
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GREEDY_SCHEDULER_H */
