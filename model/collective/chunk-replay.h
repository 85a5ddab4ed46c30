/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHUNK_REPLAY_H
#define ALLREDUCE_CHUNK_REPLAY_H

#include "contribution-ledger.h"
#include "schedule-violation.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a workload does, without its path.
struct ChunkMove
{
    SchedulePlace place; //!< where it stands
    NodeId source;       //!< the sender
    NodeId target;       //!< the receiver
    WorkloadKind kind;   //!< merged or copied
    bool isNamed;        //!< only some contributors are moved
};

/// @ingroup allreduce
/// Follows the contributions to one chunk after another.
class ChunkReplay
{
  public:
    /**
     * @param start where all contributions are at the start
     * @param rounds what is verified
     * @param end how it must end
     * @param violation where violations go
     */
    ChunkReplay(const ContributionLedger& start,
                RoundRange rounds,
                RoundsEnd end,
                FirstViolation& violation);

    /// Replay all moves of a chunk. @param chunk it @param begin the first @param end after the
    /// last
    void Replay(ChunkId chunk, const ChunkMove* begin, const ChunkMove* end);

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

    void Begin(ChunkId chunk);

    /// @return the sum that a contribution is in at the start
    Sum& FindSum(const ContributionLedger::Whereabouts& where);
    bool MayTakePart(NodeId target, SchedulePlace place);
    bool SendPartial(const ChunkMove& move);
    bool TakeAll(NodeId source, Sum& sum, SchedulePlace place);
    bool TakeNamed(NodeId source, Sum& sum, SchedulePlace place);
    void NoteMissingContributor(NodeId source, NodeId contributor, SchedulePlace place);
    bool SendFinal(const ChunkMove& move);
    void EndRound();
    void CheckEnd();

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

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHUNK_REPLAY_H */
