/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CONTROL_PLANE_H
#define ALLREDUCE_CONTROL_PLANE_H

#include "token-barrier.h"

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-transport.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

namespace ns3::allreduce
{

class RankCoordinator;

/**
 * @ingroup allreduce
 *
 * @brief The messages by which servers agree on when workloads begin: the tokens and releases of a
 * barrier, and grants from the receivers of workloads to their senders.
 *
 * Where a barrier releases servers, a grant waits until its sender is released. Without a barrier
 * it travels as a message.
 */
class ControlPlane
{
  public:
    /// Size of a grant, token or release.
    static constexpr uint64_t MESSAGE_BYTES = 64;

    /// What the control plane needs of its owner.
    struct Owner
    {
        /// Says whether a server is simulated here.
        std::function<bool(NodeId)> isHere;
        /// Told which workloads are granted to their senders.
        std::function<void(const std::vector<uint32_t>&)> grant;
        /// Told that the barrier's round is over.
        std::function<void()> endBarrier;
    };

    /**
     * @param topology the network, which must outlive this
     * @param transport carries the messages
     * @param ranks names the messages, must outlive this
     * @param owner what it needs of its owner
     */
    ControlPlane(const Topology& topology,
                 Ptr<AllReduceTransport> transport,
                 RankCoordinator& ranks,
                 Owner owner);

    /// @param text what messages say from now on
    void SetText(std::shared_ptr<const Bytes> text);

    /// @return the barrier
    TokenBarrier& GetBarrier();
    const TokenBarrier& GetBarrier() const; //!< @copydoc GetBarrier()

    /**
     * Lay out the barrier's tree over links that are up.
     *
     * @param state says which
     * @param server one that takes part
     */
    void PlanTree(const AllReduceState& state, NodeId server);

    /// Rounds begin without a barrier: grants travel.
    void BeginWithGrants();

    /**
     * A round begins with a barrier.
     *
     * @param round its workloads
     * @param isTogether whether all servers are released at once
     */
    void BeginBarrier(const WorkloadList& round, bool isTogether);

    /// Rounds are cut short: grants and releases that are on their way count no longer.
    void Halt();

    /**
     * A receiver grants a workload.
     *
     * @param index the workload's index
     * @param workload the workload
     * @return whether its sender knows it at once; else the owner is told when it does
     */
    bool Grant(uint32_t index, const Workload& workload);

    /// Another rank has sent a message of the barrier.
    /// @param transfer its name @param message the message
    void Expect(TransferId transfer, const TokenBarrier::Message& message);

    /// @return whether it is the name of a message that is on its way @param transfer a name
    bool IsMessage(TransferId transfer) const;

    /// A message has arrived. @return what it brings about @param transfer its name
    std::function<void()> TakeMessage(TransferId transfer);

    /// @param link a link that breaks, with what is on it
    void DropMessagesOver(LinkId link);

    /// Forget all messages that are on their way.
    void Clear();

    /// @return how many messages were sent
    uint64_t GetNMessages() const;

  private:
    /// A message that is on its way.
    struct Message
    {
        std::vector<DirectedLinkId> links; //!< those it crosses
        std::function<void()> arrive;      //!< what it brings about
    };

    void SendBarrierMessage(const Path& path, const TokenBarrier::Message& message);
    void SendGrant(uint32_t index, const Workload& workload);
    void Send(TransferId transfer, const Path& path, std::function<void()> arrive);
    void Release(NodeId server);

    const Topology& m_topology;                //!< the network
    Ptr<AllReduceTransport> m_transport;       //!< carries the messages
    RankCoordinator& m_ranks;                  //!< names them
    Owner m_owner;                             //!< what it needs of its owner
    TokenBarrier m_barrier;                    //!< see GetBarrier
    std::shared_ptr<const Bytes> m_text;       //!< see SetText
    std::map<TransferId, Message> m_messages;  //!< on their way to servers here
    uint64_t m_nMessages{0};                   //!< see GetNMessages
    uint32_t m_epoch{0};                       //!< grants of earlier ones do not count
    bool m_hasBarrier{false};                  //!< a round with a barrier is under way
    std::vector<bool> m_isReleased;            //!< by server: may begin the round
    std::vector<std::vector<uint32_t>> m_held; //!< by server: granted, not released
};

/**
 * @ingroup allreduce
 *
 * @param links the links of a path
 * @param link a link
 * @return whether the path crosses it, in either direction
 */
bool IsOver(const std::vector<DirectedLinkId>& links, LinkId link);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CONTROL_PLANE_H */
