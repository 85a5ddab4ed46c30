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

constexpr uint32_t NEVER = UINT32_MAX; //!< a round that does not come

/// So many chunks are moved at once, at most.
constexpr uint32_t MOST_CHUNKS = 3;
/// By so many rounds, at most.
constexpr int32_t MOST_SHIFT = 4;
/// A round counts as much as this price of a path: a sum may come later to spare scarce links.
constexpr uint32_t PRICE_OF_ROUND = 16;
/// How much worse a plan may get, in simulated annealing.
constexpr double TEMPERATURE = 0.4;

/// See MakeAnnealingSearch.
class AnnealingSearch : public DeliverySearch
{
  public:
    using DeliverySearch::DeliverySearch;

    void Shorten(DeliveryPlan& plan, uint32_t enough, uint64_t effort) override
    {
        const uint64_t end = m_effort + effort;
        DeliveryPlan current = plan;
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
                DrawUnit() < std::exp((double(beyond) - nextBeyond) / TEMPERATURE))
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
    /// A delivery: twice its index, plus its half.
    using Task = uint32_t;

    /// @return all deliveries
    std::vector<Task> ListTasks() const
    {
        std::vector<Task> tasks;
        for (uint32_t index = 0; index < m_roots.size() * m_nServers; ++index)
        {
            if (index % m_nServers != m_roots[index / m_nServers])
            {
                tasks.push_back(2 * index + UP);
                tasks.push_back(2 * index + DOWN);
            }
        }
        return tasks;
    }

    /// Choose by how many rounds each chunk is moved.
    void ChooseShifts()
    {
        m_shifts.assign(m_roots.size(), 0);
        for (uint32_t nLeft = 1 + DrawBelow(MOST_CHUNKS); nLeft > 0; --nLeft)
        {
            m_shifts[DrawBelow(m_roots.size())] =
                static_cast<int32_t>(DrawBelow(2 * MOST_SHIFT + 1)) - MOST_SHIFT;
        }
        for (uint32_t i = m_tasks.size(); i > 1; --i)
        {
            std::swap(m_tasks[i - 1], m_tasks[DrawBelow(i)]);
        }
    }

    /// Put the deliveries of m_next in the order of their rounds, moved ones where they belong.
    void SortTasks()
    {
        const auto getKey = [this](Task task) {
            const uint32_t index = task / 2;
            return m_next.rounds[task % 2][index] + MOST_SHIFT + m_shifts[index / m_nServers];
        };
        m_first.assign(m_next.nRounds + 2 * MOST_SHIFT + 1, 0);
        for (const Task task : m_tasks)
        {
            ++m_first[getKey(task) + 1];
        }
        for (std::size_t key = 1; key < m_first.size(); ++key)
        {
            m_first[key] += m_first[key - 1];
        }
        m_sorted.resize(m_tasks.size());
        for (const Task task : m_tasks)
        {
            m_sorted[m_first[getKey(task)]++] = task;
        }
        std::swap(m_tasks, m_sorted);
    }

    /// Push m_next together from its end. @return whether it is not far too long now
    bool PushBackwards()
    {
        Mirror(m_next);
        SortTasks();
        m_room.assign(m_capacities.size() * m_nWords, ~uint64_t{0});
        m_used.assign(m_capacities.size() * m_horizon, 0);
        m_ready.assign(m_roots.size() * m_nServers, 0);
        m_next.nRounds = 0;
        for (const Task task : m_tasks)
        {
            if (!(task % 2 == UP ? PlaceUp(task / 2) : PlaceDown(task / 2)))
            {
                return false;
            }
            m_next.nRounds = std::max(m_next.nRounds, m_next.rounds[task % 2][task / 2] + 1);
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
        const std::vector<PathId>& pathsTo = m_paths.GetPathsTo(server);
        const uint32_t nPaths = std::min<uint32_t>(pathsTo.size(), MOST_PATHS);
        uint32_t next = DrawBelow(pathsTo.size());
        PathId path = m_next.paths[DOWN][index];
        PathId bestPath = path;
        uint32_t bestRound = m_horizon;
        uint32_t best =
            (m_horizon + 1) * PRICE_OF_ROUND + UINT16_MAX; // when, as a price, and price
        m_effort += 1 + nPaths;
        for (uint32_t nTried = 0; nTried <= nPaths; ++nTried)
        {
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
            path = pathsTo[next];
            next = next + 1 < pathsTo.size() ? next + 1 : 0;
        }
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
        for (const Task task : m_tasks)
        {
            const uint32_t round = m_next.rounds[task % 2][task / 2];
            beyond += round >= target ? 1 + 2 * (round - target) : 0;
        }
        return beyond;
    }

    DeliveryPlan m_next;                    //!< the plan that is being tried
    std::vector<int32_t> m_shifts;          //!< by chunk: rounds by which it is moved
    std::vector<Task> m_tasks{ListTasks()}; //!< all, in the order in which they are placed
    std::vector<Task> m_sorted;             //!< to sort them
    std::vector<uint32_t> m_first;          //!< to sort them: by key: where its tasks begin
    std::vector<uint32_t> m_ready;          //!< by index: when the server can send what it holds
    uint32_t m_horizon{0};                  //!< longer plans are given up
    std::vector<uint64_t> m_room; //!< by directed link and word: a bit for each round with room
    std::vector<uint32_t> m_used; //!< by directed link and round
};

} // namespace

std::unique_ptr<DeliverySearch>
MakeAnnealingSearch(const SearchSetting& setting)
{
    return std::make_unique<AnnealingSearch>(setting);
}

} // namespace ns3::allreduce
