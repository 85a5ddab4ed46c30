/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forward-environment.h"

#include "ns3/server-graph.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr std::size_t N_SHARED = 3; //!< features of an item that both kinds have
constexpr std::size_t N_FINAL = 11; //!< features that only final chunks have
constexpr uint32_t MANY = 8;        //!< more is not told apart

std::vector<uint32_t>
GetCapacities(const AllReduceState& state)
{
    std::vector<uint32_t> capacity;
    for (DirectedLinkId link = 0; link < state.GetTopology().GetNDirectedLinks(); ++link)
    {
        capacity.push_back(state.GetCapacity(link));
    }
    return capacity;
}

uint32_t
DivideUp(uint64_t x, uint32_t y)
{
    return y > 0 ? (x + y - 1) / y : 0;
}

} // namespace

ForwardEnvironment::ForwardEnvironment(const AllReduceState& state)
    : PlanningEnvironment(state.GetTopology(),
                          GetCapacities(state),
                          state.GetNChunks(),
                          PlanMode::FORWARD),
      m_state(state),
      m_reach(m_nServers, m_nServers),
      m_cuts(m_reach),
      m_spread(m_around, m_nChunks),
      m_nPartials(m_nChunks, 0)
{
    FindReach();
    FindHolders();
    CountNeeds();
    FindIncomplete();
    m_target = GetRoundsNeeded();
    m_firstTarget = m_target;
}

void
ForwardEnvironment::FindReach()
{
    const Topology up = MakeNetworkThatIsUp(m_state);
    const ServerGraph graph(up);
    m_hops.reserve(std::size_t{m_nServers} * m_nServers);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_areAllJoined &= graph.GetNeighbors(server).size() + 1 == m_nServers;
        for (const NodeId neighbor : graph.GetNeighbors(server))
        {
            m_reach.Set(server, neighbor);
        }
        const std::vector<uint32_t> hops = graph.ComputeHops(server);
        m_hops.insert(m_hops.end(), hops.begin(), hops.end());
    }
}

void
ForwardEnvironment::FindHolders()
{
    m_spread = ChunkSpread(m_around, m_nChunks);
    m_partials = BitMatrix(m_nChunks, m_nServers);
    std::fill(m_nPartials.begin(), m_nPartials.end(), 0);
    const std::size_t nWords = m_state.GetFinals().GetRowWords();
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        ForEachBit(m_state.GetFinals().GetRow(server), nWords, [&](ChunkId chunk) {
            m_spread.AddHolder(server, chunk);
            m_spread.Cover(server, chunk);
        });
        ForEachBit(m_state.GetPartials().GetRow(server), nWords, [&](ChunkId chunk) {
            m_partials.Set(chunk, server);
            ++m_nPartials[chunk];
        });
    }
}

void
ForwardEnvironment::CountNeeds()
{
    m_nTransfersLeft = 0;
    m_inNeed.assign(m_nServers, 0);
    m_nToSend.assign(m_nServers, 0);
    m_nAwaited.assign(m_nServers, 0);
    m_outNeed.assign(m_nServers, 0);
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        const NodeId root = m_state.GetRoots()[chunk];
        const bool isFinal = m_state.IsFinal(chunk);
        m_nTransfersLeft +=
            isFinal ? m_nServers - CountHolders(chunk) : m_nPartials[chunk] + m_nServers - 2;
        m_nAwaited[root] += !isFinal;
        m_inNeed[root] += !isFinal;
        m_outNeed[root] += CountHolders(chunk) <= 1 && m_nServers > 1;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            m_inNeed[server] += server != root && !m_spread.IsHolder(server, chunk);
            m_nToSend[server] += server != root && m_partials.Test(chunk, server);
        }
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_outNeed[server] += m_nToSend[server];
    }
}

uint64_t
ForwardEnvironment::GetNTransfersLeft() const
{
    return m_nTransfersLeft;
}

uint32_t
ForwardEnvironment::CountHolders(ChunkId chunk) const
{
    return m_spread.GetCounts()[chunk];
}

