/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How a CollectiveRun begins workloads, and what it does when they have been sent, have arrived, or
 * are lost.
 */

#include "collective-run.h"

#include "ns3/allreduce-error.h"
#include "ns3/simulator.h"

#include <utility>

namespace ns3::allreduce
{

void
CollectiveRun::BeginWorkloads()
{
    try
    {
        while (m_isRunning)
        {
            GiveGrants();
            const auto index = m_dispatcher->BeginNext();
            if (!index)
            {
                return;
            }
            BeginWorkload(*index);
            LandArrived();
        }
    }
    catch (const InputError& error)
    {
        Fail(std::string("the plan cannot be carried out: ") + error.what());
    }
}

void
CollectiveRun::BeginWorkload(uint32_t index)
{
    const Workload workload = m_dispatcher->Get(index);
    Flow flow = MakeFlow(index);
    flow.transfer.parcel = m_progress->TakeData(workload);
    const uint32_t round = m_dispatcher->GetRound(index);
    NoteRoundBegun(round);
    m_applications[flow.watched.source]->NoteStarted(flow.watched);
    const TransferId transfer =
        m_numbers
            ? m_numbers->NameWorkload({m_firstRound + round, m_dispatcher->GetPosition(index)})
            : m_nextTransfer++;
    const auto place = m_flows.emplace(transfer, std::move(flow)).first;
    Emit(transfer, workload, place->second);
}

void
CollectiveRun::GiveGrants()
{
    while (const auto index = m_dispatcher->FindGrant())
    {
        if (m_control.Grant(*index, m_dispatcher->Get(*index)))
        {
            m_dispatcher->Grant(*index);
        }
    }
}

void
CollectiveRun::NoteGranted(const std::vector<uint32_t>& indices)
{
    for (const uint32_t index : indices)
    {
        m_dispatcher->Grant(index);
    }
    BeginWorkloads();
}

CollectiveRun::Flow
CollectiveRun::MakeFlow(uint32_t index)
{
    const Workload workload = m_dispatcher->Get(index);
    Flow flow{};
    flow.index = index;
    flow.transfer = m_numbers ? *m_begun[index] : m_progress->Begin(workload);
    flow.watched = {workload.chunk,
                    workload.kind,
                    workload.GetSource(),
                    workload.GetTarget(),
                    GetBytesOf(workload.chunk),
                    Simulator::Now(),
                    Time(0),
                    m_settings.number,
                    m_firstRound + m_dispatcher->GetRound(index),
                    m_dispatcher->GetPosition(index)};
    flow.links = FindLinks(m_network->GetTopology(), workload.path);
    return flow;
}

CollectiveRun::Flow
CollectiveRun::TakeFlow(TransferId transfer)
{
    const auto place = m_flows.find(transfer);
    if (place == m_flows.end())
    {
        return MakeFlow(m_numbers->FindWorkload(transfer)->position); // from another rank
    }
    Flow flow = std::move(place->second);
    m_flows.erase(place);
    return flow;
}

void
CollectiveRun::Emit(TransferId transfer, const Workload& workload, const Flow& flow)
{
    if (flow.watched.bytes == 0)
    {
        Simulator::ScheduleNow(&CollectiveRun::DeliverEmpty, this, transfer);
        return;
    }
    m_transport->Send({transfer,
                       Path(workload.path.begin(), workload.path.end()),
                       flow.watched.bytes,
                       m_dispatcher->GetRate(flow.index),
                       flow.transfer.parcel.payload});
}

void
CollectiveRun::DeliverEmpty(TransferId transfer)
{
    if (m_flows.count(transfer) > 0)
    {
        NoteDelivered(transfer, {});
    }
}

void
CollectiveRun::NoteSent(TransferId transfer)
{
    const auto place = m_flows.find(transfer);
    if (m_isRunning && place != m_flows.end())
    {
        const AllReduceFlow& watched = place->second.watched;
        m_dispatcher->FreePorts(place->second.index);
        if (!IsHere(watched.target))
        {
            m_applications[watched.source]->NoteSent(watched);
            m_flows.erase(place);
        }
        BeginWorkloads();
    }
}

void
CollectiveRun::NoteDelivered(TransferId transfer, const Bytes& data)
{
    if (m_numbers && !m_numbers->FindWorkload(transfer))
    {
        NoteBarrierMessage(transfer, data);
        return;
    }
    if (m_control.IsMessage(transfer))
    {
        NoteMessage(transfer);
        return;
    }
    Flow flow = TakeFlow(transfer);
    flow.watched.duration = Simulator::Now() - flow.watched.begin;
    m_lastArrival = Simulator::Now();
    const NodeId target = flow.watched.target;
    const uint32_t index = flow.index;
    flow.arrived = data;
    m_arrivals.emplace(index, std::move(flow));
    m_dispatcher->NoteArrived(index);
    LandArrived();
    BeginWorkloads();
    if (m_numbers)
    {
        m_isDelivered[transfer] = true;
        --m_nAwaited;
    }
    else if (m_isRunning && m_flows.empty() && m_next.IsExpired())
    {
        NoteNothingUnderWay();
    }
    if (m_isRunning && m_settings.usesMessages && m_settings.hasBarriers && !m_isHalted)
    {
        m_control.GetBarrier().NoteArrival(target);
    }
}

void
CollectiveRun::NoteMessage(TransferId transfer)
{
    const std::function<void()> arrive = m_control.TakeMessage(transfer);
    if (m_isRunning)
    {
        m_lastArrival = Simulator::Now();
        arrive();
    }
}

void
CollectiveRun::LandArrived()
{
    while (const auto index = m_dispatcher->LandNext())
    {
        const auto place = m_arrivals.find(*index);
        const Flow flow = std::move(place->second);
        m_arrivals.erase(place);
        Finish(flow);
        const uint32_t round = m_dispatcher->GetRound(*index);
        m_roundTimes[m_firstRound + round].end = Simulator::Now();
        if (m_dispatcher->IsRoundOver(round))
        {
            NoteRoundEnded(round);
        }
    }
}

void
CollectiveRun::Finish(const Flow& flow)
{
    const Workload workload = m_dispatcher->Get(flow.index);
    const auto outcome = m_progress->Finish(flow.transfer, workload, flow.arrived);
    if (m_numbers)
    {
        m_begun[flow.index].reset();
    }
    AllReduceApplication* target = m_applications[flow.watched.target];
    if (IsHere(flow.watched.source))
    {
        m_applications[flow.watched.source]->NoteSent(flow.watched);
    }
    target->NoteReceived(flow.watched);
    if (outcome.isReduced)
    {
        target->NoteReduced(flow.watched.chunk);
    }
    if (outcome.isServerDone)
    {
        target->NoteDone(Simulator::Now() - m_begin);
    }
}

void
CollectiveRun::AbortFlowsOver(LinkId link)
{
    for (auto place = m_flows.begin(); place != m_flows.end();)
    {
        Flow& flow = place->second;
        if (!IsOver(flow.links, link))
        {
            ++place;
            continue;
        }
        if (flow.watched.bytes > 0)
        {
            m_transport->Cancel(place->first);
        }
        m_progress->Abort(std::move(flow.transfer), m_dispatcher->Get(flow.index));
        ++m_nAborted;
        flow.watched.duration = Simulator::Now() - flow.watched.begin;
        m_applications[flow.watched.source]->NoteAborted(flow.watched);
        place = m_flows.erase(place);
    }
}

uint64_t
CollectiveRun::GetBytesOf(ChunkId chunk) const
{
    return GetChunkBytes(m_settings.bytes, m_collective.GetNChunks(), chunk);
}

bool
CollectiveRun::IsHere(NodeId server) const
{
    return m_network->IsHere(server);
}

} // namespace ns3::allreduce
