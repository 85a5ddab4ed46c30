/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ejection-search.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

namespace
{

constexpr PathId NO_PATH = UINT32_MAX;  //!< that of an open delivery
constexpr uint32_t NOBODY = UINT32_MAX; //!< no delivery
constexpr uint32_t WORD = 64;           //!< times that share a word of bits

/// Of the paths to a server, so many are looked at.
constexpr uint32_t MOST_PATHS = 64;
/// Other deliveries that move about, for each open one that is served.
constexpr uint32_t N_MOVES = 4;
/// A path may be dearer than another one by this price, by chance, and be taken.
constexpr uint32_t PRICE_NOISE = 4;
/// What it costs to eject a delivery, as a price.
constexpr uint32_t EJECTION_PRICE = 2048;
/// A place may be dearer than another one by this price, by chance, and be taken.
constexpr uint32_t EJECTION_NOISE = 512;
/// How many more deliveries may become open, in simulated annealing.
constexpr double TEMPERATURE = 0.3;

} // namespace

EjectionSearch::EjectionSearch(const Topology& topology,
                               const std::vector<NodeId>& roots,
                               const DeliveryPaths& paths,
                               uint64_t seed)
    : m_roots(roots),
      m_paths(paths),
      m_nServers(topology.GetNServers()),
      m_nIndices(roots.size() * m_nServers),
      m_capacities(topology.GetCapacities()),
      m_random(seed)
{
}

void
EjectionSearch::Shorten(DeliveryPlan& plan, uint32_t enough, uint64_t effort)
{
    const uint64_t end = m_effort + effort;
    while (plan.nRounds > enough && m_effort < end)
    {
        TakeOutRound(plan);
        while (!m_open.empty() && m_effort < end)
        {
            Step();
            for (uint32_t i = 0; i < N_MOVES; ++i)
            {
                MoveAbout();
            }
        }
        if (m_open.empty())
        {
            plan = MakePlan();
        }
    }
}

void
EjectionSearch::TakeOutRound(const DeliveryPlan& plan)
{
    std::vector<uint32_t> nSent(plan.nRounds, 0);
    for (Delivery delivery = 0; delivery < 2 * m_nIndices; ++delivery)
    {
        if (delivery != GetRoot(delivery))
        {
            ++nSent[plan.rounds[GetHalf(delivery)][delivery % m_nIndices]];
        }
    }
    const uint32_t taken = std::min_element(nSent.begin(), nSent.end()) - nSent.begin();
    ClearSlots(plan.nRounds - 1);
    for (Delivery delivery = 0; delivery < 2 * m_nIndices; ++delivery)
    {
        const uint32_t half = GetHalf(delivery);
        const uint32_t round = plan.rounds[half][delivery % m_nIndices];
        if (delivery == GetRoot(delivery))
        {
            continue;
        }
        m_openAt[delivery] = m_open.size();
        m_open.push_back(delivery);
        if (round != taken)
        {
            Place(delivery,
                  plan.paths[half][delivery % m_nIndices],
                  GetRound(half, round > taken ? round - 1 : round));
        }
    }
    m_changes.clear();
}

void
EjectionSearch::ClearSlots(uint32_t nRounds)
{
    m_nRounds = nRounds;
    m_nWords = (nRounds + WORD - 1) / WORD;
    const uint32_t nLinks = m_capacities.size();
    m_room.fill(std::vector<uint64_t>(nLinks * m_nWords, ~uint64_t{0}));
    m_used.assign(nLinks * nRounds, 0);
    m_firstSlot.clear();
    uint32_t nSlots = 0;
    for (DirectedLinkId link = 0; link < nLinks; ++link)
    {
        m_firstSlot.push_back(nSlots);
        nSlots += nRounds * m_capacities[link];
    }
    m_slots.assign(nSlots, NOBODY);
    m_path.assign(2 * m_nIndices, NO_PATH);
    m_time.assign(2 * m_nIndices, 0);
    m_firstChild.assign(2 * m_nIndices, NOBODY);
    m_nextSibling.assign(2 * m_nIndices, NOBODY);
    m_previousSibling.assign(2 * m_nIndices, NOBODY);
    m_open.clear();
    m_openAt.assign(2 * m_nIndices, 0);
}

