/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-search.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// So many chunks are moved at once, at most.
constexpr uint32_t MOST_CHUNKS = 3;
/// By so many rounds, at most.
constexpr int32_t MOST_SHIFT = 4;
/// A round counts as much as this price of a path: a sum may come later to spare scarce links.
constexpr uint32_t PRICE_OF_ROUND = 16;
/// How much worse a plan may get, in simulated annealing.
constexpr double ANNEALING_TEMPERATURE = 0.4;

/// See MakeAnnealingSearch.
class AnnealingSearch : public DeliverySearch
{
  public:
    using DeliverySearch::DeliverySearch;

    void Shorten(Timetable& plan, uint32_t enough, uint64_t effort) override
    {
        const uint64_t end = m_effort + effort;
        Timetable current = plan;
        uint32_t beyond = NEVER;
        m_horizon = plan.nRounds + std::max(8U, plan.nRounds / 4);
        m_nWords = (m_horizon + WORD - 1) / WORD;
        while (m_effort < end && plan.nRounds > enough)
        {
            m_next = current;
            ChooseShifts();
            const bool isPlan = PushBackwards();
            m_shifts.assign(m_roots.size(), 0);
            if (!isPlan || !PushBackwards())
            {
                continue;
            }
            const bool isShorter = m_next.nRounds < plan.nRounds;
            const uint32_t nextBeyond =
                CountBeyond((isShorter ? m_next.nRounds : plan.nRounds) - 1);
            if (isShorter || nextBeyond <= beyond ||
                m_random.Unit() < std::exp((double(beyond) - nextBeyond) / ANNEALING_TEMPERATURE))
            {
                beyond = nextBeyond;
                std::swap(current, m_next);
            }
            if (isShorter)
            {
                plan = current;
            }
        }
        if (current.nRounds == plan.nRounds)
        {
            plan = std::move(current);
        }
    }

  private:
    std::vector<DeliveryId> ListDeliveries() const
    {
        std::vector<DeliveryId> deliveries;
        for (uint32_t index = 0; index < m_roots.size() * m_nServers; ++index)
        {
            if (index % m_nServers != m_roots[index / m_nServers])
            {
                deliveries.push_back(2 * index + UP);
                deliveries.push_back(2 * index + DOWN);
            }
        }
        return deliveries;
    }

    /// Choose by how many rounds each chunk is moved.
    void ChooseShifts()
    {
        m_shifts.assign(m_roots.size(), 0);
        for (uint32_t nLeft = 1 + m_random.Below(MOST_CHUNKS); nLeft > 0; --nLeft)
        {
            m_shifts[m_random.Below(m_roots.size())] =
                static_cast<int32_t>(m_random.Below(2 * MOST_SHIFT + 1)) - MOST_SHIFT;
        }
        for (uint32_t i = m_deliveries.size(); i > 1; --i)
        {
            std::swap(m_deliveries[i - 1], m_deliveries[m_random.Below(i)]);
        }
    }

    /// Put the deliveries of m_next in the order of their rounds, moved ones where they belong.
    void SortDeliveries()
    {
        const auto getKey = [this](DeliveryId delivery) {
            const uint32_t index = delivery / 2;
            return m_next.rounds[delivery % 2][index] + MOST_SHIFT + m_shifts[index / m_nServers];
        };
        m_sorter.Sort(m_deliveries, m_next.nRounds + 2 * MOST_SHIFT, getKey);
    }

    /// Push m_next together from its end. @return whether it is not far too long now
    bool PushBackwards()
    {
        Mirror(m_next);
        SortDeliveries();
        m_room.assign(m_capacities.size() * m_nWords, ~uint64_t{0});
        m_used.assign(m_capacities.size() * m_horizon, 0);
        m_ready.assign(m_roots.size() * m_nServers, 0);
        m_next.nRounds = 0;
        for (const DeliveryId delivery : m_deliveries)
        {
            if (!(delivery % 2 == UP ? PlaceUp(delivery / 2) : PlaceDown(delivery / 2)))
            {
                return false;
            }
            m_next.nRounds =
                std::max(m_next.nRounds, m_next.rounds[delivery % 2][delivery / 2] + 1);
        }
        return true;
    }

