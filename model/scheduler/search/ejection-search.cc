/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "delivery-search.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t NO_DELIVERY = UINT32_MAX; //!< no delivery

/// Other deliveries that move about, for each open one that is served.
constexpr uint32_t N_MOVES = 4;
/// A path may be dearer than another one by this price, by chance, and be taken.
constexpr uint32_t PRICE_NOISE = 4;
/// What it costs to eject a delivery, as a price.
constexpr uint32_t EJECTION_PRICE = 2048;
/// A place may be dearer than another one by this price, by chance, and be taken.
constexpr uint32_t EJECTION_NOISE = 512;
/// How many more deliveries may become open, in simulated annealing.
constexpr double EJECTION_TEMPERATURE = 0.3;

/**
 * See MakeEjectionSearch. Here the time of a delivery counts from its half's beginning: down from
 * the first round, up from the last one back. So both halves are trees in which children come later
 * than their parents, and the last reduce comes before the first broadcast of a chunk if the times
 * of any two deliveries from the root, up and down, add up to the number of rounds or more.
 */
class EjectionSearch : public DeliverySearch
{
  public:
    using DeliverySearch::DeliverySearch;

    void Shorten(Timetable& plan, uint32_t enough, uint64_t effort) override
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

  private:
    /// A delivery: its index, plus the number of all indices if it is one down.
    using Delivery = uint32_t;

    /// What was done to a delivery, to be undone.
    struct Change
    {
        Delivery delivery;
        PathId path;   //!< that it had, or NO_PATH if it was open
        uint32_t time; //!< that it had
    };

    /// The best place for a delivery so far.
    struct Choice
    {
        uint32_t price{UINT32_MAX}; //!< of the path, and of what is ejected
        PathId path{NO_PATH};
        uint32_t time{0};
    };

