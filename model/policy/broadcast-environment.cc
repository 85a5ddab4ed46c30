/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "broadcast-environment.h"

#include "ns3/broadcast-relays.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// @return limits for all chunks, and for all rounds before the last of them is final
BroadcastLimits
Complete(BroadcastLimits limits, std::size_t nLinks, uint32_t nChunks)
{
    uint32_t nRounds = limits.taken.size();
    for (const uint32_t round : limits.firstRounds)
    {
        nRounds = std::max(nRounds, round);
    }
    limits.taken.resize(nRounds, std::vector<uint32_t>(nLinks, 0));
    limits.firstRounds.resize(nChunks, 0);
    return limits;
}

} // namespace

BroadcastEnvironment::BroadcastEnvironment(const BroadcastProblem& problem,
                                           BroadcastLimits limits,
                                           bool isStaggered)
    : PlanningEnvironment(*problem.topology, problem.capacity, problem.nChunks, PlanMode::MIRRORED),
      m_limits(Complete(std::move(limits), m_capacity.size(), m_nChunks)),
      m_regions(*problem.topology, m_capacity, problem.nChunks),
      m_isBegun(m_nChunks, !isStaggered),
      m_held(problem.holders),
      m_initial(problem.holders),
      m_spread(m_around, m_nChunks),
      m_nHolders(m_spread.GetCounts()),
      m_widest(*std::max_element(m_around.inCapacity.begin(), m_around.inCapacity.end())),
      m_nothing(m_active.size(), 0)
{
    const BitMatrix receivers = FindReceivers(problem);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
        {
            const bool isHeld = m_held.Test(server, chunk);
            if (!isHeld && receivers.Test(server, chunk))
            {
                ++m_inNeed[server];
                continue;
            }
            AddHolder(server, chunk);
            if (isHeld)
            {
                m_spread.Cover(server, chunk);
                m_regions.Bring(server, chunk);
            }
        }
        m_nTransfersLeft += m_inNeed[server];
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
        {
            if (!m_spread.IsHolder(server, chunk))
            {
                m_regions.Want(server, chunk);
            }
        }
    }
    FindTaken();
    FindNarrow();
    FindTurns();
    m_target = GetRoundsNeeded();
    m_firstTarget = m_target;
    m_shareOfWork = Share(m_nTransfersLeft, double(m_totalInCapacity) * m_target);
}

void
BroadcastEnvironment::FindNarrow()
{
    const uint32_t needed = GetRoundsNeeded();
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_isNarrow.push_back(CountRoundsToReceive(server) == needed);
    }
}

void
BroadcastEnvironment::FindTurns()
{
    // Narrow roots first: their sums, if they were final early, could not leave them. Of these the
    // first chunk of each, then the second of each, ...
    std::vector<uint32_t> nOfServer(m_nServers, 0);
    std::vector<std::tuple<bool, uint32_t, NodeId>> keys;
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        NodeId root = 0;
        while (root + 1 < m_nServers && !m_initial.Test(root, chunk))
        {
            ++root;
        }
        keys.emplace_back(!m_isNarrow[root], nOfServer[root]++, root);
        m_nNarrowRoots += m_isNarrow[root];
        m_roots.push_back(root);
        m_turns.push_back(chunk);
    }
    std::sort(m_turns.begin(), m_turns.end(), [&](ChunkId x, ChunkId y) {
        return keys[x] < keys[y];
    });
    m_place.resize(m_nChunks);
    for (uint32_t place = 0; place < m_nChunks; ++place)
    {
        m_place[m_turns[place]] = place;
    }
}

void
BroadcastEnvironment::FindTaken()
{
    for (const std::vector<uint32_t>& round : m_limits.taken)
    {
        m_inTaken.emplace_back(m_nServers, 0);
        for (DirectedLinkId link = 0; link < round.size(); ++link)
        {
            const NodeId target = m_topology.GetTarget(link);
            if (m_topology.IsServer(target))
            {
                m_inTaken.back()[target] += round[link];
            }
        }
    }
}

void
BroadcastEnvironment::AddHolder(NodeId server, ChunkId chunk)
{
    m_refused.Set(server, chunk);
    m_spread.AddHolder(server, chunk);
    m_rarity[chunk] = m_nHolders[chunk];
}

uint64_t
BroadcastEnvironment::GetNTransfersLeft() const
{
    return m_nTransfersLeft;
}

