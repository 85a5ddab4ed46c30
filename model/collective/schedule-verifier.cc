/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "schedule-verifier.h"

#include "chunk-replay.h"
#include "contribution-ledger.h"
#include "path-checker.h"
#include "schedule-violation.h"

#include "ns3/parallel-for.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

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

/// @return whether every workload's chunk has a root
bool
CheckChunks(RoundRange rounds, std::size_t nChunks, FirstViolation& violation)
{
    for (uint32_t round = 0; round < rounds.size(); ++round)
    {
        for (uint32_t i = 0; i < rounds[round].GetSize(); ++i)
        {
            if (rounds[round].GetChunk(i) >= nChunks)
            {
                violation.Note({round, i}, "there are only ", nChunks, " chunks");
                return false;
            }
        }
    }
    return true;
}

/// A part of what is to be verified: [first, end).
struct Part
{
    uint32_t first; //!< where it begins
    uint32_t end;   //!< where it ends
};

/**
 * Verify parts at once, on all cores where there is much to do.
 *
 * @param nItems how many rounds or chunks there are
 * @param nWorkloads how many workloads they have
 * @param [in,out] violation where violations go
 * @param verify gets a part and where its violations go
 */
template <typename Verify>
void
VerifyParts(uint32_t nItems, uint64_t nWorkloads, FirstViolation& violation, const Verify& verify)
{
    constexpr uint64_t WORTH_A_THREAD = 250'000; // workloads
    constexpr uint64_t MOST_PARTS = 8;           // A part of the chunks looks through all rounds.
    const uint64_t nParts =
        std::min<uint64_t>(nItems,
                           std::clamp<uint64_t>(nWorkloads / WORTH_A_THREAD, 1, MOST_PARTS));
    std::vector<FirstViolation> found(nParts, violation);
    RunParallel(nParts, [&](uint32_t i) {
        const auto getBegin = [&](uint64_t part) { return uint32_t(nItems * part / nParts); };
        verify(Part{getBegin(i), getBegin(i + 1)}, found[i]);
    });
    for (const FirstViolation& part : found)
    {
        violation.Note(part);
    }
}

/// Checks the paths of all rounds.
void
CheckPaths(const ContributionLedger& start,
           RoundRange rounds,
           uint64_t nWorkloads,
           FirstViolation& violation)
{
    VerifyParts(rounds.size(), nWorkloads, violation, [&](Part part, FirstViolation& found) {
        PathChecker paths(start, found);
        uint32_t round = part.first;
        while (round < part.end && paths.Check(rounds[round], round))
        {
            ++round;
        }
    });
}

/// Replays all chunks.
void
ReplayChunks(const ContributionLedger& start,
             RoundRange rounds,
             RoundsEnd end,
             uint64_t nWorkloads,
             FirstViolation& violation)
{
    const uint32_t nChunks = start.GetCollective().GetNChunks();
    VerifyParts(nChunks, nWorkloads, violation, [&](Part part, FirstViolation& found) {
        const MovesByChunk moves(rounds, part.first, part.end);
        ChunkReplay replay(start, rounds, end, found);
        for (ChunkId chunk = part.first; chunk < part.end; ++chunk)
        {
            replay.Replay(chunk, moves.Begin(chunk), moves.End(chunk));
        }
    });
}

} // namespace

Verdict
Verify(const ContributionLedger& start, RoundRange rounds, RoundsEnd end)
{
    FirstViolation violation(rounds);
    if (start.GetNInFlight() > 0)
    {
        violation.NoteAtEnd(start.GetNInFlight(), " workloads were in flight at the start");
        return violation.Get();
    }
    if (!CheckChunks(rounds, start.GetCollective().GetNChunks(), violation))
    {
        return violation.Get();
    }
    uint64_t nWorkloads = 0;
    for (const WorkloadList& round : rounds)
    {
        nWorkloads += round.GetSize();
    }
    CheckPaths(start, rounds, nWorkloads, violation);
    if (violation.Get().isCorrect)
    {
        ReplayChunks(start, rounds, end, nWorkloads, violation);
    }
    return violation.Get();
}

Verdict
Verify(const Topology& topology, const AllReduceSchedule& schedule)
{
    const RoundRange rounds = MakeRoundRange(schedule.rounds);
    FirstViolation violation(rounds);
    const std::string fault = FindFault(schedule.collective, topology);
    if (!fault.empty())
    {
        violation.NoteAtEnd(fault);
        return violation.Get();
    }
    return Verify(ContributionLedger(topology, schedule.collective), rounds, RoundsEnd::DONE);
}

} // namespace ns3::allreduce