double
ForwardEnvironment::CountRoundsOfWork() const
{
    return Share(m_nTransfersLeft, m_totalInCapacity);
}

uint32_t
ForwardEnvironment::GetRoundsNeeded() const
{
    uint32_t rounds = DivideUp(m_nTransfersLeft, m_totalInCapacity);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        rounds = std::max(rounds, DivideUp(m_inNeed[server], m_around.inCapacity[server]));
        rounds = std::max(rounds, DivideUp(m_outNeed[server], m_around.outCapacity[server]));
    }
    for (const ChunkId chunk : m_selectable)
    {
        rounds = std::max(rounds, CountHopsLeft(chunk));
    }
    return m_round + rounds;
}

uint32_t
ForwardEnvironment::CountHopsLeft(ChunkId chunk) const
{
    const NodeId root = m_state.GetRoots()[chunk];
    const uint32_t* hops = &m_hops[std::size_t{root} * m_nServers];
    if (m_state.IsFinal(chunk))
    {
        return CountHolders(chunk) < m_nServers ? 1 : 0;
    }
    uint32_t toRoot = 1;
    ForEachBit(m_partials.GetRow(chunk), m_partials.GetRowWords(), [&](NodeId server) {
        toRoot = std::max(toRoot, hops[server]);
    });
    return toRoot + *std::max_element(hops, hops + m_nServers);
}

void
ForwardEnvironment::UpdateRarity(ChunkId chunk)
{
    m_rarity[chunk] = CountHolders(chunk);
    m_rarity[GetPartialItem(chunk)] = m_nServers - m_nPartials[chunk];
}

void
ForwardEnvironment::FindIncomplete()
{
    m_selectable.clear();
    uint32_t nFinal = 0;
    uint64_t sumHolders = 0;
    uint64_t sumPartials = 0;
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        nFinal += m_state.IsFinal(chunk);
        if (CountHolders(chunk) < m_nServers)
        {
            m_selectable.push_back(chunk);
            sumHolders += CountHolders(chunk);
            sumPartials += m_nPartials[chunk];
        }
    }
    m_shareFinal = Share(nFinal, m_nChunks);
    const double nComplete = m_nChunks - m_selectable.size();
    m_meanHolders = Share(sumHolders, nFinal - nComplete);
    m_meanPartials = Share(sumPartials, m_nChunks - nFinal);
}

void
ForwardEnvironment::TakeStock()
{
    m_nPicked = 0;
    m_nComing.assign(std::size_t{m_nServers} * m_nChunks, 0);
    m_nHoldersBefore = m_spread.GetCounts();
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        UpdateRarity(chunk);
    }
    WriteMasks();
}

void
ForwardEnvironment::WriteMasks()
{
    const std::size_t nWords = m_state.GetFinals().GetRowWords();
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        std::copy_n(m_state.GetFinals().GetRow(server), nWords, m_sendable.GetRow(server));
        std::copy_n(m_state.GetExpected().GetRow(server), nWords, m_refused.GetRow(server));
        const uint64_t* partials = m_state.GetPartials().GetRow(server);
        std::copy_n(partials, nWords, m_sendable.GetRow(server) + nWords);
        std::transform(partials,
                       partials + nWords,
                       m_refused.GetRow(server) + nWords,
                       [](uint64_t word) { return ~word; });
    }
    for (const ChunkId chunk : m_selectable)
    {
        m_sendable.Clear(m_state.GetRoots()[chunk], GetPartialItem(chunk));
        if (!m_state.IsFinal(chunk))
        {
            AdmitRelays(chunk);
            KeepTogether(chunk);
        }
    }
}

void
ForwardEnvironment::KeepTogether(ChunkId chunk)
{
    if (m_areAllJoined)
    {
        return;
    }
    const auto& cuts = m_cuts.Find(m_partials.GetRow(chunk), m_state.GetRoots()[chunk]);
    ForEachBit(cuts.data(), cuts.size(), [&](NodeId server) {
        if (m_sendable.Test(server, GetPartialItem(chunk)))
        {
            m_sendable.Clear(server, GetPartialItem(chunk));
            m_sendingLess.push_back(server);
        }
    });
}

