/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How a CollectiveRun finds that nothing goes on any more, and fails.
 */

#include "collective-run.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <sstream>

namespace ns3::allreduce
{

void
CollectiveRun::Fail(const std::string& reason)
{
    Close();
    m_owner.failed(reason);
}

void
CollectiveRun::Close()
{
    m_phase = Phase::CLOSED;
    m_watch.Cancel();
    m_next.Cancel();
    m_look.Cancel();
    m_flows.clear();
    m_arrivals.clear();
    m_control.Clear();
    m_ranks->Close();
    m_transport->Close();
}

Time
CollectiveRun::GetPatience() const
{
    if (m_settings.watchdog.IsStrictlyPositive())
    {
        return m_settings.watchdog;
    }
    const Time silence = m_transport->GetLongestSilence();
    const double slowdown = m_network->GetWorstSlowdown(); // of which the transport does not know
    constexpr double MOST_SECONDS = 1e8;
    return slowdown > 1 ? Seconds(std::min(silence.GetSeconds() * slowdown, MOST_SECONDS))
                        : silence;
}

void
CollectiveRun::CheckProgress()
{
    const Time patience = GetPatience();
    const AllReduceState& state = m_progress->GetState();
    const bool isWaitingForLink = m_cutOff.IsCutOff() && m_settings.watchdog.IsZero() &&
                                  IsMendingDue(state, *m_network, m_settings.usesMessages);
    // Ranks whose servers take no part in a round hear nothing of it.
    constexpr int64_t LONG = 1000;
    const bool isAwaitingOthers =
        m_ranks->IsAwaitingOthers(m_preparation == Preparation::GATHERING) &&
        Simulator::Now() - m_lastArrival < patience * LONG;
    const Time begin = isWaitingForLink || isAwaitingOthers || m_nLate > 0
                           ? Simulator::Now()
                           : Max(m_lastArrival, m_transport->GetLastArrival());
    const Time end = begin + patience;
    if (Simulator::Now() < end)
    {
        m_watch = Simulator::Schedule(end - Simulator::Now(), &CollectiveRun::CheckProgress, this);
        return;
    }
    std::ostringstream reason;
    reason << "nothing has arrived for " << patience.As(Time::MS) << ": "
           << (m_cutOff.IsCutOff()    ? DescribeCutOff(state, m_settings.usesMessages)
               : m_nextRounds.empty() ? DescribeStuck()
                                      : m_transport->DescribePreparation());
    Fail(reason.str());
}

std::string
CollectiveRun::DescribeStuck() const
{
    constexpr std::size_t MOST = 4;
    std::ostringstream text;
    std::size_t n = 0;
    for (const auto& [transfer, flow] : m_flows)
    {
        if (n++ == MOST)
        {
            text << "; and " << m_flows.size() - MOST << " more";
            break;
        }
        const Workload workload = m_dispatcher->Get(flow.index);
        text << (n > 1 ? "; " : "") << Describe(workload) << " from server " << workload.GetSource()
             << " to server " << workload.GetTarget() << " ("
             << m_transport->DescribeProgress(transfer) << ")";
    }
    return m_flows.empty() ? m_ranks->DescribeAwaited() : text.str();
}

} // namespace ns3::allreduce
