/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-slots.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

LinkSlots::LinkSlots(std::vector<uint32_t> capacities)
    : m_capacities(std::move(capacities))
{
    Clear();
}

void
LinkSlots::Clear()
{
    m_room.resize(m_capacities.size());
    m_used.resize(m_capacities.size());
    for (DirectedLinkId link = 0; link < m_capacities.size(); ++link)
    {
        m_room[link].clear();
        m_used[link].clear();
    }
    m_nFull.assign(m_capacities.size(), 0);
}

uint32_t
LinkSlots::FindRound(PathTable::Links links, uint32_t earliest) const
{
    for (const DirectedLinkId link : links)
    {
        earliest = std::max(earliest, m_nFull[link]);
    }
    uint64_t possible = ~uint64_t{0} << (earliest % WORD);
    for (uint32_t word = earliest / WORD;; ++word)
    {
        for (const DirectedLinkId link : links)
        {
            possible &= GetRoom(link, word);
        }
        if (possible != 0)
        {
            return word * WORD + __builtin_ctzll(possible);
        }
        possible = ~uint64_t{0};
    }
}

void
LinkSlots::Take(PathTable::Links links, uint32_t round)
{
    for (const DirectedLinkId link : links)
    {
        bool isFull = true;
        if (m_capacities[link] > 1)
        {
            std::vector<uint32_t>& used = m_used[link];
            if (used.size() <= round)
            {
                used.resize(round + 1, 0);
            }
            isFull = ++used[round] >= m_capacities[link];
        }
        if (isFull)
        {
            MarkFull(link, round);
        }
    }
}

void
LinkSlots::MarkFull(DirectedLinkId link, uint32_t round)
{
    std::vector<uint64_t>& room = m_room[link];
    if (room.size() <= round / WORD)
    {
        room.resize(round / WORD + 1, ~uint64_t{0});
    }
    room[round / WORD] &= ~(uint64_t{1} << (round % WORD));
    if (round == m_nFull[link])
    {
        uint32_t word = round / WORD;
        while (GetRoom(link, word) == 0)
        {
            ++word;
        }
        m_nFull[link] = word * WORD + __builtin_ctzll(GetRoom(link, word));
    }
}

} // namespace ns3::allreduce
