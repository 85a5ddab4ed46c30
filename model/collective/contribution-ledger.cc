/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "contribution-ledger.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

/// The holder of a unit that was merged into another.
constexpr NodeId NOBODY = ContributionLedger::IN_FLIGHT - 1;

} // namespace

ContributionLedger::ContributionLedger(const Topology& topology, Collective collective)
    : m_topology(&topology),
      m_collective(std::move(collective)),
      m_nServers(topology.GetNServers()),
      m_units(m_collective.roots.size() * m_nServers, NOBODY),
      m_isApart(m_units.size(), false),
      m_finals(m_collective.roots.size(), m_nServers),
      m_isFinal(m_collective.roots.size(), false),
      m_isDown(topology.GetNLinks(), false)
{
    if (m_collective.IsOfAll())
    {
        m_nMissing = m_units.size();
    }
    else
    {
        m_receivers = BitMatrix(m_collective.roots.size(), m_nServers);
    }
    for (ChunkId chunk = 0; chunk < m_collective.roots.size(); ++chunk)
    {
        BeginChunk(chunk);
        NoteIfFinal(chunk);
    }
    m_holders = m_units;
}

void
ContributionLedger::BeginChunk(ChunkId chunk)
{
    const auto first = m_units.begin() + GetIndex(chunk, 0);
    if (m_collective.IsOfAll())
    {
        std::iota(first, first + m_nServers, 0);
        return;
    }
    for (const NodeId server : m_collective.sets[m_collective.contributors[chunk]])
    {
        first[server] = server;
    }
    for (const NodeId server : m_collective.sets[m_collective.receivers[chunk]])
    {
        m_receivers.Set(chunk, server);
    }
    m_receivers.Set(chunk, m_collective.roots[chunk]);
    m_nMissing += m_receivers.CountRow(chunk);
}

std::size_t
ContributionLedger::GetIndex(ChunkId chunk, NodeId server) const
{
    return std::size_t{chunk} * m_nServers + server;
}

const Topology&
ContributionLedger::GetTopology() const
{
    return *m_topology;
}

const Collective&
ContributionLedger::GetCollective() const
{
    return m_collective;
}

bool
ContributionLedger::Contributes(ChunkId chunk, NodeId server) const
{
    return m_units[GetIndex(chunk, server)] != NOBODY;
}

bool
ContributionLedger::Receives(ChunkId chunk, NodeId server) const
{
    return m_collective.IsOfAll() || m_receivers.Test(chunk, server);
}

ContributionLedger::EntryId
ContributionLedger::Begin(const Workload& workload)
{
    Entry entry{};
    entry.chunk = workload.chunk;
    entry.kind = workload.kind;
    entry.source = workload.GetSource();
    entry.target = workload.GetTarget();
    if (workload.kind == WorkloadKind::BROADCAST)
    {
        entry.hasFinal = HasFinal(entry.chunk, entry.source);
    }
    else if (entry.source != m_collective.roots[entry.chunk])
    {
        TakeUnits(workload, entry);
    }
    m_underWay.emplace(m_nextEntry, std::move(entry));
    return m_nextEntry++;
}

void
ContributionLedger::TakeUnits(const Workload& workload, Entry& entry)
{
    const NodeRange& named = workload.contributors;
    entry.staysApart = !named.empty() && entry.target != m_collective.roots[entry.chunk];
    for (NodeId unit = 0; unit < m_nServers; ++unit)
    {
        NodeId& holder = m_holders[GetIndex(entry.chunk, unit)];
        if (holder == entry.source && (named.empty() || IsWithin(entry.chunk, unit, named)))
        {
            holder = IN_FLIGHT;
            entry.units.push_back(unit);
        }
    }
}

bool
ContributionLedger::IsWithin(ChunkId chunk, NodeId unit, const NodeRange& contributors) const
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (m_units[GetIndex(chunk, server)] == unit &&
            std::find(contributors.begin(), contributors.end(), server) == contributors.end())
        {
            return false;
        }
    }
    return true;
}

