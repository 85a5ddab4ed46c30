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

namespace ns3::allreduce
{

namespace
{

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
    VerifyParts(rounds.size(), nWorkloads, violation, [&](Part part, FirstViolation& found) {
        CheckPaths(start, rounds, part.first, part.end, found);
    });
    if (violation.Get().isCorrect)
    {
        const uint32_t nChunks = start.GetCollective().GetNChunks();
        VerifyParts(nChunks, nWorkloads, violation, [&](Part part, FirstViolation& found) {
            ReplayChunks(start, rounds, end, part.first, part.end, found);
        });
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