std::vector<uint32_t>
BroadcastEnvironment::CountLackingByRound(NodeId server) const
{
    std::vector<uint32_t> counts(m_limits.taken.size() + 1, 0);
    for (ChunkId chunk = 0; chunk < m_limits.firstRounds.size(); ++chunk)
    {
        counts[m_limits.firstRounds[chunk]] += !m_spread.IsHolder(server, chunk);
    }
    return counts;
}

uint32_t
BroadcastEnvironment::CountRoundsToReceive(NodeId server) const
{
    const uint32_t capacity = m_around.inCapacity[server];
    uint32_t need = m_inNeed[server];
    uint32_t round = m_round;
    if (need > 0 && round < m_limits.taken.size())
    {
        const std::vector<uint32_t> byRound = CountLackingByRound(server);
        uint32_t nFinal = std::accumulate(byRound.begin(), byRound.begin() + round, 0U);
        for (; need > 0 && round < m_limits.taken.size(); ++round)
        {
            nFinal += byRound[round];
            const uint32_t nReceived = std::min(nFinal, capacity - m_inTaken[round][server]);
            nFinal -= nReceived;
            need -= nReceived;
        }
    }
    return round - m_round + (need > 0 ? (need + capacity - 1) / capacity : 0);
}

uint32_t
BroadcastEnvironment::GetRoundsNeeded() const
{
    uint32_t rounds = m_round;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        rounds = std::max(rounds, m_round + CountRoundsToReceive(server));
    }
    return rounds;
}

void
BroadcastEnvironment::TakeStock()
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        std::copy_n(m_held.GetRow(server), m_held.GetRowWords(), m_sendable.GetRow(server));
    }
    MakeRoom();
    FindLost();
    m_nHoldersBefore = m_nHolders;
    m_nLeftBefore = m_nTransfersLeft;
    double sum = 0;
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        sum += m_nHolders[chunk];
    }
    m_meanHolders = sum / m_nChunks;
    FindSelectable();
}

void
BroadcastEnvironment::MakeRoom()
{
    const uint32_t round = m_round - 1;
    if (round < m_limits.taken.size())
    {
        for (DirectedLinkId link = 0; link < m_free.size(); ++link)
        {
            m_free[link] -= m_limits.taken[round][link];
        }
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            m_nOpen[server] -= m_inTaken[round][server];
        }
    }
    for (ChunkId chunk = 0; chunk < m_limits.firstRounds.size(); ++chunk)
    {
        for (NodeId server = 0; round < m_limits.firstRounds[chunk] && server < m_nServers;
             ++server)
        {
            m_sendable.Clear(server, chunk);
        }
    }
}

void
BroadcastEnvironment::FindLost()
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_lostLater[server] = m_round <= m_limits.taken.size() ? CountLostLater(server) : 0;
    }
}

int64_t
BroadcastEnvironment::CountLostLater(NodeId server) const
{
    const int64_t capacity = m_around.inCapacity[server];
    const std::vector<uint32_t> byRound = CountLackingByRound(server);
    int64_t nTaken = 0;    // in the rounds after this one
    int64_t nPossible = 0; // receives in these rounds
    int64_t nLate = 0;     // chunks that are final only then
    int64_t slackLater = std::numeric_limits<int64_t>::max();
    for (uint32_t round = m_target; round-- > m_round;)
    {
        const int64_t taken = round < m_limits.taken.size() ? m_inTaken[round][server] : 0;
        nTaken += taken;
        nPossible += capacity - taken;
        nLate += round < byRound.size() ? byRound[round] : 0;
        // What is final only from this round on has to come from this round on.
        slackLater = std::min(slackLater, nPossible - nLate);
    }
    const int64_t slack = nPossible + m_nOpen[server] - m_inNeed[server];
    return nTaken + std::max<int64_t>(0, slack - slackLater);
}

void
BroadcastEnvironment::FindSelectable()
{
    for (const ChunkId chunk : m_selectable)
    {
        m_isBegun[chunk] = m_isSelected[chunk];
    }
    m_selectable.clear();
    for (const ChunkId chunk : m_turns)
    {
        if (!m_isBegun[chunk] && m_nHolders[chunk] < m_nServers)
        {
            m_selectable.push_back(chunk);
        }
        m_isSelected[chunk] = true;
    }
}

