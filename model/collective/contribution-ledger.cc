/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "contribution-ledger.h"

#include "bit-mix.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Stands for no unit, and above a server that does not contribute.
constexpr NodeId NOBODY = UINT32_MAX;

/// From here on, what is above a contribution is the holder of its unit.
constexpr NodeId FIRST_HOLDER = NodeId{1} << 31;

/// What is above a unit that is in flight.
constexpr NodeId FLYING = NOBODY - 1;

} // namespace

ContributionLedger::ContributionLedger(const Topology& topology, Collective collective)
    : m_topology(&topology),
      m_collective(std::move(collective)),
      m_nServers(topology.GetNServers()),
      m_above(m_collective.roots.size() * m_nServers, NOBODY),
      m_own(m_above.size(), NOBODY),
      m_isApart(m_above.size(), false),
      m_nUnits(m_collective.roots.size(), 0),
      m_finals(m_collective.roots.size(), m_nServers),
      m_isFinal(m_collective.roots.size(), false),
      m_isDown(topology.GetNLinks(), false)
{
    if (m_collective.IsOfAll())
    {
        m_nMissing = m_above.size();
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
}

void
ContributionLedger::BeginChunk(ChunkId chunk)
{
    const auto begin = [&](NodeId server) {
        SetHolder(chunk, server, server);
        m_own[GetIndex(chunk, server)] = server;
        ++m_nUnits[chunk];
    };
    if (m_collective.IsOfAll())
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            begin(server);
        }
        return;
    }
    for (const NodeId server : m_collective.sets[m_collective.contributors[chunk]])
    {
        begin(server);
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

void
ContributionLedger::SetRates(const Topology& topology)
{
    m_topology = &topology;
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
    return m_above[GetIndex(chunk, server)] != NOBODY;
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
    if (m_unusedEntries.empty())
    {
        m_entries.push_back(std::move(entry));
        return m_entries.size() - 1;
    }
    const EntryId id = m_unusedEntries.back();
    m_unusedEntries.pop_back();
    m_entries[id] = std::move(entry);
    return id;
}

ContributionLedger::Entry
ContributionLedger::TakeEntry(EntryId id)
{
    m_unusedEntries.push_back(id);
    return std::move(m_entries[id]);
}

NodeId
ContributionLedger::FindUnit(ChunkId chunk, NodeId contributor) const
{
    while (m_above[GetIndex(chunk, contributor)] < FIRST_HOLDER)
    {
        contributor = m_above[GetIndex(chunk, contributor)];
    }
    return contributor;
}

void
ContributionLedger::SetHolder(ChunkId chunk, NodeId unit, NodeId holder)
{
    m_above[GetIndex(chunk, unit)] = holder == IN_FLIGHT ? FLYING : FIRST_HOLDER + holder;
}

void
ContributionLedger::TakeUnits(const Workload& workload, Entry& entry)
{
    const NodeRange& named = workload.contributors;
    entry.staysApart = !named.empty() && entry.target != m_collective.roots[entry.chunk];
    const auto isTaken = [&](NodeId unit) {
        if (!named.empty() && !IsWithin(entry.chunk, unit, named))
        {
            return false;
        }
        SetHolder(entry.chunk, unit, IN_FLIGHT);
        entry.units.push_back(unit);
        return true;
    };
    NodeId& own = m_own[GetIndex(entry.chunk, entry.source)];
    if (own != NOBODY && isTaken(own))
    {
        own = NOBODY;
    }
    const auto apart = m_apart.find(entry.chunk);
    if (apart != m_apart.end())
    {
        std::vector<NodeId>& units = apart->second;
        units.erase(std::remove_if(units.begin(),
                                   units.end(),
                                   [&](NodeId unit) {
                                       return Find(entry.chunk, unit).holder == entry.source &&
                                              isTaken(unit);
                                   }),
                    units.end());
    }
}

bool
ContributionLedger::IsWithin(ChunkId chunk, NodeId unit, const NodeRange& contributors) const
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (Contributes(chunk, server) && FindUnit(chunk, server) == unit &&
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
    const Entry entry = TakeEntry(id);
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
    NodeId unit = entry.units[0];
    for (std::size_t i = 1; i < entry.units.size(); ++i)
    {
        unit = Merge(entry.chunk, unit, entry.units[i]);
    }
    Land(entry.chunk, unit, entry.target, entry.staysApart);
    NoteIfFinal(entry.chunk);
}

void
ContributionLedger::Abort(EntryId id)
{
    const Entry entry = TakeEntry(id);
    ++m_nUpsets;
    for (const NodeId unit : entry.units)
    {
        Land(entry.chunk, unit, entry.source, m_isApart[GetIndex(entry.chunk, unit)]);
    }
}

NodeId
ContributionLedger::Merge(ChunkId chunk, NodeId x, NodeId y)
{
    // At random, so that no chain of contributions becomes long.
    const auto [top, other] = MixBits(x) < MixBits(y) ? std::pair(x, y) : std::pair(y, x);
    m_above[GetIndex(chunk, other)] = top;
    --m_nUnits[chunk];
    return top;
}

void
ContributionLedger::Land(ChunkId chunk, NodeId unit, NodeId server, bool isApart)
{
    if (isApart)
    {
        m_apart[chunk].push_back(unit);
    }
    else
    {
        NodeId& own = m_own[GetIndex(chunk, server)];
        unit = own == NOBODY ? unit : Merge(chunk, unit, own);
        own = unit;
    }
    SetHolder(chunk, unit, server);
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
    // The root's unit never moves: if there is only one, it is there.
    if (m_nUnits[chunk] == 1)
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
    return m_entries.size() - m_unusedEntries.size();
}

bool
ContributionLedger::IsFresh() const
{
    return m_nEnded == 0 && GetNInFlight() == 0 && m_nDown == 0;
}

uint64_t
ContributionLedger::GetNUpsets() const
{
    return m_nUpsets;
}

ContributionLedger::Whereabouts
ContributionLedger::Find(ChunkId chunk, NodeId contributor) const
{
    const NodeId unit = FindUnit(chunk, contributor);
    const NodeId holder = m_above[GetIndex(chunk, unit)];
    return {unit,
            holder == FLYING ? IN_FLIGHT : holder - FIRST_HOLDER,
            m_isApart[GetIndex(chunk, unit)]};
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
