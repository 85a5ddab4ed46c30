/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "broadcast-progress.h"

namespace ns3::allreduce
{

BroadcastProgress::BroadcastProgress(const BroadcastProblem& problem, const BitMatrix& receivers)
    : m_nServers(problem.topology->GetNServers()),
      m_nChunks(problem.nChunks),
      m_held(problem.holders),
      m_missing(receivers),
      m_nMissingChunks(m_nServers),
      m_demand(m_nChunks),
      m_nLacking(std::size_t{problem.topology->GetNSwitches()} * m_nChunks)
{
    FindNeighborhoods(problem);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        uint64_t* missing = m_missing.GetRow(server);
        for (std::size_t i = 0; i < GetRowWords(); ++i)
        {
            missing[i] &= ~GetHeld(server)[i];
        }
        for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
        {
            if (m_missing.Test(server, chunk))
            {
                AddLacking(chunk, server, 1);
            }
        }
    }
}

void
BroadcastProgress::FindNeighborhoods(const BroadcastProblem& problem)
{
    const Topology& topology = *problem.topology;
    std::vector<uint32_t> nServersAt(topology.GetNNodes(), 1);
    for (NodeId node = m_nServers; node < topology.GetNNodes(); ++node)
    {
        nServersAt[node] = 0;
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            nServersAt[node] += topology.IsServer(port.neighbor) && problem.capacity[port.out] > 0;
        }
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_firstNeighborhood.push_back(m_neighborhoods.size());
        m_firstSwitch.push_back(m_switches.size());
        const Topology::Ports ports = topology.GetPorts(server);
        for (const Topology::Port& port : ports)
        {
            const bool isSwitch = !topology.IsServer(port.neighbor);
            if (isSwitch && problem.capacity[Reverse(port.out)] > 0)
            {
                m_switches.push_back(port.neighbor - m_nServers);
            }
            const uint32_t others = nServersAt[port.neighbor] - (isSwitch ? 1 : 0);
            if (problem.capacity[port.out] > 0 && others > 0 && others < nServersAt.size())
            {
                m_neighborhoods.push_back({port.neighbor, 1.0F / (others * ports.size())});
            }
        }
    }
    m_firstNeighborhood.push_back(m_neighborhoods.size());
    m_firstSwitch.push_back(m_switches.size());
}

double
BroadcastProgress::GetLackingShare(NodeId server, ChunkId chunk) const
{
    float share = 0;
    for (uint32_t i = m_firstNeighborhood[server]; i < m_firstNeighborhood[server + 1]; ++i)
    {
        const Neighborhood& around = m_neighborhoods[i];
        const bool isServer = around.node < m_nServers;
        share += around.weight *
                 (isServer ? m_missing.Test(around.node, chunk)
                           : m_nLacking[std::size_t{around.node - m_nServers} * m_nChunks + chunk]);
    }
    return share;
}

void
BroadcastProgress::AddLacking(ChunkId chunk, NodeId server, int32_t change)
{
    m_nMissingChunks[server] += change;
    m_demand[chunk] += change;
    m_nTransfersLeft += change;
    for (uint32_t i = m_firstSwitch[server]; i < m_firstSwitch[server + 1]; ++i)
    {
        m_nLacking[std::size_t{m_switches[i]} * m_nChunks + chunk] += change;
    }
}

void
BroadcastProgress::Send(ChunkId chunk, NodeId server)
{
    m_missing.Clear(server, chunk);
    AddLacking(chunk, server, -1);
}

void
BroadcastProgress::Recall(ChunkId chunk, NodeId server)
{
    m_missing.Set(server, chunk);
    AddLacking(chunk, server, 1);
}

void
BroadcastProgress::Arrive(ChunkId chunk, NodeId server)
{
    m_held.Set(server, chunk);
}

void
BroadcastProgress::Withdraw(ChunkId chunk, NodeId server)
{
    m_held.Clear(server, chunk);
}

} // namespace ns3::allreduce
