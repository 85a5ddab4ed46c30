/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chunk-replay.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

ChunkReplay::ChunkReplay(const ContributionLedger& start,
                         RoundRange rounds,
                         RoundsEnd end,
                         FirstViolation& violation)
    : m_nServers(start.GetTopology().GetNServers()),
      m_start(start),
      m_rounds(rounds),
      m_end(end),
      m_violation(violation)
{
}

void
ChunkReplay::Replay(ChunkId chunk, const ChunkMove* begin, const ChunkMove* end)
{
    if (begin == end && m_end == RoundsEnd::OPEN)
    {
        return;
    }
    Begin(chunk);
    const ChunkMove* move = begin;
    while (move != end)
    {
        m_arrivals.clear();
        m_copies.clear();
        const uint32_t round = move->place.round;
        for (; move != end && move->place.round == round; ++move)
        {
            if (!MayTakePart(move->target, move->place) ||
                !(move->kind == WorkloadKind::REDUCE ? SendPartial(*move) : SendFinal(*move)))
            {
                return;
            }
        }
        EndRound();
    }
    if (m_end == RoundsEnd::DONE)
    {
        CheckEnd();
    }
}

void
ChunkReplay::Begin(ChunkId chunk)
{
    m_chunk = chunk;
    m_root = m_start.GetCollective().roots[chunk];
    m_isFinal = m_start.IsFinal(chunk);
    m_nContributors = 0;
    m_hasFinal.resize(m_nServers);
    m_held.resize(m_nServers);
    m_nHeld.assign(m_nServers, 0);
    m_slots.assign(m_nServers, std::numeric_limits<uint32_t>::max());
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_hasFinal[server] = m_start.HasFinal(chunk, server);
        if (m_start.Contributes(chunk, server))
        {
            FindSum(m_start.Find(chunk, server)).Add(server);
            ++m_nContributors;
        }
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_held[server].resize(m_nHeld[server]);
    }
    m_sentInRound.assign(m_nServers, std::numeric_limits<uint32_t>::max());
}

ChunkReplay::Sum&
ChunkReplay::FindSum(const ContributionLedger::Whereabouts& where)
{
    auto& parts = m_held[where.holder];
    uint32_t& slot = m_slots[where.unit];
    if (slot == std::numeric_limits<uint32_t>::max())
    {
        slot = m_nHeld[where.holder]++;
        parts.resize(std::max<std::size_t>(parts.size(), slot + 1));
        parts[slot].members.assign((m_nServers + 63) / 64, 0);
        parts[slot].isApart = where.isApart;
    }
    return parts[slot];
}

bool
ChunkReplay::MayTakePart(NodeId target, SchedulePlace place)
{
    if (m_start.GetCollective().mayRelay || m_start.Contributes(m_chunk, target) ||
        m_start.Receives(m_chunk, target))
    {
        return true;
    }
    m_violation.Note(place, "server ", target, " takes no part in the chunk, nor may it relay");
    return false;
}

bool
ChunkReplay::SendPartial(const ChunkMove& move)
{
    if (m_isFinal)
    {
        m_violation.Note(move.place, "the chunk is final already");
        return false;
    }
    if (move.source == m_root)
    {
        m_violation.Note(move.place,
                         "server ",
                         move.source,
                         " is the chunk's root, the sum is made there");
        return false;
    }
    Sum sum;
    const bool isGood = move.isNamed ? TakeNamed(move.source, sum, move.place)
                                     : TakeAll(move.source, sum, move.place);
    if (isGood)
    {
        sum.isApart = move.isNamed && move.target != m_root;
        m_arrivals.emplace_back(move.target, std::move(sum));
    }
    return isGood;
}

bool
ChunkReplay::TakeAll(NodeId source, Sum& sum, SchedulePlace place)
{
    if (m_held[source].empty())
    {
        if (m_sentInRound[source] == place.round)
        {
            m_violation.Note(place,
                             "counted twice: server ",
                             source,
                             " sends the same contributions a second time in this round");
        }
        else
        {
            m_violation.Note(place,
                             "server ",
                             source,
                             " holds no contribution (sent on already, or not yet received)");
        }
        return false;
    }
    sum = std::move(m_held[source].front());
    for (std::size_t i = 1; i < m_held[source].size(); ++i)
    {
        sum.Merge(m_held[source][i]);
    }
    m_held[source].clear();
    m_sentInRound[source] = place.round;
    return true;
}

