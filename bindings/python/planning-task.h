/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PYTHON_PLANNING_TASK_H
#define ALLREDUCE_PYTHON_PLANNING_TASK_H

#include "bindings.h"
#include "schedule-object.h"

#include "ns3/planning-environment.h"
#include "ns3/planning-problem.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce::python
{

/**
 * @brief An AllReduce that is to be planned decision by decision, once or many times.
 *
 * What takes long to find is found once. A task does not change, so that threads can share it.
 */
class PlanningTask
{
  public:
    /**
     * @param topology the network
     * @param chunksPerServer chunks that each server is the root of; 0: as many as it has ports
     * @param kind "forward": reduces and broadcasts together, on the flow-trees of a forest;
     * "mirrored": the broadcasts, and the reduces are their mirror image
     * @param seed where the forest comes from
     * @throws InputError if servers are cut off, or the task is too large
     */
    PlanningTask(TopologyPointer topology,
                 uint64_t chunksPerServer,
                 const std::string& kind,
                 uint64_t seed);

    PlanningTask(const PlanningTask&) = delete;
    PlanningTask& operator=(const PlanningTask&) = delete;

    /// @return the beginning, to be copied
    const PlanningEnvironment& GetBeginning() const;
    /// @return the network
    const TopologyPointer& GetTopology() const;
    /// @return the number of chunks
    uint32_t GetNChunks() const;
    /// @return rounds that no whole plan can beat
    uint32_t GetBound() const;
    /// @return choices that there are at most at once
    uint32_t GetMostChoices() const;

    /**
     * @param rounds what has been decided, to the end
     * @return the whole plan, verified
     * @throws std::logic_error if the verifier refuses it
     */
    ScheduleObject Finish(const std::vector<WorkloadList>& rounds) const;

  private:
    PlanningProblem MakeProblem(uint64_t seed) const;

    const TopologyPointer m_topology;      //!< the network
    const std::vector<NodeId> m_roots;     //!< by chunk
    const bool m_isMirrored;               //!< a half is planned, and the other is its mirror image
    const uint32_t m_bound;                //!< rounds that no whole plan can beat
    const PlanningProblem m_problem;       //!< what is planned
    const PlanningEnvironment m_beginning; //!< before the first round
};

} // namespace ns3::allreduce::python

#endif /* ALLREDUCE_PYTHON_PLANNING_TASK_H */