bool
BroadcastEnvironment::IsReceiving(NodeId server) const
{
    return NeedsMore(server);
}

bool
BroadcastEnvironment::IsTreeWaiting() const
{
    return std::any_of(m_selectable.begin(), m_selectable.end(), [&](ChunkId chunk) {
        return !m_isSelected[chunk];
    });
}

const std::vector<uint64_t>&
BroadcastEnvironment::GetOffered(NodeId sender, NodeId receiver) const
{
    if (m_sparing == Sparing::NOTHING || !m_isNarrow[sender] ||
        m_around.direct.Test(receiver, sender))
    {
        return m_active;
    }
    if (m_sparing == Sparing::WHERE_TIME_IS_LEFT)
    {
        return GetSlack(receiver) > 0 ? m_nothing : m_active;
    }
    return m_isNarrow[receiver] ? m_nothing : m_unique;
}

bool
BroadcastEnvironment::OfferFirst()
{
    m_sparing = IsTreeWaiting() ? Sparing::NEARLY_ALL : Sparing::NOTHING;
    if (m_sparing == Sparing::NOTHING)
    {
        return OfferSomething();
    }
    return Offer(true, 0) || OfferMore();
}

bool
BroadcastEnvironment::OfferSomething()
{
    if (Offer(true, 0) || m_selectable.empty())
    {
        return !m_openPorts.empty();
    }
    // Nothing is left to do in the trees that have been begun.
    m_isSelected[m_selectable.front()] = true;
    return Offer(true, 0) || Offer(false, 0);
}

bool
BroadcastEnvironment::IsDue(uint32_t tree, const Stagger& stagger) const
{
    const double time = (m_round - 1.0) / m_firstTarget;
    const uint32_t place = m_place[m_selectable[tree]];
    if (stagger.wideFrom > 0 && place >= m_nNarrowRoots)
    {
        return time >= stagger.wideFrom;
    }
    const uint32_t nTrees = stagger.wideFrom > 0 ? m_nNarrowRoots : m_nChunks;
    return place < nTrees * (stagger.atOnce + stagger.rate * time);
}

bool
BroadcastEnvironment::OfferMore()
{
    if (m_sparing == Sparing::NEARLY_ALL)
    {
        m_sparing = Sparing::WHERE_TIME_IS_LEFT;
        if (Offer(true, 0))
        {
            return true;
        }
    }
    if (m_sparing == Sparing::WHERE_TIME_IS_LEFT && m_nTransfersLeft == m_nLeftBefore)
    {
        m_sparing = Sparing::NOTHING;
        return OfferSomething();
    }
    return false;
}

bool
BroadcastEnvironment::MayWait() const
{
    return m_round <= m_limits.taken.size();
}

