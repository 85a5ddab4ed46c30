/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "path-matching.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// So many paths give way to each other for one idle link; more did not help.
constexpr uint32_t MOST_STEPS = 3;
/// Links with less to carry than this share of the most may idle.
constexpr double BUSY = 0.9;

} // namespace

PathMatching::PathMatching(const Topology& topology, const PathTable& paths)
    : m_topology(topology),
      m_paths(paths),
      m_through(2 * topology.GetNLinks()),
      m_nChosen(m_paths.GetSize() / 2),
      m_room(2 * topology.GetNLinks()),
      m_carries(2 * topology.GetNLinks()),
      m_triedIn(m_paths.GetSize() / 2, 0)
{
}

const std::vector<uint32_t>&
PathMatching::Choose(const std::vector<Index>& order,
                     const std::vector<uint32_t>& nWaiting,
                     const std::vector<double>& load)
{
    m_nWaiting = &nWaiting;
    m_load = &load;
    BeginRound();
    for (const Index path : order)
    {
        for (const DirectedLinkId link : GetLinks(path))
        {
            m_through[link].push_back(path);
        }
        while (IsWaiting(path) && Fits(path))
        {
            Take(path);
        }
    }
    ListIdleLinks();
    for (const DirectedLinkId link : m_idle)
    {
        for (uint32_t room = m_room[link]; room > 0; --room)
        {
            ++m_search;
            Use(link, 0, MOST_STEPS);
        }
    }
    return m_nChosen;
}

void
PathMatching::BeginRound()
{
    std::fill(m_nChosen.begin(), m_nChosen.end(), 0);
    for (DirectedLinkId link = 0; link < m_room.size(); ++link)
    {
        m_room[link] = m_topology.GetCapacity(link);
        m_carries[link].clear();
        m_through[link].clear();
    }
}

bool
PathMatching::Fits(Index path) const
{
    const PathTable::Links links = GetLinks(path);
    return std::all_of(links.begin(), links.end(), [this](DirectedLinkId link) {
        return m_room[link] > 0;
    });
}

void
PathMatching::Take(Index path)
{
    ++m_nChosen[path];
    for (const DirectedLinkId link : GetLinks(path))
    {
        --m_room[link];
        m_carries[link].push_back(path);
    }
}

void
PathMatching::Drop(Index path)
{
    --m_nChosen[path];
    for (const DirectedLinkId link : GetLinks(path))
    {
        ++m_room[link];
        auto& carried = m_carries[link];
        carried.erase(std::find(carried.begin(), carried.end(), path));
    }
}

double
PathMatching::GetLoad(Index path) const
{
    double load = 0;
    for (const DirectedLinkId link : GetLinks(path))
    {
        load += (*m_load)[link];
    }
    return load;
}

void
PathMatching::ListIdleLinks()
{
    const double most = *std::max_element(m_load->begin(), m_load->end());
    m_idle.clear();
    for (DirectedLinkId link = 0; link < m_room.size(); ++link)
    {
        if (m_room[link] > 0 && (*m_load)[link] >= BUSY * most)
        {
            m_idle.push_back(link);
        }
    }
    std::stable_sort(m_idle.begin(), m_idle.end(), [this](DirectedLinkId x, DirectedLinkId y) {
        return (*m_load)[x] > (*m_load)[y];
    });
}

bool
PathMatching::Use(DirectedLinkId link, double gain, uint32_t nSteps)
{
    for (const Index path : m_through[link])
    {
        Index rival = NOBODY;
        if (m_triedIn[path] == m_search || !IsWaiting(path) || !FindRival(path, rival))
        {
            continue;
        }
        m_triedIn[path] = m_search;
        if (rival == NOBODY)
        {
            Take(path);
            return true;
        }
        const double gainNow = gain + GetLoad(path) - GetLoad(rival);
        Drop(rival);
        Take(path);
        if (gainNow > 0)
        {
            return true;
        }
        for (const DirectedLinkId left : GetLinks(rival))
        {
            if (nSteps > 0 && m_room[left] > 0 && Use(left, gainNow, nSteps - 1))
            {
                return true;
            }
        }
        Drop(path);
        Take(rival);
    }
    return false;
}

bool
PathMatching::FindRival(Index path, Index& rival) const
{
    rival = NOBODY;
    for (const DirectedLinkId link : GetLinks(path))
    {
        if (m_room[link] > 0)
        {
            continue;
        }
        if (rival == NOBODY)
        {
            rival = FindWeakest(link, path);
            if (rival == NOBODY)
            {
                return false;
            }
        }
        const PathTable::Links links = GetLinks(rival);
        if (std::find(links.begin(), links.end(), link) == links.end())
        {
            return false;
        }
    }
    return true;
}

PathMatching::Index
PathMatching::FindWeakest(DirectedLinkId link, Index other) const
{
    Index weakest = NOBODY;
    for (const Index path : m_carries[link])
    {
        if (path != other && (weakest == NOBODY || GetLoad(path) < GetLoad(weakest)))
        {
            weakest = path;
        }
    }
    return weakest;
}

} // namespace ns3::allreduce