DeliveryPlan
EjectionSearch::MakePlan() const
{
    DeliveryPlan plan;
    plan.nRounds = m_nRounds;
    for (Delivery delivery = 0; delivery < 2 * m_nIndices; ++delivery)
    {
        const uint32_t half = GetHalf(delivery);
        const bool isRoot = delivery == GetRoot(delivery);
        plan.paths[half].push_back(isRoot ? 0 : m_path[delivery]);
        plan.rounds[half].push_back(GetRound(half, m_time[delivery]));
    }
    return plan;
}

void
EjectionSearch::Step()
{
    const std::size_t nOpen = m_open.size();
    const Delivery delivery = m_open[m_random.DrawBelow(nOpen)];
    m_changes.clear();
    if (PlaceFreely(delivery) || !PlaceByForce(delivery))
    {
        return;
    }
    for (const Delivery ejected : m_ejected)
    {
        PlaceFreely(ejected);
    }
    const double nMore = static_cast<double>(m_open.size()) - static_cast<double>(nOpen);
    if (nMore > 0 && m_random.DrawUnit() >= std::exp(-nMore / TEMPERATURE))
    {
        Undo();
    }
}

void
EjectionSearch::MoveAbout()
{
    const Delivery delivery = m_random.DrawBelow(2 * m_nIndices);
    if (m_path[delivery] == NO_PATH)
    {
        return;
    }
    m_changes.clear();
    Remove(delivery);
    if (!PlaceFreely(delivery))
    {
        Undo();
    }
}

bool
EjectionSearch::PlaceFreely(Delivery delivery)
{
    const uint32_t half = GetHalf(delivery);
    const Delivery root = GetRoot(delivery);
    const uint32_t rootEarliest = m_nRounds - GetFirstChild(GetOther(root));
    const uint32_t end = GetFirstChild(delivery);
    const std::vector<PathId>& pathsTo = m_paths.GetPathsTo(delivery % m_nServers);
    const uint32_t nPaths = std::min<uint32_t>(pathsTo.size(), MOST_PATHS);
    uint32_t next = m_random.DrawBelow(pathsTo.size());
    uint32_t best = UINT32_MAX;
    PathId bestPath = NO_PATH;
    uint32_t bestTime = 0;
    m_effort += nPaths;
    for (uint32_t nTried = 0; nTried < nPaths; ++nTried)
    {
        const PathId path = pathsTo[next];
        next = next + 1 < pathsTo.size() ? next + 1 : 0;
        const Delivery sender = GetSender(delivery, path);
        if (sender != root && m_path[sender] == NO_PATH)
        {
            continue;
        }
        const uint32_t earliest = sender == root ? rootEarliest : m_time[sender] + 1;
        const uint32_t price = m_paths.GetPrice(path) * 8 + m_random.DrawBelow(8 * PRICE_NOISE);
        if (earliest < end && price < best)
        {
            const uint32_t time = FindTime(path, half, earliest, end);
            if (time < end)
            {
                best = price;
                bestPath = path;
                bestTime = time;
            }
        }
    }
    if (bestPath == NO_PATH)
    {
        return false;
    }
    Place(delivery, bestPath, bestTime);
    return true;
}

