/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chunk-replay.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// What a workload does, without its path.
struct ChunkMove
{
    SchedulePlace place; //!< where it stands
    NodeId source;       //!< the sender
    NodeId target;       //!< the receiver
    WorkloadKind kind;   //!< merged or copied
    bool isNamed;        //!< only some contributors are moved
};

/// Follows the contributions to one chunk after another.
class ChunkReplay
{
  public:
    ChunkReplay(const ContributionLedger& start,
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

    /// Replay all workloads of a chunk.
    void Replay(ChunkId chunk, const ChunkMove* begin, const ChunkMove* end)
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

  private:
    /// A sum of some servers' contributions.
    struct Sum
    {
        std::vector<uint64_t> members; //!< a bit for each contributor
        bool isApart{false};           //!< kept apart from what its server holds besides

        bool Has(NodeId contributor) const
        {
            return members[contributor / 64] >> (contributor % 64) & 1;
        }

        void Add(NodeId contributor)
        {
            members[contributor / 64] |= uint64_t{1} << (contributor % 64);
        }

        bool IsWithin(const Sum& other) const
        {
            for (std::size_t i = 0; i < members.size(); ++i)
            {
                if (members[i] & ~other.members[i])
                {
                    return false;
                }
            }
            return true;
        }

        void Merge(const Sum& other)
        {
            for (std::size_t i = 0; i < members.size(); ++i)
            {
                members[i] |= other.members[i];
            }
        }

        uint32_t Count() const
        {
            uint32_t count = 0;
            for (const uint64_t word : members)
            {
                count += __builtin_popcountll(word);
            }
            return count;
        }
    };

    void Begin(ChunkId chunk)
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

    /// @return the sum that a contribution is in at the start
    Sum& FindSum(const ContributionLedger::Whereabouts& where)
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

    bool MayTakePart(NodeId target, SchedulePlace place)
    {
        if (m_start.GetCollective().mayRelay || m_start.Contributes(m_chunk, target) ||
            m_start.Receives(m_chunk, target))
        {
            return true;
        }
        m_violation.Note(place, "server ", target, " takes no part in the chunk, nor may it relay");
        return false;
    }

    bool SendPartial(const ChunkMove& move)
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

    bool TakeAll(NodeId source, Sum& sum, SchedulePlace place)
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

    bool TakeNamed(NodeId source, Sum& sum, SchedulePlace place)
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

    void NoteMissingContributor(NodeId source, NodeId contributor, SchedulePlace place)
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

    bool SendFinal(const ChunkMove& move)
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

    void EndRound()
    {
        bool hasRootMore = false;
        for (auto& [target, sum] : m_arrivals)
        {
            hasRootMore |= target == m_root;
            auto& parts = m_held[target];
            const auto own = std::find_if(parts.begin(), parts.end(), [](const Sum& part) {
                return !part.isApart;
            });
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

    void CheckEnd()
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
                m_violation.NoteAtEnd("server ",
                                      server,
                                      " is left without the sum of chunk ",
                                      m_chunk);
                return;
            }
        }
    }

    uint32_t m_nServers;                            //!< number of servers
    const ContributionLedger& m_start;              //!< where all is at the start
    RoundRange m_rounds;                            //!< what is verified
    RoundsEnd m_end;                                //!< how it must end
    FirstViolation& m_violation;                    //!< where violations go
    ChunkId m_chunk{0};                             //!< the chunk that is replayed
    NodeId m_root{0};                               //!< its root
    uint32_t m_nContributors{0};                    //!< how many contribute to it
    bool m_isFinal{false};                          //!< the root has all contributions
    std::vector<std::vector<Sum>> m_held;           //!< by server: its partial sums
    std::vector<uint32_t> m_nHeld;                  //!< by server: how many at the start
    std::vector<uint32_t> m_slots;                  //!< by unit at the start: its index in m_held
    std::vector<uint32_t> m_sentInRound;            //!< by server: when it last sent a partial sum
    std::vector<bool> m_hasFinal;                   //!< by server: has the whole sum
    std::vector<std::pair<NodeId, Sum>> m_arrivals; //!< partial sums that arrive in this round
    std::vector<NodeId> m_copies;                   //!< servers that the sum reaches in this round
};

/// The moves of some chunks, those of a chunk one after another.
class MovesByChunk
{
  public:
    MovesByChunk(RoundRange rounds, ChunkId firstChunk, ChunkId endChunk)
        : m_firstChunk(firstChunk),
          m_first(endChunk - firstChunk + 1, 0)
    {
        ForEach(rounds, [&](ChunkId chunk, SchedulePlace) { ++m_first[chunk + 1]; });
        std::partial_sum(m_first.begin(), m_first.end(), m_first.begin());
        m_moves.resize(m_first.back());
        std::vector<uint64_t> next(m_first.begin(), m_first.end() - 1);
        ForEach(rounds, [&](ChunkId chunk, SchedulePlace place) {
            const Workload workload = rounds[place.round].Get(place.workload);
            m_moves[next[chunk]++] = {place,
                                      workload.GetSource(),
                                      workload.GetTarget(),
                                      workload.kind,
                                      !workload.contributors.empty()};
        });
    }

    const ChunkMove* Begin(ChunkId chunk) const
    {
        return m_moves.data() + m_first[chunk - m_firstChunk];
    }

    const ChunkMove* End(ChunkId chunk) const
    {
        return m_moves.data() + m_first[chunk - m_firstChunk + 1];
    }

  private:
    /// Call with the number of the chunk among these, and its place.
    template <typename Call>
    void ForEach(RoundRange rounds, Call call) const
    {
        for (uint32_t round = 0; round < rounds.size(); ++round)
        {
            for (uint32_t i = 0; i < rounds[round].GetSize(); ++i)
            {
                const ChunkId chunk = rounds[round].GetChunk(i) - m_firstChunk;
                if (chunk < m_first.size() - 1)
                {
                    call(chunk, SchedulePlace{round, i});
                }
            }
        }
    }

    ChunkId m_firstChunk;           //!< the first of these chunks
    std::vector<uint64_t> m_first;  //!< by chunk: index of its first move
    std::vector<ChunkMove> m_moves; //!< the moves
};

} // namespace

void
ReplayChunks(const ContributionLedger& start,
             RoundRange rounds,
             RoundsEnd roundsEnd,
             ChunkId first,
             ChunkId end,
             FirstViolation& violation)
{
    const MovesByChunk moves(rounds, first, end);
    ChunkReplay replay(start, rounds, roundsEnd, violation);
    for (ChunkId chunk = first; chunk < end; ++chunk)
    {
        replay.Replay(chunk, moves.Begin(chunk), moves.End(chunk));
    }
}

} // namespace ns3::allreduce
