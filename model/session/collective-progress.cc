/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "collective-progress.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

CollectiveProgress::CollectiveProgress(const Topology& topology,
                                       const Collective& collective,
                                       bool areLinksShared)
    : m_state(topology, collective),
      m_ledger(topology, collective),
      m_nSums(m_state.GetNMissing())
{
    m_state.SetLinksShared(areLinksShared);
    CountLacking();
}

void
CollectiveProgress::CarryData(std::vector<uint64_t> chunkBytes)
{
    m_data.emplace(m_state.GetCollective(), m_nLacking.size(), std::move(chunkBytes));
}

void
CollectiveProgress::CountLacking()
{
    const Collective& collective = m_state.GetCollective();
    const uint32_t nServers = m_state.GetTopology().GetNServers();
    m_nLacking.assign(nServers, collective.GetNChunks());
    for (NodeId server = 0; server < nServers && !collective.IsOfAll(); ++server)
    {
        m_nLacking[server] = 0;
        for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
        {
            m_nLacking[server] +=
                m_state.IsReceiver(server, chunk) && !m_state.GetFinals().Test(server, chunk);
        }
    }
}

const AllReduceState&
CollectiveProgress::GetState() const
{
    return m_state;
}

const ContributionLedger&
CollectiveProgress::GetLedger() const
{
    return m_ledger;
}

void
CollectiveProgress::SetLinkUp(LinkId link, bool isUp)
{
    m_state.SetLinkUp(link, isUp);
    m_ledger.SetLinkUp(link, isUp);
}

CollectiveProgress::Transfer
CollectiveProgress::Begin(const Workload& workload)
{
    return {m_state.Start(workload), m_ledger.Begin(workload), {}};
}

AllReduceData::Contents
CollectiveProgress::TakeData(const Workload& workload)
{
    return m_data ? m_data->Take(workload) : AllReduceData::Contents();
}

CollectiveProgress::Outcome
CollectiveProgress::Complete(const Transfer& transfer, const Workload& workload, const Bytes& data)
{
    const ChunkId chunk = workload.chunk;
    const bool wasFinal = m_state.IsFinal(chunk);
    CompleteElsewhere(transfer);
    if (m_data)
    {
        m_data->Put(workload, data);
    }
    const bool isReduced = m_state.IsFinal(chunk) && !wasFinal;
    if (isReduced && m_data)
    {
        m_data->MakeFinal(chunk);
    }
    const bool isSum = isReduced || workload.kind == WorkloadKind::BROADCAST;
    return {isReduced, isSum && CountSum(workload.GetTarget(), chunk)};
}

void
CollectiveProgress::CompleteElsewhere(const Transfer& transfer)
{
    m_state.Finish(transfer.id);
    m_ledger.End(transfer.entry);
}

/// @return whether the sum was the last that the server lacked
bool
CollectiveProgress::CountSum(NodeId server, ChunkId chunk)
{
    return m_state.IsReceiver(server, chunk) && --m_nLacking[server] == 0;
}

void
CollectiveProgress::Abort(Transfer transfer, const Workload& workload)
{
    m_state.Abort(transfer.id);
    m_ledger.Abort(transfer.entry);
    if (m_data)
    {
        m_data->PutBack(workload, std::move(transfer.contents));
    }
}

void
CollectiveProgress::EndRound()
{
    m_state.EndRound();
}

double
CollectiveProgress::GetShareDone() const
{
    return m_nSums == 0 ? 1 : 1 - static_cast<double>(m_state.GetNMissing()) / m_nSums;
}

NodeId
CollectiveProgress::FindLacking() const
{
    const auto lacking =
        std::find_if(m_nLacking.begin(), m_nLacking.end(), [](uint32_t n) { return n > 0; });
    return lacking - m_nLacking.begin();
}

std::string
CollectiveProgress::FindWrong(const std::function<bool(NodeId)>& isChecked) const
{
    const std::string wrong = m_data ? m_data->FindWrong(isChecked) : "";
    return wrong.empty() && !m_ledger.IsDone()
               ? "the AllReduce is over, but not every contribution is in every sum"
               : wrong;
}

} // namespace ns3::allreduce