void
ForwardEnvironment::AdmitRelays(ChunkId chunk)
{
    const uint32_t* hops = &m_hops[std::size_t{m_state.GetRoots()[chunk]} * m_nServers];
    ForEachBit(m_partials.GetRow(chunk), m_partials.GetRowWords(), [&](NodeId server) {
        if (hops[server] <= 1 || CountPartials(m_reach, server, chunk) > 0)
        {
            return;
        }
        ForEachBit(m_reach.GetRow(server), m_reach.GetRowWords(), [&](NodeId relay) {
            if (hops[relay] < hops[server])
            {
                m_refused.Clear(relay, GetPartialItem(chunk));
            }
        });
    });
}

bool
ForwardEnvironment::IsReceiving(NodeId /* server */) const
{
    return true;
}

bool
ForwardEnvironment::OfferFirst()
{
    m_pass = 0;
    return Offer(true, GetPartialItem(0));
}

bool
ForwardEnvironment::OfferMore()
{
    while (m_pass < 2)
    {
        ++m_pass;
        if (Offer(m_pass == 1, 0))
        {
            return true;
        }
    }
    return false;
}

void
ForwardEnvironment::Apply(uint32_t item, const Path& path, WorkloadList& round)
{
    const ChunkId chunk = GetChunk(item);
    Workload workload;
    workload.chunk = chunk;
    workload.kind = IsPartialItem(item) ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST;
    workload.path = {path.data(), path.data() + path.size()};
    m_state.Start(workload);
    round.Add(workload);
    ++m_nPicked;
    if (IsPartialItem(item))
    {
        ApplyReduce(chunk, path.front(), path.back());
    }
    else
    {
        ApplyBroadcast(chunk, path.front(), path.back());
    }
    UpdateRarity(chunk);
}

void
ForwardEnvironment::ApplyReduce(ChunkId chunk, NodeId source, NodeId target)
{
    const uint32_t item = GetPartialItem(chunk);
    m_sendable.Clear(source, item);
    m_refused.Set(source, item);
    // What the target holds waits for what comes.
    m_sendable.Clear(target, item);
    m_partials.Clear(chunk, source);
    --m_nToSend[source];
    --m_outNeed[source];
    ++m_nComing[std::size_t{target} * m_nChunks + chunk];
    m_sendingLess = {source, target};
    if (m_partials.Test(chunk, target))
    {
        --m_nPartials[chunk];
        --m_nTransfersLeft;
        m_inNeed[target] -= target == m_state.GetRoots()[chunk] && m_nPartials[chunk] == 1;
    }
    else
    {
        m_partials.Set(chunk, target);
        ++m_nToSend[target];
        ++m_outNeed[target];
    }
    KeepTogether(chunk);
}

void
ForwardEnvironment::ApplyBroadcast(ChunkId chunk, NodeId source, NodeId target)
{
    m_refused.Set(target, chunk);
    m_outNeed[source] -= CountHolders(chunk) == 1;
    m_spread.AddHolder(target, chunk);
    m_spread.Cover(target, chunk);
    --m_inNeed[target];
    --m_nTransfersLeft;
}

uint32_t
ForwardEnvironment::CountPartials(const BitMatrix& around, NodeId server, ChunkId chunk) const
{
    uint32_t count = 0;
    for (std::size_t i = 0; i < around.GetRowWords(); ++i)
    {
        count += __builtin_popcountll(around.GetRow(server)[i] & m_partials.GetRow(chunk)[i]);
    }
    return count;
}

float
ForwardEnvironment::GetSlackOut(NodeId server) const
{
    const int64_t roundsAfter = static_cast<int64_t>(m_target) - m_round;
    const int64_t slack = roundsAfter * m_around.outCapacity[server] + CountFreeOut(server) -
                          static_cast<int64_t>(m_outNeed[server]);
    return ScaleSlack(slack);
}

