/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_VIOLATION_H
#define ALLREDUCE_SCHEDULE_VIOLATION_H

#include "schedule-verifier.h"

#include <cstdint>
#include <limits>
#include <sstream>
#include <tuple>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Where a workload stands in the schedule.
struct SchedulePlace
{
    uint32_t round;    //!< its round
    uint32_t workload; //!< its index there

    /// @return whether this comes first @param other another place
    bool operator<(const SchedulePlace& other) const
    {
        return round != other.round ? round < other.round : workload < other.workload;
    }
};

/// @ingroup allreduce
/// The first violation, as far as it is known.
class FirstViolation
{
  public:
    /// @param rounds what is verified
    explicit FirstViolation(RoundRange rounds)
        : m_rounds(rounds)
    {
    }

    /// Note a violation by a workload. @param place where it is @param why what is wrong
    template <typename... Parts>
    void Note(SchedulePlace place, const Parts&... why)
    {
        if (!m_verdict.isCorrect &&
            !(place < SchedulePlace{m_verdict.round, uint32_t(m_verdict.workload)}))
        {
            return;
        }
        const Workload workload = m_rounds[place.round].Get(place.workload);
        std::ostringstream text;
        text << "round " << place.round << ", workload " << place.workload << " ("
             << ToString(workload.kind) << " of chunk " << workload.chunk << " along "
             << FormatPath(Path(workload.path.begin(), workload.path.end())) << "): ";
        (text << ... << why);
        m_verdict = {false, place.round, place.workload, text.str()};
    }

    /// Note that something is missing when all rounds are over. @param why what is missing
    template <typename... Parts>
    void NoteAtEnd(const Parts&... why)
    {
        if (m_verdict.isCorrect)
        {
            std::ostringstream text;
            text << "at the end: ";
            (text << ... << why);
            m_verdict = {false,
                         static_cast<uint32_t>(m_rounds.size()),
                         std::numeric_limits<uint32_t>::max(),
                         text.str()};
        }
    }

    /// Note what another has found. @param later it looked at the same workloads afterwards
    void Note(const FirstViolation& later)
    {
        const auto getKey = [](const Verdict& verdict) {
            return std::tuple(verdict.isCorrect, verdict.round, verdict.workload);
        };
        if (getKey(later.m_verdict) < getKey(m_verdict))
        {
            m_verdict = later.m_verdict;
        }
    }

    /// @return the first violation so far
    const Verdict& Get() const
    {
        return m_verdict;
    }

  private:
    RoundRange m_rounds; //!< what is verified
    Verdict m_verdict;   //!< the first violation so far
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_VIOLATION_H */
