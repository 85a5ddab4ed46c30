/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "workload-dispatcher.h"

#include "ns3/log.h"
#include "ns3/topology-metrics.h"
#include "ns3/workload-rates.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceWorkloadDispatcher");

namespace
{

/// @return a chunk at a server in one number
uint64_t
MakeKey(ChunkId chunk, NodeId server)
{
    return uint64_t{chunk} << 32 | server;
}

/// Workloads by chunk and server.
class WorkloadsAt
{
  public:
    explicit WorkloadsAt(std::size_t n)
    {
        m_entries.reserve(n);
    }

    /// Add a workload. @param key where it is @param index the workload
    void Add(uint64_t key, uint32_t index)
    {
        m_entries.emplace_back(key, index);
    }

    /// All have been added.
    void Sort()
    {
        std::sort(m_entries.begin(), m_entries.end());
    }

    /// Call with the workloads there, in their order, until one returns false. @param key where
    template <typename Call>
    void ForEach(uint64_t key, Call call) const
    {
        auto entry = std::lower_bound(m_entries.begin(), m_entries.end(), std::pair(key, 0U));
        while (entry != m_entries.end() && entry->first == key && call(entry->second))
        {
            ++entry;
        }
    }

  private:
    std::vector<std::pair<uint64_t, uint32_t>> m_entries; //!< where, and the workload
};

} // namespace

WorkloadDispatcher::WorkloadDispatcher(const Topology& topology, bool grantsAtOnce)
    : m_topology(topology),
      m_grantsAtOnce(grantsAtOnce),
      m_ports(topology.GetNDirectedLinks()),
      m_inner(grantsAtOnce && AreRatesMixed(topology) ? topology.GetNDirectedLinks() : 0)
{
}

void
WorkloadDispatcher::Load(std::vector<WorkloadList> rounds)
{
    m_rounds = std::move(rounds);
    m_entries.clear();
    for (const DirectedLinkId port : m_usedPorts)
    {
        m_ports[port].Clear();
    }
    m_usedPorts.clear();
    for (InnerLink& link : m_inner)
    {
        link = {};
    }
    m_counts.assign(m_rounds.size(), {});
    m_grants.clear();
    m_ready.clear();
    m_completable.clear();
    AddEntries();
    AddBlockers();
    for (const DirectedLinkId port : m_usedPorts)
    {
        GiveGrants(port);
    }
    for (const DirectedLinkId port : m_usedPorts)
    {
        AddReadyAt(port);
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
            entry.in = *m_topology.FindDirectedLink(path[path.size() - 2], path.back());
            AddWaiting(entry.in);
            if (path.size() > 2)
            {
                entry.out = m_topology.FindDirectedLink(path[0], path[1]);
                AddWaiting(*entry.out);
            }
            m_entries.push_back(std::move(entry));
        }
    }
    std::sort(m_usedPorts.begin(), m_usedPorts.end());
}

void
WorkloadDispatcher::AddWaiting(DirectedLinkId port)
{
    if (m_ports[port].waiting.empty())
    {
        m_usedPorts.push_back(port);
    }
    m_ports[port].waiting.push_back(m_entries.size());
}

void
WorkloadDispatcher::AddBlockers()
{
    WorkloadsAt arrivals(m_entries.size());
    WorkloadsAt departures(m_entries.size());
    for (uint32_t index = 0; index < m_entries.size(); ++index)
    {
        const Workload workload = Get(index);
        arrivals.Add(MakeKey(workload.chunk, workload.GetTarget()), index);
        departures.Add(MakeKey(workload.chunk, workload.GetSource()), index);
    }
    arrivals.Sort();
    departures.Sort();
    for (uint32_t index = 0; index < m_entries.size(); ++index)
    {
        const Workload workload = Get(index);
        Entry& entry = m_entries[index];
        arrivals.ForEach(MakeKey(workload.chunk, workload.GetSource()), [&](uint32_t other) {
            const bool isBefore = m_entries[other].round < entry.round;
            if (isBefore)
            {
                m_entries[other].afterCompletion.push_back(index);
                ++entry.nBeginBlockers;
            }
            return isBefore;
        });
        if (workload.kind != WorkloadKind::REDUCE)
        {
            continue;
        }
        departures.ForEach(MakeKey(workload.chunk, workload.GetTarget()), [&](uint32_t other) {
            const bool isNotAfter = m_entries[other].round <= entry.round;
            if (isNotAfter)
            {
                m_entries[other].afterBegin.push_back(index);
                ++entry.nCompletionBlockers;
            }
            return isNotAfter;
        });
    }
}

