/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * What an AllReduceSession does where several ranks simulate the network: each follows the whole
 * plan, and acts for its own servers.
 */

#include "allreduce-session.h"
#include "distributed-run.h"
#include "token-barrier.h"
#include "transfer-numbers.h"
#include "workload-dispatcher.h"

#include "ns3/contribution-ledger.h"
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

bool
AllReduceSession::IsHere(NodeId server) const
{
    return m_network->IsHere(server);
}

std::string
AllReduceSession::DescribeObstacle() const
{
    if (m_control != PACKETS || m_sync != BARRIER)
    {
        return "several ranks: expected Control Packets and Sync Barrier, because no rank sees all "
               "servers";
    }
    if (m_iterations > 1)
    {
        return "several ranks: " + std::to_string(m_iterations) + " iterations, expected 1";
    }
    if (m_bytes < m_collective.GetNChunks())
    {
        return "several ranks: " + std::to_string(m_bytes) + " bytes in " +
               std::to_string(m_collective.GetNChunks()) + " chunks, expected a byte in each";
    }
    if (m_scheduler->GetPlan().empty())
    {
        return "several ranks: " + m_scheduler->GetInstanceTypeId().GetName() +
               " keeps no plan, expected one that all ranks know";
    }
    return "";
}

void
AllReduceSession::BeginEverywhere()
{
    // All that a round sends is taken from what servers have before it, whoever is first.
    m_records.clear();
    m_nAwaited = 0;
    const uint32_t n = m_dispatcher->GetSize();
    for (uint32_t index = 0; index < n; ++index)
    {
        m_records.push_back(Begin(index));
        m_nAwaited += IsHere(m_dispatcher->Get(index).GetTarget()) ? 1 : 0;
    }
    if (n > 0)
    {
        const TransferId last = m_numbers->NameWorkload({m_firstRound, n - 1});
        m_isDelivered.resize(std::max<std::size_t>(m_isDelivered.size(), last + 1));
    }
}

void
AllReduceSession::EndEverywhere()
{
    for (std::optional<Record>& record : m_records)
    {
        if (record)
        {
            m_state->Finish(record->id);
            m_ledger->End(record->entry);
        }
    }
    m_records.clear();
    m_flights.clear();
}

std::optional<IncomingTransfer>
AllReduceSession::FindIncoming(TransferId transfer)
{
    if (!m_numbers || !m_failure.empty())
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
        incoming.transfer.bytes = GetChunkBytes(workload.chunk);
        isKept = m_verifyData;
    }
    else
    {
        const TokenBarrier::Message message = m_numbers->FindMessage(transfer);
        while (m_isRunning && message.phase > m_barrier->GetPhase())
        {
            NoteBarrierOver();
        }
        path = m_barrier->GetPath(message);
        incoming.transfer.bytes = MESSAGE_BYTES;
        isKept = !m_isRunning;
    }
    incoming.transfer.id = transfer;
    incoming.transfer.rateBps = ComputePathTiming(m_network->GetTopology(), path, 0).slowestBps;
    incoming.transfer.payload = isKept ? std::make_shared<const Bytes>() : nullptr;
    incoming.isDelivered = transfer < m_isDelivered.size() && m_isDelivered[transfer];
    return incoming;
}

void
AllReduceSession::NoteBarrierMessage(TransferId transfer, const Bytes& data)
{
    m_isDelivered.resize(std::max<std::size_t>(m_isDelivered.size(), transfer + 1));
    m_isDelivered[transfer] = true;
    m_lastArrival = Simulator::Now();
    if (!m_failure.empty())
    {
        return;
    }
    if (!m_isRunning && !m_stopText)
    {
        m_stopText = std::make_shared<const Bytes>(data);
        StopAt(ReadTime(data));
    }
    m_barrier->Arrive(m_numbers->FindMessage(transfer));
}

void
AllReduceSession::EndAllRanks()
{
    if (IsHere(m_barrier->GetRoot()))
    {
        const Time stop = Simulator::Now() + GetEndMargin();
        m_stopText = std::make_shared<const Bytes>(WriteTime(stop, MESSAGE_BYTES));
        StopAt(stop);
    }
    m_barrier->ReleaseAll();
}

void
AllReduceSession::StopAt(Time stop)
{
    // The same time everywhere: ranks that stopped earlier would let the others wait for them.
    const Time wait = std::max(Time(0), stop - Simulator::Now());
    m_next = Simulator::Schedule(wait, &AllReduceSession::EndSession, this);
}

Time
AllReduceSession::GetEndMargin() const
{
    constexpr double MANY = 8; // Other messages and frames can be in the way.
    const Topology& topology = m_network->GetTopology();
    double longest = 0;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        double seconds = 0;
        for (const Path& path : m_barrier->GetPathsTo(server))
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
AllReduceSession::AwaitsOthers() const
{
    return m_numbers &&
           (m_isGathering ? m_transport->DescribePreparation().empty() : m_nAwaited == 0);
}

} // namespace ns3::allreduce
