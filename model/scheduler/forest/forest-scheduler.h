/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_SCHEDULER_H
#define ALLREDUCE_FOREST_SCHEDULER_H

#include "ns3/planned-scheduler.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Plan by packing flow-trees, as ForestScheduler does.
 *
 * @param topology the network, servers connected
 * @param collective what is to be summed where
 * @param seed breaks ties
 * @param nSamples of so many forests the one with the shortest plan is taken
 * @param progress where it is said how far planning has come
 * @return the plan
 */
std::vector<WorkloadList> PlanForest(const Topology& topology,
                                     const Collective& collective,
                                     uint64_t seed,
                                     uint32_t nSamples,
                                     const PlanningProgress& progress = {});

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
    bool PlansGroups() const override;

    uint32_t m_samples{1};      //!< the attribute Samples
    uint64_t m_searchEffort{0}; //!< the attribute SearchEffort
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_SCHEDULER_H */
