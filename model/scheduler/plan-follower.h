/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_FOLLOWER_H
#define ALLREDUCE_PLAN_FOLLOWER_H

#include "allreduce-scheduler.h"

#include "ns3/allreduce-schedule.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Hands out the rounds of a plan one by one, and knows in which state each of them is due.
 */
class PlanFollower
{
  public:
    /**
     * Follow a plan.
     *
     * @param rounds the rounds, which must stay where they are as long as they are followed
     */
    void Begin(RoundRange rounds);

    /**
     * @param state how far the AllReduce has come
     * @return whether a round is left, and the state is what was there at the end of the round
     * before; always false at the beginning of an AllReduce
     */
    bool IsExpected(const AllReduceState& state) const;

    /**
     * Hand out the next round; there must be one.
     *
     * @param state in which it begins
     * @return the round
     */
    const WorkloadList& TakeRound(const AllReduceState& state);

    /// @return the rounds that are to come
    RoundRange GetAhead() const;

    /// @return the same and before them the round that was handed out last
    RoundRange GetPresentAndAhead() const;

  private:
    RoundRange m_rounds{};             //!< the plan
    std::size_t m_next{0};             //!< the round to hand out next
    uint64_t m_expectedFingerprint{0}; //!< of the state when it is due
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_FOLLOWER_H */
