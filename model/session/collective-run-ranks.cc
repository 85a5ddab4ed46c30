/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * What a CollectiveRun does where several ranks simulate the network: each follows the whole plan,
 * and acts for its own servers.
 */

#include "collective-run.h"

#include "ns3/distributed-run.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstring>

namespace ns3::allreduce
{

namespace
{

/// @return a message of some bytes that tells a time
Bytes
WriteTime(Time time, std::size_t size)
{
    Bytes text(size, 0);
    const int64_t step = time.GetTimeStep();
    std::memcpy(text.data(), &step, sizeof(step));
    return text;
}

/// @return the time that a message tells
Time
ReadTime(const Bytes& text)
{
    int64_t step = 0;
    std::memcpy(&step, text.data(), sizeof(step));
    return TimeStep(step);
}

} // namespace

void
CollectiveRun::BeginEverywhere()
{
    // All that a round sends is taken from what servers have before it, whoever is first.
    m_begun.clear();
    m_nAwaited = 0;
    const uint32_t n = m_dispatcher->GetSize();
    for (uint32_t index = 0; index < n; ++index)
    {
        const Workload workload = m_dispatcher->Get(index);
        m_begun.push_back(m_progress->Begin(workload));
        m_nAwaited += IsHere(workload.GetTarget()) ? 1 : 0;
    }
    if (n > 0)
    {
        const TransferId last = m_numbers->NameWorkload({m_firstRound, n - 1});
        m_isDelivered.resize(std::max<std::size_t>(m_isDelivered.size(), last + 1));
    }
}

void
CollectiveRun::EndEverywhere()
{
    for (const auto& transfer : m_begun)
    {
        if (transfer)
        {
            m_progress->FinishElsewhere(*transfer);
        }
    }
    m_begun.clear();
    m_flows.clear();
}

std::optional<IncomingTransfer>
CollectiveRun::FindIncoming(TransferId transfer)
{
    if (!m_numbers || m_isClosed)
    {
        return std::nullopt;
    }
    IncomingTransfer incoming;
    Path& path = incoming.transfer.path;
    bool isKept = false;
    if (const auto place = m_numbers->FindWorkload(transfer))
    {
        while (m_isRunning && place->round >= m_firstRound + m_dispatcher->GetNRounds())
        {
            NoteBarrierOver();
        }
        const Workload workload = m_numbers->Get(*place);
        path.assign(workload.path.begin(), workload.path.end());
        incoming.transfer.bytes = GetBytesOf(workload.chunk);
        isKept = m_settings.verifiesData;
    }
    else
    {
        const TokenBarrier::Message message = m_numbers->FindMessage(transfer);
        while (m_isRunning && message.phase > m_control.GetBarrier().GetPhase())
        {
            NoteBarrierOver();
        }
        path = m_control.GetBarrier().GetPath(message);
        incoming.transfer.bytes = ControlPlane::MESSAGE_BYTES;
        isKept = !m_isRunning;
    }
    incoming.transfer.id = transfer;
    incoming.transfer.rateBps = ComputePathTiming(m_network->GetTopology(), path, 0).slowestBps;
    incoming.transfer.payload = isKept ? std::make_shared<const Bytes>() : nullptr;
    incoming.isDelivered = transfer < m_isDelivered.size() && m_isDelivered[transfer];
    return incoming;
}

void
CollectiveRun::NoteBarrierMessage(TransferId transfer, const Bytes& data)
{
    m_isDelivered.resize(std::max<std::size_t>(m_isDelivered.size(), transfer + 1));
    m_isDelivered[transfer] = true;
    m_lastArrival = Simulator::Now();
    if (m_isClosed)
    {
        return;
    }
    if (!m_isRunning && !m_isStopKnown)
    {
        m_isStopKnown = true;
        m_control.SetText(std::make_shared<const Bytes>(data));
        StopAt(ReadTime(data));
    }
    m_control.GetBarrier().Arrive(m_numbers->FindMessage(transfer));
}

void
CollectiveRun::EndAllRanks()
{
    if (IsHere(m_control.GetBarrier().GetRoot()))
    {
        const Time stop = Simulator::Now() + GetEndMargin();
        m_isStopKnown = true;
        m_control.SetText(
            std::make_shared<const Bytes>(WriteTime(stop, ControlPlane::MESSAGE_BYTES)));
        StopAt(stop);
    }
    m_control.GetBarrier().ReleaseAll();
}

void
CollectiveRun::StopAt(Time stop)
{
    // The same time everywhere: ranks that stopped earlier would let the others wait for them.
    const Time wait = std::max(Time(0), stop - Simulator::Now());
    m_next = Simulator::Schedule(wait, m_owner.stopped);
}

Time
CollectiveRun::GetEndMargin() const
{
    constexpr double MANY = 8; // Other messages and frames can be in the way.
    const Topology& topology = m_network->GetTopology();
    double longest = 0;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        double seconds = 0;
        for (const Path& path : m_control.GetBarrier().GetPathsTo(server))
        {
            const auto timing = ComputePathTiming(topology, path, 8.0 * m_network->GetMtu());
            seconds += timing.frame + timing.propagation;
        }
        longest = std::max(longest, seconds);
    }
    // So long lost messages are sent again. Null messages cost something for each moment, though.
    const Time patience = m_transport->GetLongestSilence();
    return (UsesNullMessages() ? std::min<Time>(patience, MilliSeconds(100)) : patience) +
           Seconds(MANY * longest);
}

bool
CollectiveRun::AwaitsOthers() const
{
    return m_numbers &&
           (m_isGathering ? m_transport->DescribePreparation().empty() : m_nAwaited == 0);
}

} // namespace ns3::allreduce