bool
WorkloadDispatcher::HasRoom(DirectedLinkId port, uint32_t index) const
{
    return m_ports[port].busyBps + m_entries[index].rateBps <= m_topology.GetLinkOf(port).rateBps;
}

template <typename Call>
void
WorkloadDispatcher::ForEachInnerLink(uint32_t index, Call call) const
{
    const NodeRange path = Get(index).path;
    for (std::size_t hop = 1; !m_inner.empty() && hop + 2 < path.size(); ++hop)
    {
        call(*m_topology.FindDirectedLink(path[hop], path[hop + 1]));
    }
}

bool
WorkloadDispatcher::IsWayFree(uint32_t index)
{
    bool isFree = true;
    ForEachInnerLink(index, [&](DirectedLinkId id) {
        if (isFree &&
            m_inner[id].busyBps + m_entries[index].rateBps > m_topology.GetLinkOf(id).rateBps)
        {
            isFree = false;
            m_inner[id].blocked.insert(index);
        }
    });
    return isFree;
}

void
WorkloadDispatcher::TakeWay(uint32_t index)
{
    ForEachInnerLink(index,
                     [&](DirectedLinkId id) { m_inner[id].busyBps += m_entries[index].rateBps; });
}

void
WorkloadDispatcher::FreeWay(uint32_t index)
{
    ForEachInnerLink(index, [&](DirectedLinkId id) {
        m_inner[id].busyBps -= m_entries[index].rateBps;
        const std::set<uint32_t> blocked = std::move(m_inner[id].blocked);
        m_inner[id].blocked.clear();
        for (const uint32_t other : blocked)
        {
            AddIfReady(other);
        }
    });
}

void
WorkloadDispatcher::GiveGrants(DirectedLinkId port)
{
    PortQueue& queue = m_ports[port];
    while (!queue.waiting.empty())
    {
        const uint32_t index = queue.waiting.front();
        Entry& entry = m_entries[index];
        if (entry.in != port || !HasRoom(port, index))
        {
            return;
        }
        queue.waiting.pop_front();
        queue.granted.push_back(index);
        queue.busyBps += entry.rateBps;
        entry.isGranted = m_grantsAtOnce;
        if (!m_grantsAtOnce)
        {
            m_grants.push_back(index);
        }
    }
}

std::optional<uint32_t>
WorkloadDispatcher::FindGrant()
{
    if (m_grants.empty())
    {
        return std::nullopt;
    }
    const uint32_t index = m_grants.front();
    m_grants.pop_front();
    return index;
}

void
WorkloadDispatcher::Grant(uint32_t index)
{
    m_entries[index].isGranted = true;
    AddIfReady(index);
}

bool
WorkloadDispatcher::IsReady(uint32_t index) const
{
    const Entry& entry = m_entries[index];
    if (!entry.isGranted || entry.hasBegun || entry.nBeginBlockers > 0)
    {
        return false;
    }
    return !entry.out ||
           (!m_ports[*entry.out].waiting.empty() && m_ports[*entry.out].waiting.front() == index &&
            HasRoom(*entry.out, index));
}

void
WorkloadDispatcher::AddIfReady(uint32_t index)
{
    if (IsReady(index))
    {
        m_ready.push_back(index);
    }
}

void
WorkloadDispatcher::AddReadyAt(DirectedLinkId port)
{
    const PortQueue& queue = m_ports[port];
    if (!queue.waiting.empty())
    {
        AddIfReady(queue.waiting.front());
    }
    for (const uint32_t index : queue.granted)
    {
        AddIfReady(index);
    }
}

