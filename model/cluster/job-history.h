/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_HISTORY_H
#define ALLREDUCE_JOB_HISTORY_H

#include "cluster-simulation.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Slots in which a job ran without a change.
struct JobSpan
{
    uint32_t firstSlot{0};         //!< the first of them
    uint32_t lastSlot{0};          //!< the last of them
    std::vector<NodeId> servers;   //!< where it ran
    std::vector<uint32_t> workers; //!< on each of these servers
};

/**
 * @ingroup allreduce
 *
 * @brief Who ran where and when: told of every slot, it keeps what changed.
 */
class JobHistory
{
  public:
    /// @param report the next slot
    void Add(const SlotReport& report);

    /**
     * @param job a job
     * @return its spans in the order of time
     */
    const std::vector<JobSpan>& GetSpans(JobId job) const;

  private:
    std::vector<std::vector<JobSpan>> m_spans; //!< by job
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_HISTORY_H */
