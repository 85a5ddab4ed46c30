/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SEVERAL_RANKS_H
#define ALLREDUCE_SEVERAL_RANKS_H

#include "rank-coordinator.h"
#include "transfer-numbers.h"

#include "ns3/event-id.h"

#include <memory>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Coordinates one of several ranks that simulate the network together.
 *
 * All ranks know the plan and name transfers by their index in it, so that a rank knows what comes
 * in from another. At the end server 0 says when all ranks stop, and the releases of the barrier
 * carry that time to all servers.
 */
class SeveralRanks : public RankCoordinator
{
  public:
    /**
     * @param network what the ranks simulate
     * @param transport what carries the transfers
     * @param owner what it needs of the run
     */
    SeveralRanks(Ptr<AllReduceNetwork> network, Ptr<AllReduceTransport> transport, Owner owner);

    void Begin(uint64_t bytes, uint32_t nChunks, bool verifiesData) override;
    void Close() override;
    void SetPlan(RoundRange plan) override;
    void BeginRounds(const Dispatcher& dispatcher,
                     uint32_t firstRound,
                     CollectiveProgress& progress) override;
    void EndRounds(CollectiveProgress& progress) override;
    TransferId NameWorkload(uint32_t round, uint32_t position) override;
    TransferId NameMessage(const TokenBarrier::Message& message) override;
    TransferId NameGrant() override;
    CollectiveProgress::Transfer GetTransfer(uint32_t index,
                                             const Workload& workload,
                                             CollectiveProgress& progress) override;
    void NotifyCompleted(uint32_t index) override;
    void NotifyDelivered(TransferId transfer) override;
    std::optional<IncomingTransfer> FindIncoming(TransferId transfer,
                                                 ControlPlane& control) override;
    uint32_t FindIndex(TransferId transfer) const override;
    bool HasBegun(uint32_t nBegun) const override;
    bool IsIdle(bool isIdleHere) const override;
    Time GetEnd(Time last) const override;
    bool IsAwaitingOthers(bool isGathering) const override;
    std::string DescribeAwaited() const override;
    void Stop(ControlPlane& control) override;
    void NotifyStop(const Bytes& data, ControlPlane& control) override;

  private:
    Transfer FindWorkload(TransferNumbers::PlanIndex index);
    Transfer FindMessage(const TokenBarrier::Message& message, ControlPlane& control);
    void StopAt(Time stop);
    Time GetStopMargin(const TokenBarrier& barrier) const;

    Ptr<AllReduceNetwork> m_network;          //!< what the ranks simulate
    Ptr<AllReduceTransport> m_transport;      //!< what carries the transfers
    Owner m_owner;                            //!< what it needs of the run
    std::optional<TransferNumbers> m_numbers; //!< names; none before the plan is known
    uint64_t m_bytes{0};                      //!< see Begin
    uint32_t m_nChunks{0};                    //!< see Begin
    bool m_verifiesData{false};               //!< see Begin
    bool m_isClosed{false};                   //!< see Close
    uint32_t m_firstRound{0};                 //!< of the present rounds
    uint32_t m_endRound{0};                   //!< the one after them
    /// By index: what has begun anywhere and is not complete here.
    std::vector<std::optional<CollectiveProgress::Transfer>> m_begun;
    uint32_t m_nAwaited{0};          //!< workloads to servers here in the present rounds
    std::vector<bool> m_isDelivered; //!< by transfer to a server here
    bool m_isStopKnown{false};       //!< servers here know when all stop
    EventId m_stop;                  //!< stops
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SEVERAL_RANKS_H */
