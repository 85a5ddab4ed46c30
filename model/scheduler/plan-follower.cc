/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-follower.h"

#include <algorithm>

namespace ns3::allreduce
{

void
PlanFollower::Begin(RoundRange rounds)
{
    m_rounds = rounds;
    m_next = 0;
}

bool
PlanFollower::IsExpected(const AllReduceState& state) const
{
    return m_next < m_rounds.size() && !state.IsFresh() &&
           state.GetFingerprint() == m_expectedFingerprint;
}

const WorkloadList&
PlanFollower::TakeRound(const AllReduceState& state)
{
    const WorkloadList& round = m_rounds[m_next++];
    m_expectedFingerprint = state.GetFingerprint();
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        m_expectedFingerprint += AllReduceState::GetFingerprint(round.Get(i));
    }
    return round;
}

RoundRange
PlanFollower::GetAhead() const
{
    return {m_rounds.begin() + m_next, m_rounds.end()};
}

RoundRange
PlanFollower::GetPresentAndAhead() const
{
    return {m_rounds.begin() + (m_next - std::min<std::size_t>(m_next, 1)), m_rounds.end()};
}

} // namespace ns3::allreduce