void
ForwardEnvironment::WritePortFeatures(uint32_t port, float* row) const
{
    const PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
    const uint32_t nSenders = options.senders.size();
    const PortCompetition competition = FindCompetition(port);
    const float slack = GetSlack(here.server);
    const float features[] = {
        1.0F / nSenders,
        std::min(nSenders, MANY) / 8.0F,
        std::log2(1.0F + options.nItems) / 6,
        slack,
        Share(m_inNeed[here.server], m_nChunks),
        Share(m_nOpen[here.server], m_around.inCapacity[here.server]),
        1.0F / competition.fewest,
        competition.meanShare,
        options.leastDistance / 4.0F,
        here.isDirect ? 1.0F : 0.0F,
        std::min(competition.nElsewhere, 16U) / 16.0F,
        Share(options.rarest, m_nServers),
        slack <= 0 ? 1.0F : 0.0F,
        Share(m_round, m_target),
        Share(CountFreeOut(here.server), m_around.outCapacity[here.server]),
        std::min(competition.nNearest, MANY) / 8.0F,
        Share(m_nToSend[here.server], m_nChunks),
        Share(m_nAwaited[here.server] * m_nServers, m_nChunks),
    };
    std::copy(std::begin(features), std::end(features), row);
}

ForwardEnvironment::Stock
ForwardEnvironment::FindStock(NodeId sender, NodeId receiver) const
{
    Stock stock;
    stock.rarest = m_nServers;
    const uint64_t* sendable = m_sendable.GetRow(sender);
    const uint64_t* refused = m_refused.GetRow(receiver);
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        const uint64_t word = sendable[i] & m_active[i] & ~refused[i];
        ForEachBit(&word, 1, [&](uint32_t bit) {
            const uint32_t item = i * BitMatrix::WORD_BITS + bit;
            ++stock.nItems;
            stock.rarest = std::min(stock.rarest, m_rarity[item]);
            if (IsPartialItem(item))
            {
                ++stock.nPartials;
                stock.isForRoot |= m_state.GetRoots()[GetChunk(item)] == receiver;
            }
        });
    }
    return stock;
}

