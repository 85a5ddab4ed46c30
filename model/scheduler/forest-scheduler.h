/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_SCHEDULER_H
#define ALLREDUCE_FOREST_SCHEDULER_H

#include "planned-scheduler.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Packs a flow-tree for each chunk into the network, and lets reduce and broadcast of all of
 * them overlap.
 *
 * What a link must carry for all chunks together is balanced first (PackForest), then when
 * (ForestTimetable). It needs no learning, and plans for thousands of servers. Where links differ
 * or are missing it is far ahead of plans whose broadcasts wait for the last reduce.
 */
class ForestScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;

    uint32_t m_samples{1}; //!< the attribute Samples
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_SCHEDULER_H */
