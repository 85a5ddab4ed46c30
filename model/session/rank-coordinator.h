/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RANK_COORDINATOR_H
#define ALLREDUCE_RANK_COORDINATOR_H

#include "collective-progress.h"
#include "dispatcher.h"
#include "token-barrier.h"

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-transport.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace ns3::allreduce
{

class ControlPlane;

/**
 * @ingroup allreduce
 *
 * @brief What a run has to know of the processes (ranks) that simulate the network together: how
 * transfers are named, what is expected from other ranks, and when all ranks stop.
 *
 * There are two: in one process, where nothing is expected from elsewhere, and in several ranks.
 * There each rank follows the whole plan and acts for its own servers, so that the names of
 * transfers follow from the plan, and a rank learns by messages alone when a round is over.
 */
class RankCoordinator
{
  public:
    /// What the coordinator needs of the run.
    struct Owner
    {
        /// Says whether a collective is under way.
        std::function<bool()> isRunning;
        /// Told that the present round is over: something of the next has come in.
        std::function<void()> endRound;
        /// Told when all ranks stop.
        std::function<void()> stopped;
    };

    virtual ~RankCoordinator() = default;

    /**
     * A collective begins.
     *
     * @param bytes its size
     * @param nChunks number of its chunks
     * @param verifiesData whether transfers carry real numbers
     */
    virtual void Begin(uint64_t bytes, uint32_t nChunks, bool verifiesData) = 0;

    /// Nothing happens any more.
    virtual void Close() = 0;

    /// @param plan all rounds, as far as they are known before the first; must outlive this
    virtual void SetPlan(RoundRange plan) = 0;

    /**
     * Rounds begin.
     *
     * @param dispatcher the rounds
     * @param firstRound number of the first
     * @param progress of the collective
     */
    virtual void BeginRounds(const Dispatcher& dispatcher,
                             uint32_t firstRound,
                             CollectiveProgress& progress) = 0;

    /// Rounds are over. @param progress of the collective
    virtual void EndRounds(CollectiveProgress& progress) = 0;

    /// @return the name of a workload's transfer
    /// @param round number of its round @param position in the round
    virtual TransferId NameWorkload(uint32_t round, uint32_t position) = 0;

    /// @return the name of a barrier's message @param message the message
    virtual TransferId NameMessage(const TokenBarrier::Message& message) = 0;

    /// @return the name of a message from a receiver to a sender
    virtual TransferId NameGrant() = 0;

    /**
     * A workload begins here, or has arrived here from another rank.
     *
     * @param index its index at the dispatcher
     * @param workload the workload
     * @param progress of the collective
     * @return what is under way with it
     */
    virtual CollectiveProgress::Transfer GetTransfer(uint32_t index,
                                                     const Workload& workload,
                                                     CollectiveProgress& progress) = 0;

    /// A workload is complete. @param index its index at the dispatcher
    virtual void NotifyCompleted(uint32_t index) = 0;

    /// A workload or message has arrived here. @param transfer its name
    virtual void NotifyDelivered(TransferId transfer) = 0;

    /**
     * Find out what another rank sends.
     *
     * @param transfer its name
     * @param control expects it if it is a message
     * @return what it is; none if nothing is expected from elsewhere
     */
    virtual std::optional<IncomingTransfer> FindIncoming(TransferId transfer,
                                                         ControlPlane& control) = 0;

    /// @return index at the dispatcher of a workload that another rank sends
    /// @param transfer its name
    virtual uint32_t FindIndex(TransferId transfer) const = 0;

    /// @return whether anything of a round has begun anywhere
    /// @param nBegun how many of its workloads have begun here
    virtual bool HasBegun(uint32_t nBegun) const = 0;

    /// @return whether nothing is under way anywhere, as far as that can be told without messages
    /// @param isIdleHere whether nothing is under way here
    virtual bool IsIdle(bool isIdleHere) const = 0;

    /// @return when a round ended that is known to be over
    /// @param last when the last of its workloads was complete here
    virtual Time GetEnd(Time last) const = 0;

    /// @return whether all that this rank waits for comes from others, so that silence is no sign
    /// @param isGathering whether servers say when they are prepared
    virtual bool IsAwaitingOthers(bool isGathering) const = 0;

    /// @return what has not arrived from other ranks; "" if nothing is expected from there
    virtual std::string DescribeAwaited() const = 0;

    /// All is over here: tell the owner when all ranks stop. @param control carries the time
    virtual void Stop(ControlPlane& control) = 0;

    /// All was over here when a message came. @param data what it says @param control passes it on
    virtual void NotifyStop(const Bytes& data, ControlPlane& control) = 0;
};

/**
 * @ingroup allreduce
 *
 * @param network says how many ranks simulate it
 * @param transport what carries the transfers
 * @param owner what the coordinator needs of the run
 * @return the coordinator of one process or of several ranks
 */
std::unique_ptr<RankCoordinator> MakeRankCoordinator(Ptr<AllReduceNetwork> network,
                                                     Ptr<AllReduceTransport> transport,
                                                     RankCoordinator::Owner owner);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RANK_COORDINATOR_H */