void
BroadcastEnvironment::WriteTreeFeatures(std::vector<float>& rows) const
{
    NodeId neediest = 0;
    uint32_t most = 0;
    uint32_t nWithout = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const uint32_t needed = CountRoundsToReceive(server);
        neediest = needed > most ? server : neediest;
        most = std::max(most, needed);
        nWithout += GetSlack(server) <= 0;
    }
    uint32_t nBegun = 0;
    uint32_t nBegunOfNarrow = 0;
    uint32_t nUnderWay = 0;
    uint32_t nForNeediest = 0;
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        const bool isComplete = m_nHolders[chunk] == m_nServers;
        nBegun += m_isBegun[chunk] || isComplete;
        nBegunOfNarrow += m_isNarrow[m_roots[chunk]] && (m_isBegun[chunk] || isComplete);
        nUnderWay += m_isBegun[chunk] && !isComplete;
        nForNeediest += m_isBegun[chunk] && !m_spread.IsHolder(neediest, chunk);
    }
    const float time = Share(m_round - 1, m_firstTarget);
    rows.clear();
    for (const ChunkId chunk : m_selectable)
    {
        const NodeId root = m_roots[chunk];
        const float place = Share(m_place[chunk], m_nChunks);
        const float features[] = {
            place,
            time,
            4 * (time - place),
            Share(nBegun, m_nChunks),
            Share(nUnderWay, m_nChunks),
            std::min(nForNeediest, 16U) / 16.0F,
            Share(nForNeediest, m_nChunks),
            static_cast<float>(m_shareOfWork),
            std::log2(static_cast<float>(m_nServers)) / 7,
            std::log2(1 + Share(m_nChunks, m_nServers)) / 2,
            m_totalInCapacity / static_cast<float>(m_nServers) / 4,
            Share(m_around.inCapacity[root], m_widest),
            m_isNarrow[root] ? 1.0F : 0.0F,
            GetSlack(neediest),
            Share(nWithout, m_nServers),
            Share(m_nNarrowRoots, m_nChunks),
            Share(nBegunOfNarrow, m_nNarrowRoots),
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

std::vector<float>
BroadcastEnvironment::MakeValueFeatures() const
{
    float sumSlack = 0;
    float leastSlack = 1;
    uint32_t nWithout = 0;
    uint32_t nNegative = 0;
    uint32_t nClosed = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const float slack = GetSlack(server);
        sumSlack += slack;
        leastSlack = std::min(leastSlack, slack);
        nWithout += slack <= 0;
        nNegative += slack < 0;
    }
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        nClosed += !m_isOpen[port] && NeedsMore(m_around.ports[port].server);
    }
    double variance = 0;
    for (const uint32_t holders : m_nHolders)
    {
        variance += (holders - m_meanHolders) * (holders - m_meanHolders) / m_nChunks;
    }
    const float n = m_nServers;
    return {
        Share(m_round, m_target),
        Share(m_nTransfersLeft, double(m_nServers) * m_nChunks),
        sumSlack / n,
        leastSlack,
        nWithout / n,
        nNegative / n,
        static_cast<float>(m_meanHolders) / n,
        static_cast<float>(std::sqrt(variance)) / n,
        *std::min_element(m_nHolders.begin(), m_nHolders.end()) / n,
        *std::max_element(m_nHolders.begin(), m_nHolders.end()) / n,
        (static_cast<float>(m_target) - m_firstTarget) / 4,
        std::log2(n) / 7,
        m_totalInCapacity / n / 4,
        std::log2(1 + m_nChunks / n) / 2,
        Share(nClosed, GetNPorts()),
        (static_cast<float>(m_target) - m_round) / 20,
    };
}

RegionSupply::RoomLeft
BroadcastEnvironment::GetRoomLeft() const
{
    return {m_free, static_cast<int64_t>(m_target) - m_round};
}

void
BroadcastEnvironment::WritePortFeatures(uint32_t port, float* row) const
{
    const PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
    const uint32_t nSenders = options.senders.size();
    const PortCompetition competition = FindCompetition(port);
    const float slack = GetSlack(here.server);
    const float features[] = {
        1.0F / nSenders,
        std::min(nSenders, 8U) / 8.0F,
        std::log2(1.0F + options.nItems) / 6,
        slack,
        Share(m_inNeed[here.server], m_nChunks),
        Share(m_nOpen[here.server], m_around.inCapacity[here.server]),
        1.0F / competition.fewest,
        competition.meanShare,
        options.leastDistance / 4.0F,
        here.isDirect ? 1.0F : 0.0F,
        std::min(competition.nElsewhere, 16U) / 16.0F,
        Share(options.rarest, m_meanHolders),
        slack <= 0 ? 1.0F : 0.0F,
        Share(m_round, m_target),
        Share(CountFreeOut(here.server), m_around.outCapacity[here.server]),
        std::min(competition.nNearest, 8U) / 8.0F,
        ScaleSlack(m_regions.CountSlack(here.server, GetRoomLeft())),
    };
    std::copy(std::begin(features), std::end(features), row);
}

BroadcastEnvironment::Stock
BroadcastEnvironment::FindStock(NodeId sender, NodeId receiver) const
{
    Stock stock;
    const uint64_t* sendable = m_sendable.GetRow(sender);
    const uint64_t* refused = m_refused.GetRow(receiver);
    const std::vector<uint64_t>& offered = GetOffered(sender, receiver);
    for (std::size_t i = 0; i < offered.size(); ++i)
    {
        const uint64_t word = sendable[i] & offered[i] & ~refused[i];
        ForEachBit(&word, 1, [&](ChunkId bit) {
            const uint32_t holders = m_nHolders[i * BitMatrix::WORD_BITS + bit];
            ++stock.nChunks;
            stock.rarest = std::min(stock.rarest, holders);
            stock.nRare += holders < m_meanHolders;
        });
    }
    return stock;
}

