/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "rank-coordinator.h"

#include "several-ranks.h"

#include "ns3/abort.h"
#include "ns3/simulator.h"

#include <utility>

namespace ns3::allreduce
{

namespace
{

/// One process simulates the network: it sees all that happens, when it happens.
class SingleRank : public RankCoordinator
{
  public:
    explicit SingleRank(Owner owner)
        : m_owner(std::move(owner))
    {
    }

    void Begin(uint64_t, uint32_t, bool) override
    {
    }

    void Close() override
    {
    }

    void SetPlan(RoundRange) override
    {
    }

    void BeginRounds(const Dispatcher&, uint32_t, CollectiveProgress&) override
    {
    }

    void EndRounds(CollectiveProgress&) override
    {
    }

    TransferId NameWorkload(uint32_t, uint32_t) override
    {
        return m_nextTransfer++;
    }

    TransferId NameMessage(const TokenBarrier::Message&) override
    {
        return m_nextTransfer++;
    }

    TransferId NameGrant() override
    {
        return m_nextTransfer++;
    }

    CollectiveProgress::Transfer GetTransfer(uint32_t,
                                             const Workload& workload,
                                             CollectiveProgress& progress) override
    {
        return progress.Begin(workload);
    }

    void NotifyCompleted(uint32_t) override
    {
    }

    void NotifyDelivered(TransferId) override
    {
    }

    std::optional<IncomingTransfer> FindIncoming(TransferId, ControlPlane&) override
    {
        return std::nullopt;
    }

    uint32_t FindIndex(TransferId transfer) const override
    {
        NS_ABORT_MSG("the transport delivered transfer " << transfer
                                                         << ", which was not under way");
    }

    bool HasBegun(uint32_t nBegun) const override
    {
        return nBegun > 0;
    }

    bool IsIdle(bool isIdleHere) const override
    {
        return isIdleHere;
    }

    Time GetEnd(Time) const override
    {
        return Simulator::Now();
    }

    bool IsAwaitingOthers(bool) const override
    {
        return false;
    }

    std::string DescribeAwaited() const override
    {
        return "";
    }

    void Stop(ControlPlane&) override
    {
        m_owner.stopped();
    }

    void NotifyStop(const Bytes&, ControlPlane&) override
    {
    }

  private:
    Owner m_owner;                //!< what it needs of the run
    TransferId m_nextTransfer{0}; //!< the name of the next transfer
};

} // namespace

std::unique_ptr<RankCoordinator>
MakeRankCoordinator(Ptr<AllReduceNetwork> network,
                    Ptr<AllReduceTransport> transport,
                    RankCoordinator::Owner owner)
{
    if (network->IsDistributed())
    {
        return std::make_unique<SeveralRanks>(network, transport, std::move(owner));
    }
    return std::make_unique<SingleRank>(std::move(owner));
}

} // namespace ns3::allreduce