void
ForwardEnvironment::WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const
{
    const PortOptions& options = m_options[port];
    rows.clear();
    for (const Sender& sender : options.senders)
    {
        const Stock stock = FindStock(sender.server, m_around.ports[port].server);
        const uint32_t nCompeting = std::max(1U, m_nCompeting[sender.out]);
        const WayPressure way = ExploreWay(port, sender);
        const float features[] = {
            1.0F / nCompeting,
            std::min(nCompeting, MANY) / 8.0F,
            sender.distance / 4.0F,
            (sender.distance - options.leastDistance) / 2.0F,
            std::log2(1.0F + stock.nItems) / 6,
            Share(stock.rarest, m_nServers),
            Share(CountFreeOut(sender.server), m_around.outCapacity[sender.server]),
            Share(m_inNeed[sender.server], m_nChunks),
            Share(m_round, m_target),
            sender.distance == 1 ? 1.0F : 0.0F,
            Share(stock.nPartials, stock.nItems),
            1.0F / options.senders.size(),
            way.contention,
            Share(m_nOpen[sender.server], m_around.inCapacity[sender.server]),
            Share(m_openPorts.size(), GetNPorts()),
            way.largest,
            way.sum,
            Share(m_nToSend[sender.server], m_nChunks),
            GetSlackOut(sender.server),
            stock.isForRoot ? 1.0F : 0.0F,
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

void
ForwardEnvironment::WriteItemFeatures(uint32_t port,
                                      const Sender& sender,
                                      const std::vector<uint32_t>& items,
                                      std::vector<float>& rows) const
{
    const std::size_t nFeatures = GetPolicyFeatures(PlanMode::FORWARD, PolicyHead::CHUNK).size();
    const NodeId receiver = m_around.ports[port].server;
    uint32_t fewestHolders = m_nServers;
    uint32_t fewestPartials = m_nServers;
    for (const uint32_t item : items)
    {
        uint32_t& fewest = IsPartialItem(item) ? fewestPartials : fewestHolders;
        const auto& counts = IsPartialItem(item) ? m_nPartials : m_spread.GetCounts();
        fewest = std::min(fewest, counts[GetChunk(item)]);
    }
    rows.assign(items.size() * nFeatures, 0);
    float* row = rows.data();
    for (const uint32_t item : items)
    {
        row[0] = Share(m_round, m_target);
        row[1] = GetSlack(receiver);
        row[2] = IsPartialItem(item) ? 1.0F : 0.0F;
        if (IsPartialItem(item))
        {
            WritePartialFeatures(sender.server,
                                 receiver,
                                 GetChunk(item),
                                 fewestPartials,
                                 row + N_SHARED + N_FINAL);
        }
        else
        {
            WriteFinalFeatures(port, item, fewestHolders, row + N_SHARED);
        }
        row += nFeatures;
    }
}

void
ForwardEnvironment::WriteFinalFeatures(uint32_t port,
                                       ChunkId chunk,
                                       uint32_t fewest,
                                       float* row) const
{
    const float n = m_nServers;
    const float holders = CountHolders(chunk);
    const ChunkSpread::Lack lack = m_spread.FindLack(port, chunk);
    const float features[N_FINAL] = {
        holders / n,
        4 * (holders - static_cast<float>(m_meanHolders)) / n,
        4 * (holders - fewest) / n,
        lack.nearest,
        lack.aroundTwo,
        lack.mostElsewhere,
        lack.atPort,
        lack.direct,
        std::log2(n / holders) / 7,
        (holders - m_nHoldersBefore[chunk]) / 4,
        lack.newlyCovered,
    };
    std::copy(std::begin(features), std::end(features), row);
}

void
ForwardEnvironment::WritePartialFeatures(NodeId sender,
                                         NodeId receiver,
                                         ChunkId chunk,
                                         uint32_t fewest,
                                         float* row) const
{
    const NodeId root = m_state.GetRoots()[chunk];
    const uint32_t* hops = &m_hops[std::size_t{root} * m_nServers];
    const float n = m_nServers;
    const float partials = m_nPartials[chunk];
    const bool isMerging = m_partials.Test(chunk, receiver);
    const uint32_t nReach = CountPartials(m_reach, sender, chunk) - isMerging;
    const uint32_t nNearSender = CountPartials(m_around.nearest, sender, chunk);
    const uint32_t nNearReceiver = CountPartials(m_around.nearest, receiver, chunk);
    const float features[] = {
        partials / n,
        4 * (partials - static_cast<float>(m_meanPartials)) / n,
        4 * (partials - fewest) / n,
        std::log2(std::max(1.0F, partials)) / 7,
        partials == 2 ? 1.0F : 0.0F,
        receiver == root ? 1.0F : 0.0F,
        hops[receiver] / 3.0F,
        (static_cast<float>(hops[sender]) - hops[receiver]) / 2,
        m_around.nearest.Test(receiver, root) ? 1.0F : 0.0F,
        1.0F / (1 + nReach),
        std::min(nNearSender, MANY) / 8.0F,
        std::min(nNearReceiver, MANY) / 8.0F,
        1.0F / (1 + CountPartials(m_around.nearest, root, chunk)),
        isMerging ? 0.0F : 1.0F,
        m_nComing[std::size_t{receiver} * m_nChunks + chunk] / 4.0F,
    };
    std::copy(std::begin(features), std::end(features), row);
}

void
ForwardEnvironment::WriteTreeFeatures(std::vector<float>& rows) const
{
    const float n = m_nServers;
    const float roundsLeft = std::max<int>(1, m_target - m_round + 1);
    std::vector<uint32_t> left;
    uint32_t fewestHolders = m_nServers;
    uint32_t fewestPartials = m_nServers;
    for (const ChunkId chunk : m_selectable)
    {
        const bool isFinal = m_state.IsFinal(chunk);
        left.push_back(m_nServers - CountHolders(chunk) + m_nPartials[chunk]);
        (isFinal ? fewestHolders : fewestPartials) =
            std::min(isFinal ? fewestHolders : fewestPartials,
                     isFinal ? CountHolders(chunk) : m_nPartials[chunk]);
    }
    std::vector<uint32_t> sorted = left;
    std::sort(sorted.begin(), sorted.end());
    rows.clear();
    for (std::size_t i = 0; i < m_selectable.size(); ++i)
    {
        const ChunkId chunk = m_selectable[i];
        const bool isFinal = m_state.IsFinal(chunk);
        const float holders = CountHolders(chunk);
        const float partials = m_nPartials[chunk];
        const auto rank = std::lower_bound(sorted.begin(), sorted.end(), left[i]);
        const uint32_t nNear = CountPartials(m_around.nearest, m_state.GetRoots()[chunk], chunk);
        const float features[] = {
            isFinal ? 1.0F : 0.0F,
            holders / n,
            partials / n,
            isFinal ? 0 : 4 * (partials - static_cast<float>(m_meanPartials)) / n,
            isFinal ? 0 : 4 * (partials - fewestPartials) / n,
            isFinal ? 4 * (holders - static_cast<float>(m_meanHolders)) / n : 0,
            isFinal ? 4 * (holders - fewestHolders) / n : 0,
            Share(rank - sorted.begin(), sorted.size()),
            Share(m_round, m_target),
            std::min(3.0F, left[i] / roundsLeft * m_nChunks / m_totalInCapacity),
            std::log2(std::max(1.0F, partials)) / 7,
            isFinal ? std::log2(n / holders) / 7 : 1,
            static_cast<float>(m_shareFinal),
            Share(m_nTransfersLeft, 2.0 * m_nServers * m_nChunks),
            Share(nNear, partials),
            m_isSelected[chunk] ? 1.0F : 0.0F,
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

std::vector<float>
ForwardEnvironment::MakeValueFeatures() const
{
    float sumSlack = 0;
    float leastSlack = 1;
    uint32_t nWithout = 0;
    uint32_t nClosed = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const float slack = GetSlack(server);
        sumSlack += slack;
        leastSlack = std::min(leastSlack, slack);
        nWithout += slack <= 0;
    }
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        nClosed += !m_isOpen[port] && NeedsMore(m_around.ports[port].server);
    }
    double variance = 0;
    for (const ChunkId chunk : m_selectable)
    {
        const double difference = m_nPartials[chunk] - m_meanPartials;
        variance += m_state.IsFinal(chunk) ? 0 : difference * difference / m_nChunks;
    }
    const float n = m_nServers;
    return {
        Share(m_round, m_target),
        Share(m_nTransfersLeft, 2.0 * m_nServers * m_nChunks),
        sumSlack / n,
        leastSlack,
        nWithout / n,
        static_cast<float>(m_meanHolders) / n,
        static_cast<float>(m_meanPartials) / n,
        static_cast<float>(std::sqrt(variance)) / n,
        static_cast<float>(m_shareFinal),
        1 - Share(m_selectable.size(), m_nChunks),
        (static_cast<float>(m_target) - m_firstTarget) / 4,
        std::log2(n) / 7,
        m_totalInCapacity / n / 4,
        std::log2(1 + m_nChunks / n) / 2,
        Share(nClosed, GetNPorts()),
        (static_cast<float>(m_target) - m_round) / 20,
    };
}

PlanningEnvironment::RoundOutcome
ForwardEnvironment::EndRound()
{
    const uint64_t leftBefore = m_nTransfersLeft + m_nPicked;
    m_state.EndRound();
    FindHolders();
    CountNeeds();
    FindIncomplete();
    const uint64_t nUsable = std::min<uint64_t>(m_totalInCapacity, leftBefore);
    const uint32_t needed = std::max(GetRoundsNeeded(), m_firstTarget);
    m_target = std::max(m_target, needed);
    return {needed,
            std::max<double>(m_firstTarget, m_round + CountRoundsOfWork()),
            Share(nUsable - std::min(nUsable, m_nPicked), m_totalInCapacity)};
}

} // namespace ns3::allreduce