void
BroadcastEnvironment::WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const
{
    const PortOptions& options = m_options[port];
    const NodeId receiver = m_around.ports[port].server;
    const RegionSupply::RoomLeft room = GetRoomLeft();
    rows.clear();
    for (const Sender& sender : options.senders)
    {
        const Stock stock = FindStock(sender.server, receiver);
        const uint32_t nCompeting = std::max(1U, m_nCompeting[sender.out]);
        const WayPressure way = ExploreWay(port, sender);
        const float features[] = {
            1.0F / nCompeting,
            std::min(nCompeting, 8U) / 8.0F,
            sender.distance / 4.0F,
            (sender.distance - options.leastDistance) / 2.0F,
            std::log2(1.0F + stock.nChunks) / 6,
            Share(stock.rarest, m_meanHolders),
            Share(CountFreeOut(sender.server), m_around.outCapacity[sender.server]),
            Share(m_inNeed[sender.server], m_nChunks),
            Share(m_round, m_target),
            sender.distance == 1 ? 1.0F : 0.0F,
            Share(stock.nRare, stock.nChunks),
            1.0F / options.senders.size(),
            way.contention,
            Share(m_nOpen[sender.server], m_around.inCapacity[sender.server]),
            Share(m_openPorts.size(), GetNPorts()),
            way.largest,
            way.sum,
            ScaleSlack(m_regions.CountSlack(sender.server, receiver, room)),
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

void
BroadcastEnvironment::WriteItemFeatures(uint32_t port,
                                        const Sender& sender,
                                        const std::vector<uint32_t>& items,
                                        std::vector<float>& rows) const
{
    const NodeId receiver = m_around.ports[port].server;
    const float n = m_nServers;
    const float slack = GetSlack(receiver);
    const RegionSupply::RoomLeft room = GetRoomLeft();
    uint32_t fewest = std::numeric_limits<uint32_t>::max();
    for (const ChunkId chunk : items)
    {
        fewest = std::min(fewest, m_nHolders[chunk]);
    }
    rows.clear();
    for (const ChunkId chunk : items)
    {
        const ChunkSpread::Lack lack = m_spread.FindLack(port, chunk);
        const float holders = m_nHolders[chunk];
        const float features[] = {
            holders / n,
            4 * (holders - static_cast<float>(m_meanHolders)) / n,
            4 * (holders - fewest) / n,
            lack.nearest,
            lack.aroundTwo,
            lack.mostElsewhere,
            lack.atPort,
            lack.direct,
            m_around.nDirect[receiver] > 0 ? 1.0F : 0.0F,
            Share(m_round, m_target),
            m_initial.Test(sender.server, chunk) ? 1.0F : 0.0F,
            holders == 1 ? 1.0F : 0.0F,
            std::log2(n / holders) / 7,
            (holders - m_nHoldersBefore[chunk]) / 4,
            slack,
            lack.newlyCovered,
            Share(m_spread.CountFrontier(chunk), n - holders),
            ScaleSlack(m_regions.CountSlack(sender.server, receiver, chunk, room)),
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

void
BroadcastEnvironment::Apply(uint32_t item, const Path& path, WorkloadList& round)
{
    const NodeId receiver = path.back();
    if (m_sparing == Sparing::NEARLY_ALL && m_isNarrow[path.front()])
    {
        m_sendingLess.push_back(path.front()); // others have it now, too
    }
    m_held.Set(receiver, item);
    AddHolder(receiver, item);
    m_spread.Cover(receiver, item);
    m_regions.Bring(receiver, item);
    --m_inNeed[receiver];
    --m_nTransfersLeft;
    round.Add(item, WorkloadKind::BROADCAST, path);
}

BroadcastEnvironment::RoundOutcome
BroadcastEnvironment::EndRound()
{
    uint32_t nIdle = 0;
    double sum = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        nIdle += std::min(m_nOpen[server], m_inNeed[server]);
        const uint32_t needed = m_inNeed[server] > 0 ? m_round + CountRoundsToReceive(server) : 0;
        sum += std::max(needed, m_firstTarget);
    }
    const uint32_t needed = std::max(GetRoundsNeeded(), m_firstTarget);
    m_target = std::max(m_target, needed);
    return {needed, sum / m_nServers, Share(nIdle, m_totalInCapacity)};
}

} // namespace ns3::allreduce
