/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-planner.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// How many slots may be moved in a row to make way for one.
constexpr uint32_t MAX_MOVES_IN_A_ROW = 12;
/// How many moves may be tried to make way for one slot.
constexpr uint32_t MAX_MOVES_FOR_SLOT = 200;
/// How many moves may be tried in a round, for each slot of the network.
constexpr uint32_t MAX_MOVES_PER_SLOT = 8;

} // namespace

RoundPlanner::RoundPlanner(const BroadcastProblem& problem,
                           BroadcastProgress& progress,
                           const GreedyWeights& weights,
                           PlannerRandom& random)
    : m_problem(problem),
      m_progress(progress),
      m_random(random),
      m_free(problem.capacity),
      m_users(problem.capacity.size()),
      m_search(problem, m_free, progress, weights, random),
      m_linkFreedIn(problem.capacity.size(), 0),
      m_blocked(MAX_MOVES_IN_A_ROW + 1)
{
    const Topology& topology = *problem.topology;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        m_firstSlot.push_back(m_slots.size());
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            const DirectedLinkId link = Reverse(port.out);
            const uint32_t nSlots = std::min(problem.capacity[link], problem.nChunks);
            const bool isDirect = topology.IsServer(port.neighbor);
            m_slots.insert(m_slots.end(), nSlots, Slot{server, link, isDirect, {}});
        }
    }
    m_firstSlot.push_back(m_slots.size());
    m_slotMovedIn.resize(m_slots.size(), 0);
    m_order.resize(m_slots.size());
}

uint32_t
RoundPlanner::GetRoundsNeeded() const
{
    uint32_t needed = 0;
    for (NodeId server = 0; server + 1 < m_firstSlot.size(); ++server)
    {
        const uint32_t missing = m_progress.GetNMissing(server);
        if (missing > 0)
        {
            const uint32_t nSlots = m_firstSlot[server + 1] - m_firstSlot[server];
            needed = std::max(needed, (missing + nSlots - 1) / nSlots);
        }
    }
    return needed;
}

void
RoundPlanner::Plan(WorkloadList& round)
{
    m_search.BeginRound();
    OrderSlots();
    if (!FillSlots())
    {
        FillIdleSlots();
    }
    Commit(round);
}

void
RoundPlanner::OrderSlots()
{
    for (NodeId server = 0; server + 1 < m_firstSlot.size(); ++server)
    {
        const uint32_t nSlots = m_firstSlot[server + 1] - m_firstSlot[server];
        const uint32_t missing = m_progress.GetNMissing(server);
        const uint64_t rounds = nSlots == 0 ? 0 : (missing + nSlots - 1) / nSlots;
        const uint64_t tieBreak = m_random() >> 33;
        for (SlotId slot = m_firstSlot[server]; slot < m_firstSlot[server + 1]; ++slot)
        {
            // At a direct link there is but one sender: choose there while there is choice.
            const uint64_t need = 2 * rounds + (m_slots[slot].isDirect ? 1 : 0);
            m_order[slot] = {~(need << 31 | tieBreak), slot};
        }
    }
    std::sort(m_order.begin(), m_order.end());
}

bool
RoundPlanner::IsIdle(SlotId slot) const
{
    return m_slots[slot].route.links.empty() && m_progress.GetNMissing(m_slots[slot].server) > 0;
}

bool
RoundPlanner::FillSlots()
{
    bool allFilled = true;
    Route route;
    for (const auto& [key, slot] : m_order)
    {
        if (IsIdle(slot))
        {
            if (m_search.FindFree(m_slots[slot].link, route))
            {
                Occupy(slot, route);
            }
            else
            {
                allFilled = false;
            }
        }
    }
    return allFilled;
}

void
RoundPlanner::FillIdleSlots()
{
    ListUsers();
    uint32_t movesLeft = m_slots.size() * MAX_MOVES_PER_SLOT;
    for (const auto& [key, slot] : m_order)
    {
        if (IsIdle(slot) && movesLeft > 0)
        {
            ++m_attempt;
            m_movesLeft = std::min(movesLeft, MAX_MOVES_FOR_SLOT);
            movesLeft -= m_movesLeft;
            Rearrange(slot, MAX_MOVES_IN_A_ROW);
            movesLeft += m_movesLeft;
        }
    }
}