void
ContributionLedger::End(EntryId id)
{
    const auto place = m_underWay.find(id);
    const Entry entry = std::move(place->second);
    m_underWay.erase(place);
    ++m_nEnded;
    if (entry.kind == WorkloadKind::BROADCAST)
    {
        if (entry.hasFinal)
        {
            GiveFinal(entry.chunk, entry.target);
        }
        return;
    }
    if (entry.units.empty())
    {
        return;
    }
    for (std::size_t i = 1; i < entry.units.size(); ++i)
    {
        Merge(entry.chunk, entry.units[i], entry.units[0]);
    }
    Land(entry.chunk, entry.units[0], entry.target, entry.staysApart);
    NoteIfFinal(entry.chunk);
}

void
ContributionLedger::Abort(EntryId id)
{
    const auto place = m_underWay.find(id);
    const Entry entry = std::move(place->second);
    m_underWay.erase(place);
    ++m_nUpsets;
    for (const NodeId unit : entry.units)
    {
        Land(entry.chunk, unit, entry.source, m_isApart[GetIndex(entry.chunk, unit)]);
    }
}

void
ContributionLedger::Merge(ChunkId chunk, NodeId from, NodeId into)
{
    const auto first = m_units.begin() + GetIndex(chunk, 0);
    std::replace(first, first + m_nServers, from, into);
    m_holders[GetIndex(chunk, from)] = NOBODY;
}

void
ContributionLedger::Land(ChunkId chunk, NodeId unit, NodeId server, bool isApart)
{
    for (NodeId other = 0; other < m_nServers && !isApart; ++other)
    {
        const std::size_t index = GetIndex(chunk, other);
        if (m_holders[index] == server && !m_isApart[index])
        {
            Merge(chunk, other, unit);
        }
    }
    m_holders[GetIndex(chunk, unit)] = server;
    m_isApart[GetIndex(chunk, unit)] = isApart;
}

void
ContributionLedger::GiveFinal(ChunkId chunk, NodeId server)
{
    m_nMissing -= Receives(chunk, server) && !m_finals.Test(chunk, server);
    m_finals.Set(chunk, server);
}

void
ContributionLedger::NoteIfFinal(ChunkId chunk)
{
    const auto first = m_units.begin() + GetIndex(chunk, 0);
    // The root's unit never moves: if there is only one, it is there.
    const NodeId unitOfRoot = first[m_collective.roots[chunk]];
    const bool isOne = std::all_of(first, first + m_nServers, [unitOfRoot](NodeId unit) {
        return unit == unitOfRoot || unit == NOBODY;
    });
    if (isOne)
    {
        m_isFinal[chunk] = true;
        GiveFinal(chunk, m_collective.roots[chunk]);
    }
}

void
ContributionLedger::SetLinkUp(LinkId link, bool isUp)
{
    if (m_isDown[link] == isUp)
    {
        m_isDown[link] = !isUp;
        isUp ? --m_nDown : ++m_nDown;
        ++m_nUpsets;
    }
}

bool
ContributionLedger::IsLinkUp(LinkId link) const
{
    return !m_isDown[link];
}

std::size_t
ContributionLedger::GetNInFlight() const
{
    return m_underWay.size();
}

bool
ContributionLedger::IsFresh() const
{
    return m_nEnded == 0 && m_underWay.empty() && m_nDown == 0;
}

uint64_t
ContributionLedger::GetNUpsets() const
{
    return m_nUpsets;
}

ContributionLedger::Whereabouts
ContributionLedger::Find(ChunkId chunk, NodeId contributor) const
{
    const NodeId unit = m_units[GetIndex(chunk, contributor)];
    const std::size_t index = GetIndex(chunk, unit);
    return {unit, m_holders[index], m_isApart[index]};
}

bool
ContributionLedger::IsFinal(ChunkId chunk) const
{
    return m_isFinal[chunk];
}

bool
ContributionLedger::HasFinal(ChunkId chunk, NodeId server) const
{
    return m_finals.Test(chunk, server);
}

bool
ContributionLedger::IsDone() const
{
    return m_nMissing == 0;
}

} // namespace ns3::allreduce