bool
ChunkReplay::TakeNamed(NodeId source, Sum& sum, SchedulePlace place)
{
    const NodeRange contributors = m_rounds[place.round].Get(place.workload).contributors;
    sum.members.assign((m_nServers + 63) / 64, 0);
    Sum named;
    named.members = sum.members;
    for (const NodeId contributor : contributors)
    {
        if (contributor >= m_nServers)
        {
            m_violation.Note(place, "contributor ", contributor, " is not a server");
            return false;
        }
        if (named.Has(contributor))
        {
            m_violation.Note(place, "contributor ", contributor, " is named twice");
            return false;
        }
        named.Add(contributor);
    }
    auto& parts = m_held[source];
    for (const Sum& part : parts)
    {
        if (part.IsWithin(named))
        {
            sum.Merge(part);
        }
    }
    for (const NodeId contributor : contributors)
    {
        if (!sum.Has(contributor))
        {
            NoteMissingContributor(source, contributor, place);
            return false;
        }
    }
    parts.erase(std::remove_if(parts.begin(),
                               parts.end(),
                               [&](const Sum& part) { return part.IsWithin(named); }),
                parts.end());
    m_sentInRound[source] = place.round;
    return true;
}

void
ChunkReplay::NoteMissingContributor(NodeId source, NodeId contributor, SchedulePlace place)
{
    for (const Sum& part : m_held[source])
    {
        if (part.Has(contributor))
        {
            m_violation.Note(place,
                             "the contribution of server ",
                             contributor,
                             " is merged with others and cannot be taken out");
            return;
        }
    }
    m_violation.Note(place,
                     "server ",
                     source,
                     " does not hold the contribution of server ",
                     contributor);
}

bool
ChunkReplay::SendFinal(const ChunkMove& move)
{
    if (move.isNamed)
    {
        m_violation.Note(move.place, "a broadcast names contributors");
        return false;
    }
    if (!m_isFinal)
    {
        m_violation.Note(move.place, "broadcast before the sum is final");
        return false;
    }
    if (!m_hasFinal[move.source])
    {
        m_violation.Note(move.place, "server ", move.source, " has not received the sum");
        return false;
    }
    if (m_hasFinal[move.target] ||
        std::find(m_copies.begin(), m_copies.end(), move.target) != m_copies.end())
    {
        m_violation.Note(move.place, "server ", move.target, " is sent the sum a second time");
        return false;
    }
    m_copies.push_back(move.target);
    return true;
}

void
ChunkReplay::EndRound()
{
    bool hasRootMore = false;
    for (auto& [target, sum] : m_arrivals)
    {
        hasRootMore |= target == m_root;
        auto& parts = m_held[target];
        const auto own =
            std::find_if(parts.begin(), parts.end(), [](const Sum& part) { return !part.isApart; });
        if (sum.isApart || own == parts.end())
        {
            parts.push_back(std::move(sum));
        }
        else
        {
            own->Merge(sum);
        }
    }
    for (const NodeId target : m_copies)
    {
        m_hasFinal[target] = true;
    }
    if (!m_isFinal && hasRootMore && m_held[m_root][0].Count() == m_nContributors)
    {
        m_isFinal = true;
        m_hasFinal[m_root] = true;
    }
}

void
ChunkReplay::CheckEnd()
{
    if (!m_isFinal)
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            if (m_start.Contributes(m_chunk, server) && !m_held[m_root][0].Has(server))
            {
                m_violation.NoteAtEnd("the contribution of server ",
                                      server,
                                      " to chunk ",
                                      m_chunk,
                                      " never reaches its root, server ",
                                      m_root);
                return;
            }
        }
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (!m_hasFinal[server] && m_start.Receives(m_chunk, server))
        {
            m_violation.NoteAtEnd("server ", server, " is left without the sum of chunk ", m_chunk);
            return;
        }
    }
}

} // namespace ns3::allreduce
