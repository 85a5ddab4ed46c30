/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-history.h"

namespace ns3::allreduce
{

void
JobHistory::Add(const SlotReport& report)
{
    for (const RingRun& run : report.runs)
    {
        if (run.ring.job >= m_spans.size())
        {
            m_spans.resize(run.ring.job + 1);
        }
        std::vector<JobSpan>& spans = m_spans[run.ring.job];
        if (spans.empty() || run.isMoved)
        {
            spans.push_back({report.slot, report.slot, run.ring.servers, run.ring.workers});
        }
        spans.back().lastSlot = report.slot;
    }
}

const std::vector<JobSpan>&
JobHistory::GetSpans(JobId job) const
{
    static const std::vector<JobSpan> none;
    return job < m_spans.size() ? m_spans[job] : none;
}

} // namespace ns3::allreduce
