/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "broadcast-progress.h"

namespace ns3::allreduce
{

namespace
{

/// What servers one switch farther count, compared to those at a server's own switch.
constexpr float FARTHER_WEIGHT = 0.5;

} // namespace

BroadcastProgress::BroadcastProgress(const BroadcastProblem& problem, const BitMatrix& receivers)
    : m_nServers(problem.topology->GetNServers()),
      m_nChunks(problem.nChunks),
      m_held(problem.holders),
      m_missing(receivers),
      m_nMissing(m_nServers),
      m_demand(m_nChunks)
{
    const std::vector<uint32_t> groupSize = FindMemberships(problem);
    FindNeighbors(problem, groupSize);
    m_nLacking.resize((groupSize.size() - m_nServers) * m_nChunks);
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
                Count(chunk, server, 1);
            }
        }
    }
}

std::vector<uint32_t>
BroadcastProgress::FindMemberships(const BroadcastProblem& problem)
{
    const Topology& topology = *problem.topology;
    std::vector<uint32_t> groupSize(topology.GetNNodes() + topology.GetNSwitches(), 0);
    auto join = [&](GroupId group) {
        m_memberships.push_back(group);
        ++groupSize[group];
    };
    auto leadsFromSwitch = [&](const Topology::Port& port) {
        return !topology.IsServer(port.neighbor) && problem.capacity[Reverse(port.out)] > 0;
    };
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_firstMembership.push_back(m_memberships.size());
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            if (!leadsFromSwitch(port))
            {
                continue;
            }
            join(port.neighbor);
            for (const Topology::Port& farther : topology.GetPorts(port.neighbor))
            {
                if (leadsFromSwitch(farther))
                {
                    join(farther.neighbor + topology.GetNSwitches());
                }
            }
        }
    }
    m_firstMembership.push_back(m_memberships.size());
    return groupSize;
}

void
BroadcastProgress::FindNeighbors(const BroadcastProblem& problem,
                                 const std::vector<uint32_t>& groupSize)
{
    const Topology& topology = *problem.topology;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_firstNeighbors.push_back(m_neighbors.size());
        const Topology::Ports ports = topology.GetPorts(server);
        const float portWeight = 1.0F / ports.size();
        for (const Topology::Port& port : ports)
        {
            if (problem.capacity[port.out] == 0)
            {
                continue;
            }
            if (topology.IsServer(port.neighbor))
            {
                m_neighbors.push_back({port.neighbor, portWeight});
                continue;
            }
            // The server itself is in the group, too: for all chunks that it misses the same.
            if (const uint32_t size = groupSize[port.neighbor]; size > 1)
            {
                m_neighbors.push_back({port.neighbor, portWeight / (size - 1)});
            }
            const GroupId farther = port.neighbor + topology.GetNSwitches();
            if (const uint32_t size = groupSize[farther]; size > 0)
            {
                m_neighbors.push_back({farther, FARTHER_WEIGHT * portWeight / size});
            }
        }
    }
    m_firstNeighbors.push_back(m_neighbors.size());
}

void
BroadcastProgress::Count(ChunkId chunk, NodeId server, int32_t change)
{
    m_nMissing[server] += change;
    m_demand[chunk] += change;
    m_nTransfersLeft += change;
    for (uint32_t i = m_firstMembership[server]; i < m_firstMembership[server + 1]; ++i)
    {
        m_nLacking[std::size_t{m_memberships[i] - m_nServers} * m_nChunks + chunk] += change;
    }
}

void
BroadcastProgress::Send(ChunkId chunk, NodeId server)
{
    m_missing.Clear(server, chunk);
    Count(chunk, server, -1);
}

void
BroadcastProgress::Recall(ChunkId chunk, NodeId server)
{
    m_missing.Set(server, chunk);
    Count(chunk, server, 1);
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
