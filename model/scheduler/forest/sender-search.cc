/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sender-search.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Looking further takes more time than it is worth.
constexpr uint32_t MOST_LINKS_TRIED = 1024;

/// @return those rounds of a word, as bits, that are not before a round
uint64_t
GetRoundsFrom(uint32_t round, uint32_t word)
{
    const uint32_t before = round - std::min(round, word * LinkSlots::WORD);
    return before < LinkSlots::WORD ? ~uint64_t{0} << before : 0;
}

} // namespace

SenderSearch::SenderSearch(const Topology& topology)
    : m_topology(topology),
      m_reachedIn(topology.GetNNodes(), 0),
      m_reachable(topology.GetNNodes()),
      m_last(topology.GetNNodes())
{
}

uint32_t
SenderSearch::Find(const LinkSlots& slots,
                   const uint32_t* ready,
                   NodeId receiver,
                   uint32_t first,
                   uint32_t end,
                   std::size_t mostLinks)
{
    m_slots = &slots;
    m_ready = ready;
    m_receiver = receiver;
    m_mostLinks = mostLinks;
    m_nLinksTried = 0;
    for (uint32_t word = first / LinkSlots::WORD;
         word <= end / LinkSlots::WORD && m_nLinksTried <= MOST_LINKS_TRIED;
         ++word)
    {
        const uint64_t rounds = GetRoundsFrom(first, word) & ~GetRoundsFrom(end, word);
        for (uint64_t bits = FindRounds(word, rounds); bits != 0; bits &= bits - 1)
        {
            const uint32_t round = word * LinkSlots::WORD + __builtin_ctzll(bits);
            if (FindSender(round))
            {
                return round;
            }
        }
    }
    return end;
}

uint64_t
SenderSearch::FindRounds(uint32_t word, uint64_t rounds)
{
    uint64_t found = 0;
    ++m_search;
    m_queue.assign(1, m_receiver);
    m_reachedIn[m_receiver] = m_search;
    m_reachable[m_receiver] = rounds;
    std::size_t next = 0;
    for (std::size_t nLinks = 1; nLinks <= m_mostLinks; ++nLinks)
    {
        for (const std::size_t end = m_queue.size(); next < end; ++next)
        {
            const NodeId node = m_queue[next];
            for (const Topology::Port& port : m_topology.GetPorts(node))
            {
                ++m_nLinksTried;
                const uint64_t there =
                    m_reachable[node] & m_slots->GetRoom(Reverse(port.out), word);
                if (there == 0)
                {
                    continue;
                }
                if (m_topology.IsServer(port.neighbor))
                {
                    found |= there & GetRoundsFrom(m_ready[port.neighbor], word);
                    continue;
                }
                uint64_t& reachable = m_reachable[port.neighbor];
                reachable = m_reachedIn[port.neighbor] == m_search ? reachable : 0;
                m_reachedIn[port.neighbor] = m_search;
                if ((there & ~reachable) != 0)
                {
                    reachable |= there;
                    m_queue.push_back(port.neighbor);
                }
            }
        }
    }
    return found;
}

bool
SenderSearch::FindSender(uint32_t round)
{
    ++m_search;
    m_queue.assign(1, m_receiver);
    std::size_t next = 0;
    for (std::size_t nLinks = 1; nLinks <= m_mostLinks; ++nLinks)
    {
        for (const std::size_t end = m_queue.size(); next < end; ++next)
        {
            for (const Topology::Port& port : m_topology.GetPorts(m_queue[next]))
            {
                if (m_reachedIn[port.neighbor] == m_search ||
                    !m_slots->HasRoom(Reverse(port.out), round))
                {
                    continue;
                }
                if (!m_topology.IsServer(port.neighbor))
                {
                    m_reachedIn[port.neighbor] = m_search;
                    m_last[port.neighbor] = port.out;
                    m_queue.push_back(port.neighbor);
                }
                else if (m_ready[port.neighbor] <= round)
                {
                    TracePath(port.out);
                    return true;
                }
            }
        }
    }
    return false;
}

void
SenderSearch::TracePath(DirectedLinkId last)
{
    m_path.assign(1, last);
    while (m_topology.GetSource(m_path.back()) != m_receiver)
    {
        m_path.push_back(m_last[m_topology.GetSource(m_path.back())]);
    }
    std::reverse(m_path.begin(), m_path.end());
}

} // namespace ns3::allreduce
