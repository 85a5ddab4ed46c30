/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cut-servers.h"

#include "planning-environment.h"

#include <algorithm>

namespace ns3::allreduce
{

CutServers::CutServers(const BitMatrix& joined)
    : m_joined(joined),
      m_visited(joined.GetNColumns()),
      m_low(joined.GetNColumns()),
      m_cuts(joined.GetRowWords())
{
}

const std::vector<uint64_t>&
CutServers::Find(const uint64_t* members, NodeId first)
{
    m_members = members;
    m_time = 0;
    std::fill(m_visited.begin(), m_visited.end(), 0);
    std::fill(m_cuts.begin(), m_cuts.end(), 0);
    Visit(first, true);
    ForEachBit(members, m_cuts.size(), [&](NodeId server) {
        if (m_visited[server] == 0)
        {
            Visit(server, true);
        }
    });
    return m_cuts;
}

void
CutServers::Visit(NodeId server, bool isStart)
{
    m_visited[server] = m_low[server] = ++m_time;
    uint32_t nBelow = 0;
    bool isCut = false;
    const uint64_t* joined = m_joined.GetRow(server);
    for (std::size_t i = 0; i < m_cuts.size(); ++i)
    {
        const uint64_t word = joined[i] & m_members[i];
        ForEachBit(&word, 1, [&](NodeId bit) {
            const NodeId next = i * BitMatrix::WORD_BITS + bit;
            if (m_visited[next] != 0)
            {
                m_low[server] = std::min(m_low[server], m_visited[next]);
                return;
            }
            ++nBelow;
            Visit(next, false);
            m_low[server] = std::min(m_low[server], m_low[next]);
            isCut |= m_low[next] >= m_visited[server];
        });
    }
    if (isStart ? nBelow > 1 : isCut)
    {
        m_cuts[server / BitMatrix::WORD_BITS] |= uint64_t{1} << server % BitMatrix::WORD_BITS;
    }
}

} // namespace ns3::allreduce
