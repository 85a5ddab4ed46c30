/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_CLOCK_H
#define ALLREDUCE_ROUND_CLOCK_H

#include "allreduce-session.h"

#include "ns3/nstime.h"
#include "ns3/simulator.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief When a collective and each of its rounds began and ended.
 */
class RoundClock
{
  public:
    /// A collective is asked for; its first round may have to wait.
    void Restart()
    {
        m_times.clear();
        m_durations.clear();
        m_hasBegun = false;
        m_begin = Simulator::Now();
    }

    /// Rounds begin. @param waited how long servers were cut off before, if they are the first
    void Begin(Time waited)
    {
        if (!m_hasBegun)
        {
            m_hasBegun = true;
            m_begin = Simulator::Now() - waited;
        }
    }

    /// @param nRounds how many rounds there are so far
    void Resize(uint32_t nRounds)
    {
        m_times.resize(nRounds);
        m_durations.resize(nRounds);
    }

    /// A round begins. @param round its number
    void BeginRound(uint32_t round)
    {
        m_times[round].begin = Simulator::Now();
    }

    /// A workload is complete. @param round the number of its round
    void CompleteWorkload(uint32_t round)
    {
        m_times[round].end = Simulator::Now();
    }

    /// @return how long a round took @param round its number @param end when it ended
    Time EndRound(uint32_t round, Time end)
    {
        m_times[round].end = end;
        m_durations[round] = end - m_times[round].begin;
        return m_durations[round];
    }

    /// @return whether the first round has begun
    bool HasBegun() const
    {
        return m_hasBegun;
    }

    /// @return when the collective began
    Time GetBegin() const
    {
        return m_begin;
    }

    /// @return when each round was
    const std::vector<AllReduceSession::RoundTimes>& GetTimes() const
    {
        return m_times;
    }

    /// @return how long each round took
    const std::vector<Time>& GetDurations() const
    {
        return m_durations;
    }

  private:
    std::vector<AllReduceSession::RoundTimes> m_times; //!< by round
    std::vector<Time> m_durations;                     //!< by round
    bool m_hasBegun{false};                            //!< see HasBegun
    Time m_begin;                                      //!< see GetBegin
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_CLOCK_H */
