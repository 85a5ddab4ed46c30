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
        while (IsRunning())
        {
            GiveGrants();
            const auto index = m_dispatcher->BeginNext();
            if (!index)
            {
                return;
            }
            BeginWorkload(*index);
            CompleteArrived();
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
    flow.transfer.contents = m_progress->TakeData(workload);
    m_clock.Resize(m_firstRound + m_dispatcher->GetNRounds());
    NotifyRoundBegun(m_dispatcher->GetRound(index));
    m_applications[flow.watched.source]->NotifyStarted(flow.watched);
    const TransferId transfer = m_ranks->NameWorkload(flow.watched.round, flow.watched.position);
    const auto begun = m_flows.emplace(transfer, std::move(flow)).first;
    Emit(transfer, workload, begun->second);
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
CollectiveRun::NotifyGranted(const std::vector<uint32_t>& indices)
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
    flow.transfer = m_ranks->GetTransfer(index, workload, *m_progress);
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
    auto flow = m_flows.extract(transfer);
    return flow ? std::move(flow.mapped()) : MakeFlow(m_ranks->FindIndex(transfer));
}

void
CollectiveRun::Emit(TransferId transfer, const Workload& workload, Flow& flow)
{
    if (flow.watched.bytes == 0)
    {
        Simulator::ScheduleNow(&CollectiveRun::DeliverEmpty, this, transfer);
        return;
    }
    const uint64_t pace = FindPace(flow);
    flow.isProbe = pace > m_dispatcher->GetRate(flow.index);
    if (m_beliefs)
    {
        WatchFlow(transfer, flow, pace);
    }
    m_transport->Send({transfer,
                       Path(workload.path.begin(), workload.path.end()),
                       flow.watched.bytes,
                       pace,
                       flow.transfer.contents.payload});
}

void
CollectiveRun::DeliverEmpty(TransferId transfer)
{
    if (m_flows.count(transfer) > 0)
    {
        NotifyDelivered(transfer, {});
    }
}

void
CollectiveRun::NotifySent(TransferId transfer)
{
    const auto flow = m_flows.find(transfer);
    if (IsRunning() && flow != m_flows.end())
    {
        const AllReduceFlow& watched = flow->second.watched;
        if (!flow->second.isProbe) // Else much of it waits in queues.
        {
            m_dispatcher->FreePorts(flow->second.index);
        }
        if (!IsHere(watched.target))
        {
            m_applications[watched.source]->NotifySent(watched);
            m_flows.erase(flow);
        }
        BeginWorkloads();
    }
}

void
CollectiveRun::NotifyDelivered(TransferId transfer, const Bytes& data)
{
    m_ranks->NotifyDelivered(transfer);
    if (m_control.IsMessage(transfer))
    {
        NotifyMessage(transfer, data);
        return;
    }
    Flow flow = TakeFlow(transfer);
    if (m_beliefs)
    {
        for (const TransferId beside : m_beliefs->ListBeside(transfer))
        {
            m_beliefs->Progress(beside, m_transport->GetProgress(beside));
        }
        m_beliefs->EndFlow(transfer, flow.watched.bytes, Simulator::Now().GetSeconds());
    }
    flow.watched.duration = Simulator::Now() - flow.watched.begin;
    m_lastArrival = Simulator::Now();
    const NodeId target = flow.watched.target;
    const uint32_t index = flow.index;
    flow.arrived = data;
    m_arrivals.emplace(index, std::move(flow));
    m_dispatcher->NotifyArrived(index);
    CompleteArrived();
    UseBeliefs();
    BeginWorkloads();
    if (IsRunning() && m_ranks->IsIdle(m_flows.empty()) && m_next.IsExpired())
    {
        NotifyNothingUnderWay();
    }
    if (IsRunning() && m_settings.usesMessages && m_settings.hasBarriers && !m_isHalted)
    {
        m_control.GetBarrier().NotifyArrival(target);
    }
}

void
CollectiveRun::NotifyMessage(TransferId transfer, const Bytes& data)
{
    const std::function<void()> arrive = m_control.TakeMessage(transfer);
    if (m_phase == Phase::STOPPING)
    {
        m_ranks->NotifyStop(data, m_control);
    }
    if (IsRunning() || m_phase == Phase::STOPPING)
    {
        m_lastArrival = Simulator::Now();
        arrive();
    }
}

void
CollectiveRun::CompleteArrived()
{
    while (const auto index = m_dispatcher->CompleteNext())
    {
        const auto arrival = m_arrivals.extract(*index);
        Complete(arrival.mapped());
        const uint32_t round = m_dispatcher->GetRound(*index);
        m_clock.CompleteWorkload(m_firstRound + round);
        if (m_dispatcher->IsRoundOver(round))
        {
            NotifyRoundEnded(round);
        }
    }
}

void
CollectiveRun::Complete(const Flow& flow)
{
    const Workload workload = m_dispatcher->Get(flow.index);
    const auto outcome = m_progress->Complete(flow.transfer, workload, flow.arrived);
    m_ranks->NotifyCompleted(flow.index);
    AllReduceApplication* target = m_applications[flow.watched.target];
    if (IsHere(flow.watched.source))
    {
        m_applications[flow.watched.source]->NotifySent(flow.watched);
    }
    target->NotifyReceived(flow.watched);
    if (outcome.isReduced)
    {
        target->NotifyReduced(flow.watched.chunk);
    }
    if (outcome.isServerDone)
    {
        target->NotifyDone(Simulator::Now() - m_clock.GetBegin());
    }
}

void
CollectiveRun::AbortFlowsOver(LinkId link)
{
    for (auto next = m_flows.begin(); next != m_flows.end();)
    {
        const auto present = next++;
        if (IsOver(present->second.links, link))
        {
            Abort(present);
        }
    }
}

void
CollectiveRun::Abort(std::map<TransferId, Flow>::iterator present)
{
    Flow& flow = present->second;
    if (flow.watched.bytes > 0)
    {
        m_transport->Cancel(present->first);
    }
    if (m_beliefs)
    {
        m_beliefs->AbortFlow(present->first, Simulator::Now().GetSeconds());
    }
    m_progress->Abort(std::move(flow.transfer), m_dispatcher->Get(flow.index));
    ++m_nAborted;
    flow.watched.duration = Simulator::Now() - flow.watched.begin;
    m_applications[flow.watched.source]->NotifyAborted(flow.watched);
    if (m_live)
    {
        m_live->Drop(flow.index);
    }
    m_flows.erase(present);
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

bool
CollectiveRun::IsRunning() const
{
    return m_phase == Phase::RUNNING;
}

} // namespace ns3::allreduce
