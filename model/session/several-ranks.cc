/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "several-ranks.h"

#include "control-plane.h"

#include "ns3/abort.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/distributed-run.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

SeveralRanks::SeveralRanks(Ptr<AllReduceNetwork> network,
                           Ptr<AllReduceTransport> transport,
                           Owner owner)
    : m_network(network),
      m_transport(transport),
      m_owner(std::move(owner))
{
}

void
SeveralRanks::Begin(uint64_t bytes, uint32_t nChunks, bool verifiesData)
{
    m_bytes = bytes;
    m_nChunks = nChunks;
    m_verifiesData = verifiesData;
}

void
SeveralRanks::Close()
{
    m_isClosed = true;
    m_stop.Cancel();
}

void
SeveralRanks::SetPlan(RoundRange plan)
{
    m_numbers.emplace(plan, m_network->GetTopology().GetNServers());
}

void
SeveralRanks::BeginRounds(const Dispatcher& dispatcher,
                          uint32_t firstRound,
                          CollectiveProgress& progress)
{
    m_firstRound = firstRound;
    m_endRound = firstRound + dispatcher.GetNRounds();
    // All that a round sends is taken from what servers have before it, whoever is first.
    m_begun.clear();
    m_nAwaited = 0;
    for (uint32_t index = 0; index < dispatcher.GetSize(); ++index)
    {
        const Workload workload = dispatcher.Get(index);
        m_begun.push_back(progress.Begin(workload));
        m_nAwaited += m_network->IsHere(workload.GetTarget()) ? 1 : 0;
    }
}

void
SeveralRanks::EndRounds(CollectiveProgress& progress)
{
    for (const auto& transfer : m_begun)
    {
        if (transfer)
        {
            progress.CompleteElsewhere(*transfer);
        }
    }
    m_begun.clear();
}

TransferId
SeveralRanks::NameWorkload(uint32_t round, uint32_t position)
{
    return m_numbers->NameWorkload({round, position});
}

TransferId
SeveralRanks::NameMessage(const TokenBarrier::Message& message)
{
    return m_numbers->NameMessage(message);
}

TransferId
SeveralRanks::NameGrant()
{
    NS_ABORT_MSG("several ranks: servers agree by a barrier, and not by grants");
}

CollectiveProgress::Transfer
SeveralRanks::GetTransfer(uint32_t index, const Workload&, CollectiveProgress&)
{
    return *m_begun[index];
}

void
SeveralRanks::NotifyCompleted(uint32_t index)
{
    m_begun[index].reset();
}

void
SeveralRanks::NotifyDelivered(TransferId transfer)
{
    m_isDelivered.resize(std::max<std::size_t>(m_isDelivered.size(), transfer + 1));
    m_isDelivered[transfer] = true;
    m_nAwaited -= m_numbers->FindWorkload(transfer) ? 1 : 0;
}

std::optional<IncomingTransfer>
SeveralRanks::FindIncoming(TransferId transfer, ControlPlane& control)
{
    if (!m_numbers || m_isClosed)
    {
        return std::nullopt;
    }
    const auto index = m_numbers->FindWorkload(transfer);
    IncomingTransfer incoming;
    incoming.isDelivered = transfer < m_isDelivered.size() && m_isDelivered[transfer];
    incoming.transfer =
        index ? FindWorkload(*index) : FindMessage(m_numbers->FindMessage(transfer), control);
    incoming.transfer.id = transfer;
    incoming.transfer.rateBps =
        ComputePathTiming(m_network->GetTopology(), incoming.transfer.path, 0).slowestBps;
    if (!index && !incoming.isDelivered)
    {
        control.Expect(transfer, m_numbers->FindMessage(transfer));
    }
    return incoming;
}

Transfer
SeveralRanks::FindWorkload(TransferNumbers::PlanIndex index)
{
    while (m_owner.isRunning() && index.round >= m_endRound)
    {
        m_owner.endRound();
    }
    const Workload workload = m_numbers->Get(index);
    Transfer transfer;
    transfer.path.assign(workload.path.begin(), workload.path.end());
    transfer.bytes = GetChunkBytes(m_bytes, m_nChunks, workload.chunk);
    transfer.payload = m_verifiesData ? std::make_shared<const Bytes>() : nullptr;
    return transfer;
}

Transfer
SeveralRanks::FindMessage(const TokenBarrier::Message& message, ControlPlane& control)
{
    while (m_owner.isRunning() && message.phase > control.GetBarrier().GetPhase())
    {
        m_owner.endRound();
    }
    Transfer transfer;
    transfer.path = control.GetBarrier().GetPath(message);
    transfer.bytes = ControlPlane::MESSAGE_BYTES;
    // What comes when all is over here says when all ranks stop.
    transfer.payload = m_owner.isRunning() ? nullptr : std::make_shared<const Bytes>();
    return transfer;
}

uint32_t
SeveralRanks::FindIndex(TransferId transfer) const
{
    return m_numbers->FindWorkload(transfer)->position; // of the only round under way
}

bool
SeveralRanks::HasBegun(uint32_t) const
{
    return true;
}

bool
SeveralRanks::IsIdle(bool) const
{
    return false; // Others may be busy: only messages tell.
}

Time
SeveralRanks::GetEnd(Time last) const
{
    return last; // This rank hears later that the round is over.
}

bool
SeveralRanks::IsAwaitingOthers(bool isGathering) const
{
    return isGathering ? m_transport->DescribePreparation().empty() : m_nAwaited == 0;
}

std::string
SeveralRanks::DescribeAwaited() const
{
    return std::to_string(m_nAwaited) + " workloads of other ranks have not arrived";
}

void
SeveralRanks::Stop(ControlPlane& control)
{
    if (m_network->IsHere(control.GetBarrier().GetRoot()))
    {
        const Time stop = Simulator::Now() + GetStopMargin(control.GetBarrier());
        NotifyStop(WriteTime(stop, ControlPlane::MESSAGE_BYTES), control);
    }
    control.GetBarrier().ReleaseAll();
}

void
SeveralRanks::NotifyStop(const Bytes& data, ControlPlane& control)
{
    if (!m_isStopKnown)
    {
        m_isStopKnown = true;
        control.SetText(std::make_shared<const Bytes>(data));
        StopAt(ReadTime(data));
    }
}

void
SeveralRanks::StopAt(Time stop)
{
    // The same time everywhere: ranks that stopped earlier would let the others wait for them.
    const Time wait = std::max(Time(0), stop - Simulator::Now());
    m_stop = Simulator::Schedule(wait, m_owner.stopped);
}

Time
SeveralRanks::GetStopMargin(const TokenBarrier& barrier) const
{
    constexpr double MANY = 8; // Other messages and frames can be in the way.
    const Topology& topology = m_network->GetTopology();
    double longest = 0;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        double seconds = 0;
        for (const Path& path : barrier.GetPathsTo(server))
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

} // namespace ns3::allreduce