    /// Send a delivery. @param path over these links
    void Take(PathId path, uint32_t round)
    {
        for (const DirectedLinkId link : m_paths.GetLinks(path))
        {
            if (++m_used[link * m_horizon + round] == m_capacities[link])
            {
                m_room[link * m_nWords + round / WORD] &= ~(uint64_t{1} << (round % WORD));
            }
        }
    }

    /// Place a partial sum. @return whether it has a round
    bool PlaceUp(uint32_t index)
    {
        ++m_effort;
        const PathId path = m_next.paths[UP][index];
        const uint32_t round = FindRoom(m_room, Reverse(path), m_ready[index], m_horizon);
        if (round >= m_horizon)
        {
            return false;
        }
        Take(Reverse(path), round);
        m_next.rounds[UP][index] = round;
        m_ready[index] = NEVER; // until the final sum comes
        uint32_t& parent = m_ready[index - index % m_nServers + m_paths.GetSource(path)];
        parent = std::max(parent, round + 1);
        return true;
    }

    /// Place a final sum. @return whether it has a round
    bool PlaceDown(uint32_t index)
    {
        const NodeId server = index % m_nServers;
        const uint32_t* const ready = &m_ready[index - server];
        PathId bestPath = NO_PATH;
        uint32_t bestRound = m_horizon;
        uint32_t best =
            (m_horizon + 1) * PRICE_OF_ROUND + UINT16_MAX; // when, as a price, and price
        const auto consider = [&](PathId path) {
            const uint32_t earliest = ready[m_paths.GetSource(path)];
            const uint32_t price = m_paths.GetPrice(path);
            if (earliest < m_horizon && earliest * PRICE_OF_ROUND + price < best)
            {
                const uint32_t end =
                    std::min(m_horizon, (best - price + PRICE_OF_ROUND - 1) / PRICE_OF_ROUND);
                const uint32_t round = FindRoom(m_room, path, earliest, end);
                if (round < end)
                {
                    bestPath = path;
                    bestRound = round;
                    best = round * PRICE_OF_ROUND + price;
                }
            }
        };
        ++m_effort;
        consider(m_next.paths[DOWN][index]);
        VisitPathsTo(server, consider);
        if (bestRound >= m_horizon)
        {
            return false;
        }
        Take(bestPath, bestRound);
        m_next.paths[DOWN][index] = bestPath;
        m_next.rounds[DOWN][index] = bestRound;
        m_ready[index] = bestRound + 1;
        return true;
    }

    /// @return how much of m_next lies beyond rounds @param target so many rounds
    uint32_t CountBeyond(uint32_t target) const
    {
        uint32_t beyond = 0;
        for (const DeliveryId delivery : m_deliveries)
        {
            const uint32_t round = m_next.rounds[delivery % 2][delivery / 2];
            beyond += round >= target ? 1 + 2 * (round - target) : 0;
        }
        return beyond;
    }

    Timetable m_next;              //!< the plan that is being tried
    std::vector<int32_t> m_shifts; //!< by chunk: rounds by which it is moved
    std::vector<DeliveryId> m_deliveries{
        ListDeliveries()}; //!< in the order in which they are placed
    DeliverySorter m_sorter;
    std::vector<uint32_t> m_ready; //!< by index: when the server can send what it holds
    uint32_t m_horizon{0};         //!< longer plans are given up
    std::vector<uint64_t> m_room;  //!< by directed link and word: a bit for each round with room
    std::vector<uint32_t> m_used;  //!< by directed link and round
};

} // namespace

std::unique_ptr<DeliverySearch>
MakeAnnealingSearch(const SearchSetting& setting)
{
    return std::make_unique<AnnealingSearch>(setting);
}

} // namespace ns3::allreduce