bool
EjectionSearch::PlaceByForce(Delivery delivery)
{
    const uint32_t half = GetHalf(delivery);
    const Delivery root = GetRoot(delivery);
    CountChildren(delivery, m_nChildren);
    CountChildren(GetOther(root), m_nRootChildren);
    const std::vector<PathId>& pathsTo = m_paths.GetPathsTo(delivery % m_nServers);
    const uint32_t nPaths = std::min<uint32_t>(pathsTo.size(), MOST_PATHS);
    uint32_t next = m_random.DrawBelow(pathsTo.size());
    uint32_t best = UINT32_MAX;
    PathId bestPath = NO_PATH;
    uint32_t bestTime = 0;
    for (uint32_t nTried = 0; nTried < nPaths; ++nTried)
    {
        const PathId path = pathsTo[next];
        next = next + 1 < pathsTo.size() ? next + 1 : 0;
        const Delivery sender = GetSender(delivery, path);
        ++m_effort;
        if (sender != root && m_path[sender] == NO_PATH)
        {
            continue;
        }
        for (uint32_t time = sender == root ? 0 : m_time[sender] + 1; time < m_nRounds; ++time)
        {
            ++m_effort;
            uint32_t nEjected = m_nChildren[time];
            nEjected += sender == root ? m_nRootChildren[m_nRounds - 1 - time] : 0;
            if (nEjected * EJECTION_PRICE >= best)
            {
                continue;
            }
            nEjected += CountFullLinks(path, half, time);
            const uint32_t price = nEjected * EJECTION_PRICE + m_paths.GetPrice(path) +
                                   m_random.DrawBelow(EJECTION_NOISE);
            if (price < best)
            {
                best = price;
                bestPath = path;
                bestTime = time;
            }
        }
    }
    if (bestPath == NO_PATH)
    {
        return false;
    }
    ClearWay(delivery, bestPath, bestTime);
    Place(delivery, bestPath, bestTime);
    return true;
}

void
EjectionSearch::ClearWay(Delivery delivery, PathId path, uint32_t time)
{
    m_ejected.clear();
    const auto ejectChildren = [this](Delivery sender, uint32_t last) {
        for (Delivery child = m_firstChild[sender]; child != NOBODY; child = m_nextSibling[child])
        {
            if (m_time[child] <= last)
            {
                m_ejected.push_back(child);
            }
        }
    };
    ejectChildren(delivery, time);
    const Delivery root = GetRoot(delivery);
    if (GetSender(delivery, path) == root)
    {
        ejectChildren(GetOther(root), m_nRounds - 1 - time);
    }
    for (const Delivery ejected : m_ejected)
    {
        Remove(ejected);
    }
    const uint32_t half = GetHalf(delivery);
    const uint32_t round = GetRound(half, time);
    for (const DirectedLinkId link : GetUsedLinks(path, half))
    {
        const uint32_t capacity = m_capacities[link];
        if (m_used[link * m_nRounds + round] == capacity)
        {
            const uint32_t lane = m_random.DrawBelow(capacity);
            const Delivery ejected = m_slots[m_firstSlot[link] + round * capacity + lane];
            m_ejected.push_back(ejected);
            Remove(ejected);
        }
    }
}

uint32_t
EjectionSearch::CountFullLinks(PathId path, uint32_t half, uint32_t time) const
{
    uint32_t nFull = 0;
    for (const DirectedLinkId link : m_paths.GetLinks(path))
    {
        const uint64_t room = m_room[half][link * m_nWords + time / WORD];
        nFull += (room >> (time % WORD) & 1) == 0;
    }
    return nFull;
}

void
EjectionSearch::CountChildren(Delivery sender, std::vector<uint32_t>& counts) const
{
    counts.assign(m_nRounds, 0);
    for (Delivery child = m_firstChild[sender]; child != NOBODY; child = m_nextSibling[child])
    {
        ++counts[m_time[child]];
    }
    for (uint32_t time = 1; time < m_nRounds; ++time)
    {
        counts[time] += counts[time - 1];
    }
}

