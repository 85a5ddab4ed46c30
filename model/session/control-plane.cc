/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "control-plane.h"

#include "rank-coordinator.h"

#include "ns3/allreduce-network.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

ControlPlane::ControlPlane(const Topology& topology,
                           Ptr<AllReduceTransport> transport,
                           RankCoordinator& ranks,
                           Owner owner)
    : m_topology(topology),
      m_transport(transport),
      m_ranks(ranks),
      m_owner(std::move(owner)),
      m_barrier({[this](const Path& path, const TokenBarrier::Message& message) {
                     SendBarrierMessage(path, message);
                 },
                 m_owner.isHere,
                 [this](NodeId server) { Release(server); },
                 m_owner.endBarrier})
{
}

void
ControlPlane::SetText(std::shared_ptr<const Bytes> text)
{
    m_text = std::move(text);
}

TokenBarrier&
ControlPlane::GetBarrier()
{
    return m_barrier;
}

const TokenBarrier&
ControlPlane::GetBarrier() const
{
    return m_barrier;
}

void
ControlPlane::PlanTree(const AllReduceState& state, NodeId server)
{
    std::vector<bool> isUp(m_topology.GetNLinks());
    for (LinkId link = 0; link < isUp.size(); ++link)
    {
        isUp[link] = state.IsLinkUp(link);
    }
    m_barrier.PlanTree(m_topology, isUp, server);
}

void
ControlPlane::BeginWithGrants()
{
    ++m_epoch;
    m_hasBarrier = false;
}

void
ControlPlane::BeginBarrier(const WorkloadList& round, bool isTogether)
{
    m_isReleased.assign(m_topology.GetNServers(), false);
    m_held.assign(m_topology.GetNServers(), {});
    m_hasBarrier = true;
    if (isTogether)
    {
        m_barrier.BeginTogether(round);
    }
    else
    {
        m_barrier.BeginRound(round);
    }
}

void
ControlPlane::Halt()
{
    ++m_epoch;
    m_hasBarrier = false;
}

bool
ControlPlane::Grant(uint32_t index, const Workload& workload)
{
    if (!m_hasBarrier)
    {
        SendGrant(index, workload);
        return false;
    }
    const NodeId source = workload.GetSource();
    if (!m_isReleased[source])
    {
        m_held[source].push_back(index);
    }
    return m_isReleased[source];
}

void
ControlPlane::Release(NodeId server)
{
    if (!m_hasBarrier)
    {
        return; // Servers only come together, or hear that it is over.
    }
    m_isReleased[server] = true;
    m_owner.grant(std::exchange(m_held[server], {}));
}

void
ControlPlane::SendGrant(uint32_t index, const Workload& workload)
{
    Path path(workload.path.begin(), workload.path.end());
    std::reverse(path.begin(), path.end());
    Send(m_ranks.NameGrant(), path, [this, index, epoch = m_epoch] {
        if (epoch == m_epoch)
        {
            m_owner.grant({index});
        }
    });
}

void
ControlPlane::SendBarrierMessage(const Path& path, const TokenBarrier::Message& message)
{
    Send(m_ranks.NameMessage(message), path, [this, message] { m_barrier.Arrive(message); });
}

void
ControlPlane::Send(TransferId transfer, const Path& path, std::function<void()> arrive)
{
    if (m_owner.isHere(path.back()))
    {
        m_messages[transfer] = {FindLinks(m_topology, path), std::move(arrive)};
    }
    ++m_nMessages;
    const auto timing = ComputePathTiming(m_topology, path, 0);
    m_transport->Send({transfer, path, MESSAGE_BYTES, timing.slowestBps, m_text});
}

void
ControlPlane::Expect(TransferId transfer, const TokenBarrier::Message& message)
{
    m_messages[transfer] = {FindLinks(m_topology, m_barrier.GetPath(message)),
                            [this, message] { m_barrier.Arrive(message); }};
}

bool
ControlPlane::IsMessage(TransferId transfer) const
{
    return m_messages.count(transfer) > 0;
}

std::function<void()>
ControlPlane::TakeMessage(TransferId transfer)
{
    const auto place = m_messages.find(transfer);
    std::function<void()> arrive = std::move(place->second.arrive);
    m_messages.erase(place);
    return arrive;
}

void
ControlPlane::DropMessagesOver(LinkId link)
{
    for (auto message = m_messages.begin(); message != m_messages.end();)
    {
        if (IsOver(message->second.links, link))
        {
            m_transport->Cancel(message->first);
            message = m_messages.erase(message);
        }
        else
        {
            ++message;
        }
    }
}

void
ControlPlane::Clear()
{
    m_messages.clear();
}

uint64_t
ControlPlane::GetNMessages() const
{
    return m_nMessages;
}

bool
IsOver(const std::vector<DirectedLinkId>& links, LinkId link)
{
    return std::any_of(links.begin(), links.end(), [link](DirectedLinkId part) {
        return part / 2 == link;
    });
}

} // namespace ns3::allreduce
