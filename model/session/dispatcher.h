/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DISPATCHER_H
#define ALLREDUCE_DISPATCHER_H

#include "ns3/allreduce-workload.h"

#include <cstdint>
#include <optional>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Says which workload begins next. Workloads are known by an index; each is in a round.
 *
 * There are two: WorkloadDispatcher follows rounds, LiveDispatcher asks a scheduler for one
 * transfer after another.
 */
class Dispatcher
{
  public:
    virtual ~Dispatcher() = default;

    /// @return a workload that its receiver has just granted; none if there is none
    virtual std::optional<uint32_t> FindGrant() = 0;

    /**
     * A grant has arrived at the sender.
     *
     * @param index what FindGrant returned
     */
    virtual void Grant(uint32_t index) = 0;

    /// @return a workload that can begin now, and has begun with that; none if there is none
    virtual std::optional<uint32_t> BeginNext() = 0;

    /**
     * A workload's sender has sent everything.
     *
     * @param index what BeginNext returned
     */
    virtual void FreePorts(uint32_t index) = 0;

    /**
     * A workload has arrived; its ports are free, too.
     *
     * @param index what BeginNext returned
     */
    virtual void NotifyArrived(uint32_t index) = 0;

    /// @return a workload that has arrived and can be completed now, and is with that; none if
    /// there is none
    virtual std::optional<uint32_t> CompleteNext() = 0;

    /// Let no more workloads begin; those that have begun are completed when they arrive.
    virtual void Halt() = 0;

    /**
     * @param index a workload
     * @return the workload, valid as long as rounds are not exchanged
     */
    virtual Workload Get(uint32_t index) const = 0;

    /**
     * @param index a workload
     * @return its round, from 0
     */
    virtual uint32_t GetRound(uint32_t index) const = 0;

    /**
     * @param index a workload
     * @return its position in its round
     */
    virtual uint32_t GetPosition(uint32_t index) const = 0;

    /**
     * @param index a workload
     * @return the rate at which it is sent, in bit/s
     */
    virtual uint64_t GetRate(uint32_t index) const = 0;

    /**
     * @param index a workload
     * @return the rate that it is believed to get, in bit/s
     */
    virtual uint64_t GetExpectedRate(uint32_t index) const = 0;

    /// @return the number of workloads
    virtual uint32_t GetSize() const = 0;

    /// @return the number of rounds
    virtual uint32_t GetNRounds() const = 0;

    /**
     * @param round a round
     * @return how many of its workloads have begun
     */
    virtual uint32_t GetNBegun(uint32_t round) const = 0;

    /**
     * @param round a round
     * @return whether all of its workloads are complete
     */
    virtual bool IsRoundOver(uint32_t round) const = 0;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DISPATCHER_H */
