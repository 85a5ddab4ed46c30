/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-progress.h"

namespace ns3::allreduce
{

PlanningProgress::PlanningProgress(Listener listener)
    : m_listener(std::move(listener))
{
}

PlanningProgress
PlanningProgress::GetPart(double from, double to, const std::string& name) const
{
    if (!m_listener)
    {
        return {};
    }
    return PlanningProgress([=, listener = m_listener](const std::string& what, double share) {
        const std::string separator = name.empty() || what.empty() ? "" : ", ";
        listener(name + separator + what, from + share * (to - from));
    });
}

PlanningProgress
PlanningProgress::GetPart(const std::string& name, std::size_t i, std::size_t n) const
{
    return GetPart(static_cast<double>(i) / n,
                   static_cast<double>(i + 1) / n,
                   n == 1 ? "" : name + " " + std::to_string(i + 1) + " of " + std::to_string(n));
}

void
PlanningProgress::Show(const std::string& what, double share) const
{
    if (m_listener)
    {
        m_listener(what, share);
    }
}

void
PlanningProgress::ShowRound(std::size_t nRounds, double share) const
{
    if (m_listener)
    {
        m_listener("round " + std::to_string(nRounds), share);
    }
}

} // namespace ns3::allreduce