void
WorkloadDispatcher::AddReadyAtPorts(uint32_t index)
{
    const Entry& entry = m_entries[index];
    if (entry.out)
    {
        AddReadyAt(*entry.out);
    }
    AddReadyAt(entry.in);
}

std::optional<uint32_t>
WorkloadDispatcher::BeginNext()
{
    while (!m_ready.empty())
    {
        const uint32_t index = m_ready.front();
        m_ready.pop_front();
        if (!IsReady(index) || !IsWayFree(index))
        {
            continue; // It was noted twice, or is noted again when a link has room.
        }
        Entry& entry = m_entries[index];
        entry.hasBegun = true;
        entry.holdsPorts = true;
        TakeWay(index);
        ++m_counts[entry.round].nBegun;
        NS_LOG_LOGIC("workload " << entry.position << " of round " << entry.round << " begins");
        auto& granted = m_ports[entry.in].granted;
        granted.erase(std::find(granted.begin(), granted.end(), index));
        if (entry.out)
        {
            m_ports[*entry.out].waiting.pop_front();
            m_ports[*entry.out].busyBps += entry.rateBps;
        }
        for (const uint32_t other : entry.afterBegin)
        {
            --m_entries[other].nCompletionBlockers;
            AddIfCompletable(other);
        }
        AddReadyAtPorts(index);
        return index;
    }
    return std::nullopt;
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
    m_ports[entry.in].busyBps -= entry.rateBps;
    if (entry.out)
    {
        m_ports[*entry.out].busyBps -= entry.rateBps;
    }
    GiveGrants(entry.in);
    AddReadyAtPorts(index);
    FreeWay(index);
}

void
WorkloadDispatcher::NotifyArrived(uint32_t index)
{
    FreePorts(index);
    m_entries[index].hasArrived = true;
    AddIfCompletable(index);
}

void
WorkloadDispatcher::AddIfCompletable(uint32_t index)
{
    if (m_entries[index].hasArrived && m_entries[index].nCompletionBlockers == 0)
    {
        m_completable.push_back(index);
    }
}

std::optional<uint32_t>
WorkloadDispatcher::CompleteNext()
{
    if (m_completable.empty())
    {
        return std::nullopt;
    }
    const uint32_t index = m_completable.front();
    m_completable.pop_front();
    ++m_counts[m_entries[index].round].nCompleted;
    NS_LOG_LOGIC("workload " << m_entries[index].position << " of round " << m_entries[index].round
                             << " is complete");
    for (const uint32_t other : m_entries[index].afterCompletion)
    {
        if (--m_entries[other].nBeginBlockers == 0)
        {
            AddIfReady(other);
        }
    }
    return index;
}

void
WorkloadDispatcher::Halt()
{
    m_grants.clear();
    for (PortQueue& port : m_ports)
    {
        port.waiting.clear();
        port.granted.clear();
    }
    for (InnerLink& link : m_inner)
    {
        link.blocked.clear();
    }
    for (uint32_t index = 0; index < m_entries.size(); ++index)
    {
        Entry& entry = m_entries[index];
        entry.isGranted = false;
        if (entry.nCompletionBlockers > 0)
        {
            entry.nCompletionBlockers = 0; // What it waits for will not begin.
            AddIfCompletable(index);
        }
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

uint64_t
WorkloadDispatcher::GetExpectedRate(uint32_t index) const
{
    return m_entries[index].rateBps;
}

uint32_t
WorkloadDispatcher::GetSize() const
{
    return m_entries.size();
}

uint32_t
WorkloadDispatcher::GetNRounds() const
{
    return m_rounds.size();
}

const WorkloadList&
WorkloadDispatcher::GetWorkloads(uint32_t round) const
{
    return m_rounds[round];
}

bool
WorkloadDispatcher::HasBegun(uint32_t index) const
{
    return m_entries[index].hasBegun;
}

uint32_t
WorkloadDispatcher::GetNBegun(uint32_t round) const
{
    return m_counts[round].nBegun;
}

bool
WorkloadDispatcher::IsRoundOver(uint32_t round) const
{
    return m_counts[round].nCompleted == m_rounds[round].GetSize();
}

} // namespace ns3::allreduce