void
EjectionSearch::Place(Delivery delivery, PathId path, uint32_t time)
{
    m_changes.push_back({delivery, NO_PATH, 0});
    m_path[delivery] = path;
    m_time[delivery] = time;
    const uint32_t half = GetHalf(delivery);
    const uint32_t round = GetRound(half, time);
    for (const DirectedLinkId link : GetUsedLinks(path, half))
    {
        const uint32_t capacity = m_capacities[link];
        uint32_t& used = m_used[link * m_nRounds + round];
        m_slots[m_firstSlot[link] + round * capacity + used] = delivery;
        if (++used == capacity)
        {
            SetRoom(link, round, false);
        }
    }
    Delivery& first = m_firstChild[GetSender(delivery, path)];
    m_nextSibling[delivery] = first;
    m_previousSibling[delivery] = NOBODY;
    if (first != NOBODY)
    {
        m_previousSibling[first] = delivery;
    }
    first = delivery;
    const uint32_t place = m_openAt[delivery];
    m_open[place] = m_open.back();
    m_openAt[m_open[place]] = place;
    m_open.pop_back();
}

void
EjectionSearch::Remove(Delivery delivery)
{
    const PathId path = m_path[delivery];
    m_changes.push_back({delivery, path, m_time[delivery]});
    m_path[delivery] = NO_PATH;
    const uint32_t half = GetHalf(delivery);
    const uint32_t round = GetRound(half, m_time[delivery]);
    for (const DirectedLinkId link : GetUsedLinks(path, half))
    {
        uint32_t& used = m_used[link * m_nRounds + round];
        Delivery* const slots = &m_slots[m_firstSlot[link] + round * m_capacities[link]];
        *std::find(slots, slots + used, delivery) = slots[used - 1];
        --used;
        SetRoom(link, round, true);
    }
    const Delivery next = m_nextSibling[delivery];
    const Delivery previous = m_previousSibling[delivery];
    (previous != NOBODY ? m_nextSibling[previous] : m_firstChild[GetSender(delivery, path)]) = next;
    if (next != NOBODY)
    {
        m_previousSibling[next] = previous;
    }
    m_openAt[delivery] = m_open.size();
    m_open.push_back(delivery);
}

void
EjectionSearch::Undo()
{
    for (std::size_t i = m_changes.size(); i > 0; --i)
    {
        const Change change = m_changes[i - 1];
        if (change.path == NO_PATH)
        {
            Remove(change.delivery);
        }
        else
        {
            Place(change.delivery, change.path, change.time);
        }
    }
}

void
EjectionSearch::SetRoom(DirectedLinkId link, uint32_t round, bool hasRoom)
{
    const auto set = [&](uint32_t half, DirectedLinkId asNamed, uint32_t time) {
        uint64_t& room = m_room[half][asNamed * m_nWords + time / WORD];
        const uint64_t bit = uint64_t{1} << (time % WORD);
        room = hasRoom ? room | bit : room & ~bit;
    };
    set(DOWN, link, round);
    set(UP, Reverse(link), m_nRounds - 1 - round);
}

uint32_t
EjectionSearch::FindTime(PathId path, uint32_t half, uint32_t earliest, uint32_t end) const
{
    uint64_t possible = ~uint64_t{0} << (earliest % WORD);
    for (uint32_t word = earliest / WORD; word * WORD < end; ++word)
    {
        for (const DirectedLinkId link : m_paths.GetLinks(path))
        {
            possible &= m_room[half][link * m_nWords + word];
        }
        if (possible != 0)
        {
            return std::min<uint32_t>(end, word * WORD + __builtin_ctzll(possible));
        }
        possible = ~uint64_t{0};
    }
    return end;
}

uint32_t
EjectionSearch::GetFirstChild(Delivery sender) const
{
    uint32_t first = m_nRounds;
    for (Delivery child = m_firstChild[sender]; child != NOBODY; child = m_nextSibling[child])
    {
        first = std::min(first, m_time[child]);
    }
    return first;
}

} // namespace ns3::allreduce
