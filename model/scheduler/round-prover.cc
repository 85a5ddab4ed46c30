/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-prover.h"

#include "scheduler-factory.h"

#include "ns3/allreduce-error.h"
#include "ns3/round-hash.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

RoundProver::RoundProver(Ptr<AllReduceScheduler> scheduler)
    : m_scheduler(scheduler)
{
}

Ptr<AllReduceScheduler>
RoundProver::GetScheduler() const
{
    return m_scheduler;
}

bool
RoundProver::HasPlan() const
{
    return m_whole.has_value();
}

void
RoundProver::SetPlan(VerifiedPlan plan)
{
    m_whole = std::move(plan);
}

void
RoundProver::Restart()
{
    m_hasBegun = false;
    m_isPlannedAnew = false;
    m_nUpsets = 0;
}

WorkloadList
RoundProver::GetRound(const AllReduceState& state, const ContributionLedger& ledger)
{
    if (m_scheduler->ChoosesByRound())
    {
        return ChooseRound(state, ledger);
    }
    if (std::exchange(m_isPlannedAnew, false))
    {
        // The first round of that plan is next.
    }
    else if (state.IsFresh())
    {
        BeginWhole(state);
    }
    else if (!m_follower.IsExpected(state))
    {
        BeginRemainder(state, ledger);
    }
    else if (ledger.GetNUpsets() != m_nUpsets)
    {
        Prove(ledger, m_follower.GetAhead(), RoundsEnd::DONE);
    }
    m_nUpsets = ledger.GetNUpsets();
    m_isUsed = true;
    return m_follower.TakeRound(state);
}

std::vector<WorkloadList>
RoundProver::GetAll(const AllReduceState& state, const ContributionLedger& ledger)
{
    if (!state.IsFresh())
    {
        return PlanAnew(state, ledger);
    }
    BeginWhole(state);
    return TakeAll(ledger);
}

std::vector<WorkloadList>
RoundProver::PlanAnew(const AllReduceState& state, const ContributionLedger& ledger)
{
    BeginRemainder(state, ledger);
    m_isPlannedAnew = true;
    return TakeAll(ledger);
}

std::vector<WorkloadList>
RoundProver::TakeAll(const ContributionLedger& ledger)
{
    m_nUpsets = ledger.GetNUpsets();
    m_isUsed = true;
    const RoundRange rounds = m_follower.GetAhead();
    return {rounds.begin(), rounds.end()};
}

void
RoundProver::BeginWhole(const AllReduceState& state)
{
    if (!m_whole || m_scheduler->ChoosesByRound())
    {
        PlanWhole(state);
    }
    if (m_hasBegun)
    {
        NoteReplan(m_whole->GetPlanner()); // All was aborted, and the links are up again.
    }
    m_hasBegun = true;
    m_planHash = m_whole->GetHash();
    m_follower.Begin(MakeRoundRange(m_whole->GetRounds()));
}

void
RoundProver::PlanWhole(const AllReduceState& state)
{
    AllReduceSchedule schedule = Plan(*m_scheduler, state);
    if (m_whole && m_whole->GetHash() == HashRounds(MakeRoundRange(schedule.rounds)))
    {
        return; // The same again.
    }
    ++m_nProofs;
    m_isRefused = true;
    m_whole.emplace(state.GetTopology(), std::move(schedule), GetSchedulerName(*m_scheduler));
    m_isRefused = false;
}

void
RoundProver::BeginRemainder(const AllReduceState& state, const ContributionLedger& ledger)
{
    std::vector<WorkloadList> rounds = Plan(*m_scheduler, state).rounds;
    const RoundRange range = MakeRoundRange(rounds);
    if (!m_hasBegun || HashRounds(range) != HashRounds(m_follower.GetAhead()))
    {
        NoteReplan(GetPlannerName());
    }
    Prove(ledger, range, RoundsEnd::DONE);
    m_hasBegun = true;
    m_remainder = std::move(rounds);
    m_follower.Begin(MakeRoundRange(m_remainder));
}

WorkloadList
RoundProver::ChooseRound(const AllReduceState& state, const ContributionLedger& ledger)
{
    WorkloadList round = m_scheduler->NextRound(state);
    if (round.IsEmpty())
    {
        FailInput(GetSchedulerName(*m_scheduler),
                  " does not come to an end: after round ",
                  state.GetRound(),
                  " ",
                  state.GetNMissing(),
                  " sums are still missing");
    }
    if (ledger.GetNUpsets() != m_nUpsets)
    {
        NoteReplan(GetPlannerName());
    }
    Prove(ledger, {&round, &round + 1}, RoundsEnd::OPEN);
    m_nUpsets = ledger.GetNUpsets();
    m_isUsed = true;
    return round;
}

void
RoundProver::Prove(const ContributionLedger& ledger, RoundRange rounds, RoundsEnd end)
{
    ++m_nProofs;
    const Verdict verdict = Verify(ledger, rounds, end);
    m_isRefused = m_isRefused || !verdict.isCorrect;
    if (!verdict.isCorrect)
    {
        FailInput(GetSchedulerName(*m_scheduler),
                  " hands out ",
                  end == RoundsEnd::OPEN ? "a round" : "a plan of what is left",
                  " that is not correct: ",
                  verdict.reason);
    }
}

std::string
RoundProver::GetPlannerName() const
{
    const std::string name = m_scheduler->GetPlanner();
    return name.empty() ? GetSchedulerName(*m_scheduler) : name;
}

void
RoundProver::NoteReplan(const std::string& planner)
{
    ++m_nReplans;
    m_lastReplanner = planner;
    if (std::find(m_replanners.begin(), m_replanners.end(), planner) == m_replanners.end())
    {
        m_replanners.push_back(planner);
    }
}

RoundRange
RoundProver::GetPresentAndAhead() const
{
    return m_scheduler->ChoosesByRound() ? RoundRange() : m_follower.GetPresentAndAhead();
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
RoundProver::GetNReplans() const
{
    return m_nReplans;
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
