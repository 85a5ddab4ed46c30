/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "workload-dispatcher.h"

#include "ns3/workload-rates.h"

#include <unordered_map>

namespace ns3::allreduce
{

namespace
{

/// @return a chunk at a server in one number
uint64_t
MakeKey(ChunkId chunk, NodeId server)
{
    return uint64_t{chunk} << 32 | server;
}

} // namespace

WorkloadDispatcher::WorkloadDispatcher(const Topology& topology)
    : m_topology(topology)
{
}

void
WorkloadDispatcher::Load(std::vector<WorkloadList> rounds)
{
    m_rounds = std::move(rounds);
    m_entries.clear();
    m_ports.assign(m_topology.GetNDirectedLinks(), {});
    m_counts.assign(m_rounds.size(), {});
    m_ready.clear();
    AddEntries();
    AddBlockers();
    for (DirectedLinkId port = 0; port < m_ports.size(); ++port)
    {
        NoteIfReady(port);
    }
}

void
WorkloadDispatcher::AddEntries()
{
    for (uint32_t round = 0; round < m_rounds.size(); ++round)
    {
        const std::vector<uint64_t> rates = ComputeWorkloadRates(m_topology, m_rounds[round]);
        for (uint32_t position = 0; position < m_rounds[round].GetSize(); ++position)
        {
            const NodeRange path = m_rounds[round].Get(position).path;
            Entry entry{};
            entry.round = round;
            entry.position = position;
            entry.rateBps = rates[position];
            entry.ports.push_back(*m_topology.FindDirectedLink(path[0], path[1]));
            if (path.size() > 2)
            {
                entry.ports.push_back(
                    *m_topology.FindDirectedLink(path[path.size() - 2], path.back()));
            }
            for (const DirectedLinkId port : entry.ports)
            {
                m_ports[port].waiting.push_back(m_entries.size());
            }
            m_entries.push_back(std::move(entry));
        }
    }
}

void
WorkloadDispatcher::AddBlockers()
{
    std::unordered_map<uint64_t, std::vector<uint32_t>> arrivals;
    std::unordered_map<uint64_t, std::vector<uint32_t>> departures;
    for (uint32_t index = 0; index < m_entries.size(); ++index)
    {
        const Workload workload = Get(index);
        Entry& entry = m_entries[index];
        const auto isEarlier = [&](uint32_t other) { return m_entries[other].round < entry.round; };
        for (const uint32_t other : arrivals[MakeKey(workload.chunk, workload.GetSource())])
        {
            if (isEarlier(other))
            {
                m_entries[other].afterEnd.push_back(index);
                ++entry.nBlockers;
            }
        }
        if (workload.kind == WorkloadKind::REDUCE)
        {
            for (const uint32_t other : departures[MakeKey(workload.chunk, workload.GetTarget())])
            {
                if (isEarlier(other))
                {
                    m_entries[other].afterBegin.push_back(index);
                    ++entry.nBlockers;
                }
            }
        }
        arrivals[MakeKey(workload.chunk, workload.GetTarget())].push_back(index);
        departures[MakeKey(workload.chunk, workload.GetSource())].push_back(index);
    }
}

bool
WorkloadDispatcher::IsReady(uint32_t index) const
{
    const Entry& entry = m_entries[index];
    for (const DirectedLinkId port : entry.ports)
    {
        const PortQueue& queue = m_ports[port];
        if (queue.waiting.empty() || queue.waiting.front() != index ||
            queue.busyBps + entry.rateBps > m_topology.GetLink(port / 2).rateBps)
        {
            return false;
        }
    }
    return entry.nBlockers == 0;
}

void
WorkloadDispatcher::NoteIfReady(DirectedLinkId port)
{
    const PortQueue& queue = m_ports[port];
    if (!queue.waiting.empty() && IsReady(queue.waiting.front()))
    {
        m_ready.push_back(queue.waiting.front());
    }
}

std::optional<uint32_t>
WorkloadDispatcher::BeginNext()
{
    while (!m_ready.empty())
    {
        const uint32_t index = m_ready.front();
        m_ready.pop_front();
        if (!IsReady(index))
        {
            continue; // It was noted twice.
        }
        Entry& entry = m_entries[index];
        for (const DirectedLinkId port : entry.ports)
        {
            m_ports[port].waiting.pop_front();
            m_ports[port].busyBps += entry.rateBps;
        }
        entry.holdsPorts = true;
        ++m_counts[entry.round].nBegun;
        Unblock(entry.afterBegin);
        for (const DirectedLinkId port : entry.ports)
        {
            NoteIfReady(port);
        }
        return index;
    }
    return std::nullopt;
}

void
WorkloadDispatcher::Unblock(const std::vector<uint32_t>& waiting)
{
    for (const uint32_t index : waiting)
    {
        if (--m_entries[index].nBlockers == 0)
        {
            NoteIfReady(m_entries[index].ports.front());
        }
    }
}

void
WorkloadDispatcher::FreePorts(uint32_t index)
{
    Entry& entry = m_entries[index];
    if (!entry.holdsPorts)
    {
        return;
    }
    entry.holdsPorts = false;
    for (const DirectedLinkId port : entry.ports)
    {
        m_ports[port].busyBps -= entry.rateBps;
    }
    for (const DirectedLinkId port : entry.ports)
    {
        NoteIfReady(port);
    }
}

void
WorkloadDispatcher::Finish(uint32_t index)
{
    ++m_counts[m_entries[index].round].nFinished;
    FreePorts(index);
    Unblock(m_entries[index].afterEnd);
}

void
WorkloadDispatcher::Halt()
{
    for (PortQueue& port : m_ports)
    {
        port.waiting.clear();
    }
}

Workload
WorkloadDispatcher::Get(uint32_t index) const
{
    const Entry& entry = m_entries[index];
    return m_rounds[entry.round].Get(entry.position);
}

uint32_t
WorkloadDispatcher::GetRound(uint32_t index) const
{
    return m_entries[index].round;
}

uint32_t
WorkloadDispatcher::GetPosition(uint32_t index) const
{
    return m_entries[index].position;
}

uint64_t
WorkloadDispatcher::GetRate(uint32_t index) const
{
    return m_entries[index].rateBps;
}

uint32_t
WorkloadDispatcher::GetNRounds() const
{
    return m_rounds.size();
}

uint32_t
WorkloadDispatcher::GetNBegun(uint32_t round) const
{
    return m_counts[round].nBegun;
}

bool
WorkloadDispatcher::IsRoundOver(uint32_t round) const
{
    return m_counts[round].nFinished == m_rounds[round].GetSize();
}

} // namespace ns3::allreduce