    /// Begin with a plan without its emptiest round. @param plan the plan
    void TakeOutRound(const Timetable& plan)
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
            const PathId path = plan.paths[half][delivery % m_nIndices];
            if (path != NO_PATH)
            {
                m_openAt[delivery] = m_open.size();
                m_open.push_back(delivery);
            }
            if (path != NO_PATH && round != taken)
            {
                Place(delivery, path, GetRound(half, round > taken ? round - 1 : round));
            }
        }
        m_changes.clear();
    }

    /// Give all links room in all rounds. @param nRounds rounds
    void ClearSlots(uint32_t nRounds)
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
        m_slots.assign(nSlots, NO_DELIVERY);
        m_path.assign(2 * m_nIndices, NO_PATH);
        m_time.assign(2 * m_nIndices, 0);
        m_firstChild.assign(2 * m_nIndices, NO_DELIVERY);
        m_nextSibling.assign(2 * m_nIndices, NO_DELIVERY);
        m_previousSibling.assign(2 * m_nIndices, NO_DELIVERY);
        m_open.clear();
        m_openAt.assign(2 * m_nIndices, 0);
    }

    /// @return the plan, when no delivery is open
    Timetable MakePlan() const
    {
        Timetable plan;
        plan.nRounds = m_nRounds;
        for (Delivery delivery = 0; delivery < 2 * m_nIndices; ++delivery)
        {
            const uint32_t half = GetHalf(delivery);
            plan.paths[half].push_back(m_path[delivery]);
            plan.rounds[half].push_back(GetRound(half, m_time[delivery]));
        }
        return plan;
    }

    /// Serve one open delivery, or leave all as it was.
    void Step()
    {
        const std::size_t nOpen = m_open.size();
        const Delivery delivery = m_open[m_random.Below(nOpen)];
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
        if (nMore > 0 && m_random.Unit() >= std::exp(-nMore / EJECTION_TEMPERATURE))
        {
            Undo();
        }
    }

    /// Find another free place for any delivery.
    void MoveAbout()
    {
        const Delivery delivery = m_random.Below(2 * m_nIndices);
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

    /// Place a delivery where nobody is in its way. @return whether there was such a place
    bool PlaceFreely(Delivery delivery)
    {
        const uint32_t half = GetHalf(delivery);
        const Delivery root = GetRoot(delivery);
        const uint32_t rootEarliest = m_nRounds - GetFirstChild(GetOther(root));
        const uint32_t end = GetFirstChild(delivery);
        Choice best;
        VisitPathsTo(delivery % m_nServers, [&](PathId path) {
            const Delivery sender = GetSender(delivery, path);
            if (sender != root && m_path[sender] == NO_PATH)
            {
                return;
            }
            const uint32_t earliest = sender == root ? rootEarliest : m_time[sender] + 1;
            const uint32_t price = m_paths.GetPrice(path) * 8 + m_random.Below(8 * PRICE_NOISE);
            if (earliest < end && price < best.price)
            {
                const uint32_t time = FindRoom(m_room[half], path, earliest, end);
                if (time < end)
                {
                    best = {price, path, time};
                }
            }
        });
        if (best.path != NO_PATH)
        {
            Place(delivery, best.path, best.time);
        }
        return best.path != NO_PATH;
    }

    /// Place a delivery where the fewest are in its way, and eject these. @return whether it is
    bool PlaceByForce(Delivery delivery)
    {
        const Delivery root = GetRoot(delivery);
        CountChildren(delivery, m_nChildren);
        CountChildren(GetOther(root), m_nRootChildren);
        Choice best;
        VisitPathsTo(delivery % m_nServers, [&](PathId path) {
            const Delivery sender = GetSender(delivery, path);
            if (sender == root || m_path[sender] != NO_PATH)
            {
                ChooseTime(delivery, path, sender == root, best);
            }
        });
        if (best.path != NO_PATH)
        {
            Eject(delivery, best.path, best.time);
            Place(delivery, best.path, best.time);
        }
        return best.path != NO_PATH;
    }

    /// Look at all times at which a delivery could be sent over a path.
    /// @param [in,out] best the one at which the fewest are in its way
    void ChooseTime(Delivery delivery, PathId path, bool isFromRoot, Choice& best)
    {
        const uint32_t half = GetHalf(delivery);
        const uint32_t first = isFromRoot ? 0 : m_time[GetSender(delivery, path)] + 1;
        for (uint32_t time = first; time < m_nRounds; ++time)
        {
            ++m_effort;
            uint32_t nEjected = m_nChildren[time];
            nEjected += isFromRoot ? m_nRootChildren[m_nRounds - 1 - time] : 0;
            if (nEjected * EJECTION_PRICE >= best.price)
            {
                continue;
            }
            nEjected += CountFullLinks(path, half, time);
            const uint32_t price =
                nEjected * EJECTION_PRICE + m_paths.GetPrice(path) + m_random.Below(EJECTION_NOISE);
            if (price < best.price)
            {
                best = {price, path, time};
            }
        }
    }

    /// Eject whoever is in the way. @param delivery that is open @param path its @param time its
    void Eject(Delivery delivery, PathId path, uint32_t time)
    {
        m_ejected.clear();
        const auto ejectChildren = [this](Delivery sender, uint32_t last) {
            for (Delivery child = m_firstChild[sender]; child != NO_DELIVERY;
                 child = m_nextSibling[child])
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
                const uint32_t lane = m_random.Below(capacity);
                const Delivery ejected = m_slots[m_firstSlot[link] + round * capacity + lane];
                m_ejected.push_back(ejected);
                Remove(ejected);
            }
        }
    }

    uint32_t CountFullLinks(PathId path, uint32_t half, uint32_t time) const
    {
        uint32_t nFull = 0;
        for (const DirectedLinkId link : m_paths.GetLinks(path))
        {
            const uint64_t room = m_room[half][link * m_nWords + time / WORD];
            nFull += (room >> (time % WORD) & 1) == 0;
        }
        return nFull;
    }

    /// For each time, count the deliveries from a sender until then. @param [out] counts by time
    void CountChildren(Delivery sender, std::vector<uint32_t>& counts) const
    {
        counts.assign(m_nRounds, 0);
        for (Delivery child = m_firstChild[sender]; child != NO_DELIVERY;
             child = m_nextSibling[child])
        {
            ++counts[m_time[child]];
        }
        for (uint32_t time = 1; time < m_nRounds; ++time)
        {
            counts[time] += counts[time - 1];
        }
    }

    /// @return the links over which a delivery is really sent
    PathTable::Links GetUsedLinks(PathId path, uint32_t half) const
    {
        return m_paths.GetLinks(half == DOWN ? path : Reverse(path));
    }

    void Place(Delivery delivery, PathId path, uint32_t time)
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
        m_previousSibling[delivery] = NO_DELIVERY;
        if (first != NO_DELIVERY)
        {
            m_previousSibling[first] = delivery;
        }
        first = delivery;
        const uint32_t place = m_openAt[delivery];
        m_open[place] = m_open.back();
        m_openAt[m_open[place]] = place;
        m_open.pop_back();
    }

    /// Take a delivery away; it is open now.
    void Remove(Delivery delivery)
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
        (previous != NO_DELIVERY ? m_nextSibling[previous]
                                 : m_firstChild[GetSender(delivery, path)]) = next;
        if (next != NO_DELIVERY)
        {
            m_previousSibling[next] = previous;
        }
        m_openAt[delivery] = m_open.size();
        m_open.push_back(delivery);
    }

    /// Take back what was done since m_changes was empty.
    void Undo()
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

    void SetRoom(DirectedLinkId link, uint32_t round, bool hasRoom)
    {
        const auto set = [&](uint32_t half, DirectedLinkId asNamed, uint32_t time) {
            uint64_t& room = m_room[half][asNamed * m_nWords + time / WORD];
            const uint64_t bit = uint64_t{1} << (time % WORD);
            room = hasRoom ? room | bit : room & ~bit;
        };
        set(DOWN, link, round);
        set(UP, Reverse(link), m_nRounds - 1 - round);
    }

    /// @return the time of the first delivery from this server, the number of rounds if none
    uint32_t GetFirstChild(Delivery sender) const
    {
        uint32_t first = m_nRounds;
        for (Delivery child = m_firstChild[sender]; child != NO_DELIVERY;
             child = m_nextSibling[child])
        {
            first = std::min(first, m_time[child]);
        }
        return first;
    }

    uint32_t GetHalf(Delivery delivery) const
    {
        return delivery < m_nIndices ? UP : DOWN;
    }

    /// @return the same chunk's and server's delivery in the other half
    Delivery GetOther(Delivery delivery) const
    {
        return delivery < m_nIndices ? delivery + m_nIndices : delivery - m_nIndices;
    }

    /// @return the root's number in the tree of a delivery
    Delivery GetRoot(Delivery delivery) const
    {
        return delivery - delivery % m_nServers + m_roots[delivery % m_nIndices / m_nServers];
    }

    /// @return the number of who sends it @param path to it
    Delivery GetSender(Delivery delivery, PathId path) const
    {
        return delivery - delivery % m_nServers + m_paths.GetSource(path);
    }

    /// @return the round of a time, or the time of a round
    uint32_t GetRound(uint32_t half, uint32_t time) const
    {
        return half == DOWN ? time : m_nRounds - 1 - time;
    }

    /// Chunks times servers.
    const uint32_t m_nIndices{static_cast<uint32_t>(m_roots.size() * m_nServers)};
    uint32_t m_nRounds{0}; //!< rounds hoped for

    std::vector<PathId> m_path;              //!< by delivery: NO_PATH if it is open
    std::vector<uint32_t> m_time;            //!< by delivery
    std::vector<Delivery> m_firstChild;      //!< by sender: one of those it sends
    std::vector<Delivery> m_nextSibling;     //!< by delivery: another one of its sender
    std::vector<Delivery> m_previousSibling; //!< by delivery: the one before
    std::vector<Delivery> m_open;            //!< those without a place
    std::vector<uint32_t> m_openAt;          //!< by delivery: where it is in m_open
    std::vector<Change> m_changes;           //!< to be undone

    std::array<std::vector<uint64_t>, 2> m_room; //!< by half: by link and word: bits by time
    std::vector<uint32_t> m_firstSlot;           //!< by directed link: in m_slots
    std::vector<Delivery> m_slots;               //!< by directed link, round and lane
    std::vector<uint32_t> m_used;                //!< by directed link and round: lanes

    std::vector<uint32_t> m_nChildren;     //!< see CountChildren: of the delivery being placed
    std::vector<uint32_t> m_nRootChildren; //!< of the root in the other half
    std::vector<Delivery> m_ejected;       //!< by the last force
};

} // namespace

std::unique_ptr<DeliverySearch>
MakeEjectionSearch(const SearchSetting& setting)
{
    return std::make_unique<EjectionSearch>(setting);
}

} // namespace ns3::allreduce