void
RoundPlanner::ListUsers()
{
    for (std::vector<SlotId>& users : m_users)
    {
        users.clear();
    }
    for (SlotId slot = 0; slot < m_slots.size(); ++slot)
    {
        for (DirectedLinkId link : m_slots[slot].route.links)
        {
            m_users[link].push_back(slot);
        }
    }
}

bool
RoundPlanner::Rearrange(SlotId slot, uint32_t depth)
{
    Route route;
    if (m_search.FindFree(m_slots[slot].link, route))
    {
        Take(slot, route);
        return true;
    }
    if (depth == 0)
    {
        return false;
    }
    m_coming.clear();
    const NodeId server = m_slots[slot].server;
    for (SlotId other = m_firstSlot[server]; other < m_firstSlot[server + 1]; ++other)
    {
        if (!m_slots[other].route.links.empty())
        {
            m_coming.push_back(m_slots[other].route.chunk);
        }
    }
    m_search.FindBlocked(m_slots[slot].link, m_coming, m_blocked[depth]);
    for (BlockedRoute& blocked : m_blocked[depth])
    {
        if (TakeBlocked(slot, blocked, depth))
        {
            return true;
        }
    }
    return false;
}

bool
RoundPlanner::TakeBlocked(SlotId slot, BlockedRoute& blocked, uint32_t depth)
{
    const SlotId other = FindInTheWay(slot, blocked);
    uint32_t& triedIn = blocked.isLinkFull ? m_linkFreedIn[blocked.fullLink] : m_slotMovedIn[other];
    if (m_movesLeft == 0 || triedIn == m_attempt)
    {
        return false;
    }
    triedIn = m_attempt;
    --m_movesLeft;
    Route old;
    Release(other, old);
    Take(slot, blocked.route);
    if (Rearrange(other, depth - 1))
    {
        return true;
    }
    Release(slot, blocked.route);
    Take(other, old);
    return false;
}

RoundPlanner::SlotId
RoundPlanner::FindInTheWay(SlotId slot, const BlockedRoute& blocked) const
{
    if (blocked.isLinkFull)
    {
        return m_users[blocked.fullLink].back();
    }
    SlotId other = m_firstSlot[m_slots[slot].server];
    while (m_slots[other].route.links.empty() || m_slots[other].route.chunk != blocked.route.chunk)
    {
        ++other;
    }
    return other;
}

void
RoundPlanner::Occupy(SlotId slot, Route& route)
{
    std::swap(m_slots[slot].route, route);
    for (DirectedLinkId link : m_slots[slot].route.links)
    {
        --m_free[link];
    }
    m_progress.Send(m_slots[slot].route.chunk, m_slots[slot].server);
}

void
RoundPlanner::Take(SlotId slot, Route& route)
{
    for (DirectedLinkId link : route.links)
    {
        m_users[link].push_back(slot);
    }
    Occupy(slot, route);
}

void
RoundPlanner::Release(SlotId slot, Route& route)
{
    std::swap(m_slots[slot].route, route);
    m_slots[slot].route.links.clear();
    for (DirectedLinkId link : route.links)
    {
        ++m_free[link];
        std::vector<SlotId>& users = m_users[link];
        users.erase(std::find(users.begin(), users.end(), slot));
    }
    m_progress.Recall(route.chunk, m_slots[slot].server);
}

void
RoundPlanner::Commit(WorkloadList& round)
{
    const Topology& topology = *m_problem.topology;
    for (Slot& slot : m_slots)
    {
        if (slot.route.links.empty())
        {
            continue;
        }
        m_path.assign(1, topology.GetSource(slot.route.links.front()));
        for (DirectedLinkId link : slot.route.links)
        {
            m_path.push_back(topology.GetTarget(link));
        }
        round.Add(slot.route.chunk, WorkloadKind::BROADCAST, m_path);
        m_progress.Arrive(slot.route.chunk, slot.server);
        slot.route.links.clear();
    }
    m_free = m_problem.capacity;
}

void
RoundPlanner::Undo(const WorkloadList& round)
{
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        const Workload workload = round.Get(i);
        m_progress.Withdraw(workload.chunk, workload.GetTarget());
        m_progress.Recall(workload.chunk, workload.GetTarget());
    }
}

} // namespace ns3::allreduce
