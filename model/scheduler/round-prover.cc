/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-prover.h"

#include "scheduler-factory.h"

#include "ns3/allreduce-error.h"
#include "ns3/round-hash.h"

#include <algorithm>

namespace ns3::allreduce
{

template <typename... Parts>
void
RoundProver::Refuse(const AllReduceScheduler& scheduler, const Parts&... why)
{
    m_isRefused = true;
    FailInput(GetSchedulerName(scheduler), " hands out ", why...);
}

void
RoundProver::ExpectPlan(uint64_t hash)
{
    m_expected = hash;
    m_known.insert(hash);
}

void
RoundProver::Restart()
{
    m_hashes.clear();
    m_next = 0;
    m_nUpsets = 0;
}

WorkloadList
RoundProver::AskForRound(AllReduceScheduler& scheduler,
                         const AllReduceState& state,
                         const ContributionLedger& ledger)
{
    WorkloadList round = scheduler.NextRound(state);
    if (round.IsEmpty())
    {
        FailInput(GetSchedulerName(scheduler),
                  " does not come to an end: after round ",
                  state.GetRound(),
                  " ",
                  state.GetNMissing(),
                  " sums are still missing");
    }
    const RoundRange plan = scheduler.GetPlan();
    if (plan.empty())
    {
        if (ledger.GetNUpsets() != m_nUpsets)
        {
            NoteRest(scheduler);
        }
        Prove(scheduler, ledger, {&round, &round + 1}, RoundsEnd::OPEN);
    }
    else
    {
        if (!IsAsForeseen(ledger))
        {
            Adopt(scheduler, ledger, plan);
        }
        if (HashRound(round) != m_hashes[m_next++])
        {
            Refuse(scheduler,
                   "another round ",
                   state.GetRound(),
                   " than that of its proven plan (or is it asked by another session, too?)");
        }
    }
    m_nUpsets = ledger.GetNUpsets();
    m_isUsed = true;
    return round;
}

std::vector<WorkloadList>
RoundProver::AskForAll(AllReduceScheduler& scheduler,
                       const AllReduceState& state,
                       const ContributionLedger& ledger)
{
    AllReduceSchedule schedule = Plan(scheduler, state);
    Adopt(scheduler, ledger, MakeRoundRange(schedule.rounds));
    m_nUpsets = ledger.GetNUpsets();
    m_isUsed = true;
    return std::move(schedule.rounds);
}

bool
RoundProver::IsAsForeseen(const ContributionLedger& ledger) const
{
    return m_next < m_hashes.size() && !ledger.IsFresh() && ledger.GetNUpsets() == m_nUpsets;
}

void
RoundProver::Adopt(const AllReduceScheduler& scheduler,
                   const ContributionLedger& ledger,
                   RoundRange plan)
{
    std::vector<uint64_t> hashes;
    for (const WorkloadList& round : plan)
    {
        hashes.push_back(HashRound(round));
    }
    const uint64_t hash = CombineHashes(hashes);
    if (ledger.IsFresh())
    {
        CheckExpected(scheduler, hash);
        m_planHash = hash;
    }
    // It may be the beginning again: all that had begun was aborted, and the links are up again.
    const bool isSame =
        ledger.IsFresh()
            ? m_hashes.empty()
            : std::equal(hashes.begin(), hashes.end(), m_hashes.begin() + m_next, m_hashes.end());
    if (!isSame)
    {
        NoteRest(scheduler);
    }
    if (!ledger.IsFresh() || m_known.count(hash) == 0)
    {
        Prove(scheduler, ledger, plan, RoundsEnd::DONE);
    }
    if (ledger.IsFresh())
    {
        m_known.insert(hash);
    }
    m_hashes = std::move(hashes);
    m_next = 0;
}

void
RoundProver::CheckExpected(const AllReduceScheduler& scheduler, uint64_t hash)
{
    // A scheduler that keeps no plan is free to choose anew; what it chooses is proven.
    if (m_expected && hash != *m_expected && !scheduler.GetPlan().empty())
    {
        Refuse(scheduler,
               "another plan (",
               FormatHash(hash),
               ") than the one that was verified (",
               FormatHash(*m_expected),
               ")");
    }
}

void
RoundProver::Prove(const AllReduceScheduler& scheduler,
                   const ContributionLedger& ledger,
                   RoundRange rounds,
                   RoundsEnd end)
{
    ++m_nProofs;
    const Verdict verdict = Verify(ledger, rounds, end);
    if (!verdict.isCorrect)
    {
        const char* what = end == RoundsEnd::OPEN ? "a round"
                           : ledger.IsFresh()     ? "a plan"
                                                  : "a plan of what is left";
        Refuse(scheduler, what, " that is not correct: ", verdict.reason);
    }
}

void
RoundProver::NoteRest(const AllReduceScheduler& scheduler)
{
    ++m_nRests;
    std::string name = scheduler.GetPlanner();
    if (name.empty())
    {
        name = GetSchedulerName(scheduler);
    }
    m_lastReplanner = name;
    if (std::find(m_replanners.begin(), m_replanners.end(), name) == m_replanners.end())
    {
        m_replanners.push_back(std::move(name));
    }
}

bool
RoundProver::IsProven() const
{
    return m_isUsed && !m_isRefused;
}

std::optional<uint64_t>
RoundProver::GetPlanHash() const
{
    return m_planHash;
}

uint32_t
RoundProver::GetNProofs() const
{
    return m_nProofs;
}

uint32_t
RoundProver::GetNRests() const
{
    return m_nRests;
}

const std::vector<std::string>&
RoundProver::GetReplanners() const
{
    return m_replanners;
}

const std::string&
RoundProver::GetLastReplanner() const
{
    return m_lastReplanner;
}

} // namespace ns3::allreduce
