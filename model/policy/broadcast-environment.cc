/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "broadcast-environment.h"

#include "policy-features.h"

#include "ns3/broadcast-relays.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t DETOUR = 2;   //!< links more than to the nearest sender that are searched
constexpr uint32_t FAR_AWAY = 9; //!< distance of the nearest sender where there is none

const std::size_t N_PORT_FEATURES = GetPolicyFeatures(PolicyHead::PORT).size();

/// Call with every bit that is set.
template <typename Call>
void
ForEachBit(const uint64_t* words, std::size_t nWords, Call call)
{
    for (std::size_t i = 0; i < nWords; ++i)
    {
        for (uint64_t bits = words[i]; bits != 0; bits &= bits - 1)
        {
            call(i * BitMatrix::WORD_BITS + __builtin_ctzll(bits));
        }
    }
}

float
Share(double part, double whole)
{
    return whole > 0 ? part / whole : 0;
}

} // namespace

BroadcastEnvironment::BroadcastEnvironment(const BroadcastProblem& problem)
    : m_problem(problem),
      m_topology(*problem.topology),
      m_around(problem),
      m_nServers(m_topology.GetNServers()),
      m_nChunks(problem.nChunks),
      m_held(problem.holders),
      m_satisfied(m_nServers, m_nChunks),
      m_holders(m_nChunks, m_nServers),
      m_covered(m_nChunks, m_nServers),
      m_initial(problem.holders),
      m_nHolders(m_nChunks, 0),
      m_nMissing(m_nServers, 0),
      m_active((m_nChunks + BitMatrix::WORD_BITS - 1) / BitMatrix::WORD_BITS, 0),
      m_nOpen(m_nServers, 0),
      m_options(m_around.ports.size()),
      m_portsOfOut(m_topology.GetNDirectedLinks()),
      m_nCompeting(m_topology.GetNDirectedLinks(), 0),
      m_demand(m_topology.GetNDirectedLinks(), 0),
      m_portFeatures(m_around.ports.size() * N_PORT_FEATURES, 0),
      m_isOpen(m_around.ports.size(), false),
      m_isChanged(m_around.ports.size(), false),
      m_reachedIn(m_topology.GetNNodes(), 0),
      m_found(m_active.size(), 0)
{
    for (PortOptions& options : m_options)
    {
        options.towards.resize(m_topology.GetNSwitches());
    }
    TakeStock();
    m_target = GetRoundsNeeded();
    m_firstTarget = m_target;
}

void
BroadcastEnvironment::TakeStock()
{
    const BitMatrix receivers = FindReceivers(m_problem);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_totalInCapacity += m_around.inCapacity[server];
        for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
        {
            const bool isHeld = m_held.Test(server, chunk);
            if (!isHeld && receivers.Test(server, chunk))
            {
                ++m_nMissing[server];
                continue;
            }
            m_satisfied.Set(server, chunk);
            m_holders.Set(chunk, server);
            ++m_nHolders[chunk];
            for (std::size_t i = 0; isHeld && i < m_covered.GetRowWords(); ++i)
            {
                m_covered.GetRow(chunk)[i] |= m_around.nearest.GetRow(server)[i];
            }
        }
        m_nTransfersLeft += m_nMissing[server];
    }
    m_nTransfers = m_nTransfersLeft;
}

uint64_t
BroadcastEnvironment::GetNTransfersLeft() const
{
    return m_nTransfersLeft;
}

uint32_t
BroadcastEnvironment::GetRound() const
{
    return m_round;
}

uint32_t
BroadcastEnvironment::GetRoundsNeeded() const
{
    uint32_t rounds = m_round;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (m_nMissing[server] > 0)
        {
            const uint32_t capacity = m_around.inCapacity[server];
            rounds = std::max(rounds, m_round + (m_nMissing[server] + capacity - 1) / capacity);
        }
    }
    return rounds;
}

uint32_t
BroadcastEnvironment::GetNPorts() const
{
    return m_around.ports.size();
}

void
BroadcastEnvironment::BeginRound()
{
    ++m_round;
    m_heldBefore = m_held;
    m_nHoldersBefore = m_nHolders;
    m_free = m_problem.capacity;
    m_nOpen = m_around.inCapacity;
    m_incomplete.clear();
    std::fill(m_active.begin(), m_active.end(), 0);
    double sum = 0;
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        sum += m_nHolders[chunk];
        if (m_nHolders[chunk] < m_nServers)
        {
            m_incomplete.push_back(chunk);
            m_active[chunk / BitMatrix::WORD_BITS] |= uint64_t{1} << chunk % BitMatrix::WORD_BITS;
        }
    }
    m_meanHolders = sum / m_nChunks;
    SearchAll();
}

const std::vector<ChunkId>&
BroadcastEnvironment::GetIncompleteTrees() const
{
    return m_incomplete;
}

void
BroadcastEnvironment::WriteTreeFeatures(std::vector<float>& rows) const
{
    const uint32_t fewest = *std::min_element(m_nHolders.begin(), m_nHolders.end());
    const uint32_t most = *std::max_element(m_nHolders.begin(), m_nHolders.end());
    std::vector<uint32_t> sorted = m_nHolders;
    std::sort(sorted.begin(), sorted.end());
    float leastSlack = 1;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        leastSlack = NeedsMore(server) ? std::min(leastSlack, GetSlack(server)) : leastSlack;
    }
    const float n = m_nServers;
    const float roundsLeft = std::max<int>(1, m_target - m_round + 1);
    rows.clear();
    for (const ChunkId chunk : m_incomplete)
    {
        const float holders = m_nHolders[chunk];
        const float doublings = std::log2(n / std::max(1.0F, holders));
        const auto rank = std::lower_bound(sorted.begin(), sorted.end(), m_nHolders[chunk]);
        const float features[] = {
            holders / n,
            4 * (holders - static_cast<float>(m_meanHolders)) / n,
            4 * (holders - fewest) / n,
            4 * (most - holders) / n,
            Share(m_round, m_target),
            CountAndNot(m_covered.GetRow(chunk), m_holders.GetRow(chunk)) / n,
            doublings / 7,
            std::min(2.0F, doublings / roundsLeft),
            std::min(3.0F, (n - holders) / roundsLeft * m_nChunks / m_totalInCapacity),
            leastSlack,
            Share(rank - sorted.begin(), m_nChunks),
            Share(m_nTransfersLeft, double(m_nServers) * m_nChunks),
            holders == 1 ? 1.0F : 0.0F,
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

void
BroadcastEnvironment::SelectTrees(const std::vector<bool>& selected)
{
    const std::vector<uint64_t> all = m_active;
    for (std::size_t i = 0; i < m_incomplete.size(); ++i)
    {
        if (!selected[i])
        {
            m_active[m_incomplete[i] / BitMatrix::WORD_BITS] &=
                ~(uint64_t{1} << m_incomplete[i] % BitMatrix::WORD_BITS);
        }
    }
    if (m_active != all && !SearchAll())
    {
        m_active = all;
        SearchAll();
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

const std::vector<uint32_t>&
BroadcastEnvironment::GetOpenPorts() const
{
    return m_openPorts;
}

const float*
BroadcastEnvironment::GetPortFeatures(uint32_t port) const
{
    return m_portFeatures.data() + port * N_PORT_FEATURES;
}

const std::vector<uint32_t>&
BroadcastEnvironment::GetChangedPorts() const
{
    return m_changed;
}

const std::vector<BroadcastEnvironment::Sender>&
BroadcastEnvironment::GetSenders(uint32_t port) const
{
    return m_options[port].senders;
}

bool
BroadcastEnvironment::SearchAll()
{
    std::fill(m_nCompeting.begin(), m_nCompeting.end(), 0);
    std::fill(m_demand.begin(), m_demand.end(), 0);
    for (auto& ports : m_portsOfOut)
    {
        ports.clear();
    }
    for (PortOptions& options : m_options)
    {
        options.senders.clear();
        options.switchLinks.clear();
    }
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        SearchPort(port);
    }
    m_changed.clear();
    std::fill(m_isChanged.begin(), m_isChanged.end(), false);
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        UpdateFeatures(port);
        MarkChanged(port);
    }
    RebuildOpenPorts();
    return !m_openPorts.empty();
}

void
BroadcastEnvironment::ForgetOptions(uint32_t port)
{
    PortOptions& options = m_options[port];
    for (const Sender& sender : options.senders)
    {
        --m_nCompeting[sender.out];
    }
    for (const DirectedLinkId link : options.switchLinks)
    {
        --m_demand[link];
    }
    options.senders.clear();
    options.switchLinks.clear();
}

void
BroadcastEnvironment::SearchPort(uint32_t port)
{
    ForgetOptions(port);
    PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
    options.nChunks = 0;
    options.rarest = 0;
    options.leastDistance = FAR_AWAY;
    if (m_free[here.link] == 0 || !NeedsMore(here.server))
    {
        return;
    }
    std::fill(m_found.begin(), m_found.end(), 0);
    if (here.isDirect)
    {
        const NodeId sender = m_topology.GetSource(here.link);
        if (CanSendSomething(sender, here.server))
        {
            AddSender(port, sender, 1, here.link);
        }
    }
    else
    {
        SearchSwitches(port);
    }
    uint32_t rarest = std::numeric_limits<uint32_t>::max();
    ForEachBit(m_found.data(), m_found.size(), [&](ChunkId chunk) {
        ++options.nChunks;
        rarest = std::min(rarest, m_nHolders[chunk]);
    });
    options.rarest = options.nChunks > 0 ? rarest / m_meanHolders : 0;
}

void
BroadcastEnvironment::SearchSwitches(uint32_t port)
{
    PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
    const NodeId start = m_topology.GetSource(here.link);
    ++m_search;
    m_reachedIn[here.server] = m_search;
    m_reachedIn[start] = m_search;
    options.towards[start - m_nServers] = here.link;
    m_queue.assign(1, start);
    uint32_t distance = 2;
    uint32_t farthest = std::numeric_limits<uint32_t>::max();
    for (std::size_t i = 0; i < m_queue.size() && distance <= farthest; ++distance)
    {
        for (const std::size_t end = m_queue.size(); i < end; ++i)
        {
            const NodeId node = m_queue[i];
            const auto ports = m_topology.GetPorts(node);
            // Begin elsewhere for each port and round, so that not all prefer the same way.
            const std::size_t first = (m_round * 7 + port * 3) % ports.size();
            for (std::size_t k = 0; k < ports.size(); ++k)
            {
                const Topology::Port& next = ports.begin()[(first + k) % ports.size()];
                const DirectedLinkId in = Reverse(next.out);
                if (m_free[in] == 0 || m_reachedIn[next.neighbor] == m_search)
                {
                    continue;
                }
                m_reachedIn[next.neighbor] = m_search;
                if (!m_topology.IsServer(next.neighbor))
                {
                    options.towards[next.neighbor - m_nServers] = in;
                    options.switchLinks.push_back(in);
                    ++m_demand[in];
                    m_queue.push_back(next.neighbor);
                }
                else if (CanSendSomething(next.neighbor, here.server))
                {
                    AddSender(port, next.neighbor, distance, in);
                    farthest = options.leastDistance + DETOUR;
                }
            }
        }
    }
}

void
BroadcastEnvironment::AddSender(uint32_t port, NodeId server, uint32_t distance, DirectedLinkId out)
{
    PortOptions& options = m_options[port];
    if (options.senders.empty())
    {
        options.leastDistance = distance;
    }
    options.senders.push_back({server, distance, out});
    ++m_nCompeting[out];
    m_portsOfOut[out].push_back(port);
    const uint64_t* held = m_heldBefore.GetRow(server);
    const uint64_t* satisfied = m_satisfied.GetRow(m_around.ports[port].server);
    for (std::size_t i = 0; i < m_found.size(); ++i)
    {
        m_found[i] |= held[i] & m_active[i] & ~satisfied[i];
    }
}

bool
BroadcastEnvironment::CanSendSomething(NodeId sender, NodeId receiver) const
{
    const uint64_t* held = m_heldBefore.GetRow(sender);
    const uint64_t* satisfied = m_satisfied.GetRow(receiver);
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        if (held[i] & m_active[i] & ~satisfied[i])
        {
            return true;
        }
    }
    return false;
}

bool
BroadcastEnvironment::NeedsMore(NodeId server) const
{
    return m_nMissing[server] > 0;
}

float
BroadcastEnvironment::GetSlack(NodeId server) const
{
    const int64_t roundsAfter = static_cast<int64_t>(m_target) - m_round;
    const int64_t slack = roundsAfter * m_around.inCapacity[server] + m_nOpen[server] -
                          static_cast<int64_t>(m_nMissing[server]);
    return std::clamp<int64_t>(slack, -4, 8) / 8.0F;
}

uint32_t
BroadcastEnvironment::CountFreeOut(NodeId server) const
{
    uint32_t count = 0;
    for (const Topology::Port& port : m_topology.GetPorts(server))
    {
        count += m_free[port.out];
    }
    return count;
}

uint32_t
BroadcastEnvironment::CountAndNot(const uint64_t* x, const uint64_t* y) const
{
    uint32_t count = 0;
    for (std::size_t i = 0; i < m_holders.GetRowWords(); ++i)
    {
        count += __builtin_popcountll(x[i] & ~y[i]);
    }
    return count;
}

void
BroadcastEnvironment::UpdateFeatures(uint32_t port)
{
    const PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
    const uint32_t nSenders = options.senders.size();
    m_isOpen[port] = nSenders > 0 && m_free[here.link] > 0;
    if (!m_isOpen[port])
    {
        return;
    }
    uint32_t fewestCompeting = std::numeric_limits<uint32_t>::max();
    float sumOfShares = 0;
    uint32_t nNearest = 0;
    for (const Sender& sender : options.senders)
    {
        const uint32_t nCompeting = std::max(1U, m_nCompeting[sender.out]);
        fewestCompeting = std::min(fewestCompeting, nCompeting);
        sumOfShares += 1.0F / nCompeting;
        nNearest += sender.distance == options.leastDistance;
    }
    uint32_t nOther = 0;
    for (uint32_t p = m_around.firstPort[here.server]; p < m_around.firstPort[here.server + 1]; ++p)
    {
        nOther += p != port ? m_options[p].senders.size() : 0;
    }
    const float slack = GetSlack(here.server);
    const float features[] = {
        1.0F / nSenders,
        std::min(nSenders, 8U) / 8.0F,
        std::log2(1.0F + options.nChunks) / 6,
        slack,
        Share(m_nMissing[here.server], m_nChunks),
        Share(m_nOpen[here.server], m_around.inCapacity[here.server]),
        1.0F / fewestCompeting,
        sumOfShares / nSenders,
        options.leastDistance / 4.0F,
        here.isDirect ? 1.0F : 0.0F,
        std::min(nOther, 16U) / 16.0F,
        options.rarest,
        slack <= 0 ? 1.0F : 0.0F,
        Share(m_round, m_target),
        Share(CountFreeOut(here.server), m_around.outCapacity[here.server]),
        std::min(nNearest, 8U) / 8.0F,
    };
    std::copy(std::begin(features), std::end(features), &m_portFeatures[port * N_PORT_FEATURES]);
}

void
BroadcastEnvironment::ExploreWay(uint32_t port, const Sender& sender, float* row) const
{
    const PortOptions& options = m_options[port];
    float contention = 0;
    float largest = 0;
    float sum = 0;
    NodeId node = m_topology.GetTarget(sender.out);
    while (!m_topology.IsServer(node))
    {
        const DirectedLinkId link = options.towards[node - m_nServers];
        const NodeId next = m_topology.GetTarget(link);
        if (!m_topology.IsServer(next))
        {
            uint32_t nFree = 0;
            for (const Topology::Port& way : m_topology.GetPorts(node))
            {
                nFree += !m_topology.IsServer(way.neighbor) && m_free[way.out] > 0;
            }
            contention += 1.0F / std::max(1U, nFree);
            largest = std::max(largest, static_cast<float>(m_demand[link]));
            sum += m_demand[link];
        }
        node = next;
    }
    row[12] = contention;
    row[15] = largest / GetNPorts();
    row[16] = sum / GetNPorts();
}

void
BroadcastEnvironment::WriteSenderFeatures(uint32_t port, std::vector<float>& rows) const
{
    const PortOptions& options = m_options[port];
    const uint64_t* satisfied = m_satisfied.GetRow(m_around.ports[port].server);
    const std::size_t nFeatures = GetPolicyFeatures(PolicyHead::SENDER).size();
    rows.assign(options.senders.size() * nFeatures, 0);
    float* row = rows.data();
    for (const Sender& sender : options.senders)
    {
        const uint64_t* held = m_heldBefore.GetRow(sender.server);
        uint32_t nChunks = 0;
        uint32_t nRare = 0;
        uint32_t rarest = std::numeric_limits<uint32_t>::max();
        for (std::size_t i = 0; i < m_active.size(); ++i)
        {
            const uint64_t word = held[i] & m_active[i] & ~satisfied[i];
            ForEachBit(&word, 1, [&](ChunkId bit) {
                const uint32_t holders = m_nHolders[i * BitMatrix::WORD_BITS + bit];
                ++nChunks;
                rarest = std::min(rarest, holders);
                nRare += holders < m_meanHolders;
            });
        }
        const uint32_t nCompeting = std::max(1U, m_nCompeting[sender.out]);
        row[0] = 1.0F / nCompeting;
        row[1] = std::min(nCompeting, 8U) / 8.0F;
        row[2] = sender.distance / 4.0F;
        row[3] = (sender.distance - options.leastDistance) / 2.0F;
        row[4] = std::log2(1.0F + nChunks) / 6;
        row[5] = rarest / m_meanHolders;
        row[6] = Share(CountFreeOut(sender.server), m_around.outCapacity[sender.server]);
        row[7] = Share(m_nMissing[sender.server], m_nChunks);
        row[8] = Share(m_round, m_target);
        row[9] = sender.distance == 1;
        row[10] = Share(nRare, nChunks);
        row[11] = 1.0F / options.senders.size();
        ExploreWay(port, sender, row);
        row[13] = Share(m_nOpen[sender.server], m_around.inCapacity[sender.server]);
        row[14] = Share(m_openPorts.size(), GetNPorts());
        row += nFeatures;
    }
}

void
BroadcastEnvironment::FindChunks(uint32_t port,
                                 const Sender& sender,
                                 uint32_t most,
                                 std::vector<ChunkId>& chunks) const
{
    const uint64_t* held = m_heldBefore.GetRow(sender.server);
    const uint64_t* satisfied = m_satisfied.GetRow(m_around.ports[port].server);
    chunks.clear();
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        const uint64_t word = held[i] & m_active[i] & ~satisfied[i];
        ForEachBit(&word, 1, [&](ChunkId bit) {
            chunks.push_back(i * BitMatrix::WORD_BITS + bit);
        });
    }
    if (chunks.size() > most)
    {
        // Equally rare ones in another order for each port, so that not all send the same.
        const ChunkId turn = port * 31 + m_round * 17;
        std::nth_element(chunks.begin(),
                         chunks.begin() + most,
                         chunks.end(),
                         [&](ChunkId x, ChunkId y) {
                             if (m_nHolders[x] != m_nHolders[y])
                             {
                                 return m_nHolders[x] < m_nHolders[y];
                             }
                             return (x + turn) % m_nChunks < (y + turn) % m_nChunks;
                         });
        chunks.resize(most);
        std::sort(chunks.begin(), chunks.end());
    }
}

void
BroadcastEnvironment::WriteChunkFeatures(uint32_t port,
                                         const Sender& sender,
                                         const std::vector<ChunkId>& chunks,
                                         std::vector<float>& rows) const
{
    const NodeId receiver = m_around.ports[port].server;
    const float n = m_nServers;
    const float nNearest = std::max(1U, m_around.nNearest[receiver]);
    const float nAroundTwo = std::max(1U, m_around.nAroundTwo[receiver]);
    const float nAtPort = std::max(1U, m_around.nNearestAtPort[port]);
    const float nDirect = m_around.nDirect[receiver];
    const float slack = GetSlack(receiver);
    uint32_t fewest = std::numeric_limits<uint32_t>::max();
    for (const ChunkId chunk : chunks)
    {
        fewest = std::min(fewest, m_nHolders[chunk]);
    }
    rows.clear();
    for (const ChunkId chunk : chunks)
    {
        const uint64_t* holders = m_holders.GetRow(chunk);
        const uint64_t* covered = m_covered.GetRow(chunk);
        const uint64_t* nearest = m_around.nearest.GetRow(receiver);
        const float nHolders = m_nHolders[chunk];
        float mostElsewhere = 0;
        for (uint32_t p = m_around.firstPort[receiver]; p < m_around.firstPort[receiver + 1]; ++p)
        {
            if (p != port)
            {
                const float lacking = CountAndNot(m_around.nearestAtPort.GetRow(p), holders);
                mostElsewhere = std::max(mostElsewhere, Share(lacking, m_around.nNearestAtPort[p]));
            }
        }
        uint32_t nLacking = 0;
        uint32_t nNewlyCovered = 0;
        for (std::size_t i = 0; i < m_holders.GetRowWords(); ++i)
        {
            nLacking += __builtin_popcountll(nearest[i] & ~holders[i]);
            nNewlyCovered += __builtin_popcountll(nearest[i] & ~holders[i] & ~covered[i]);
        }
        const float lackingAtPort = CountAndNot(m_around.nearestAtPort.GetRow(port), holders);
        const float lackingDirect = CountAndNot(m_around.direct.GetRow(receiver), holders);
        const float features[] = {
            nHolders / n,
            4 * (nHolders - static_cast<float>(m_meanHolders)) / n,
            4 * (nHolders - fewest) / n,
            nLacking / nNearest,
            CountAndNot(m_around.aroundTwo.GetRow(receiver), holders) / nAroundTwo,
            mostElsewhere,
            lackingAtPort / nAtPort,
            Share(lackingDirect, nDirect),
            nDirect > 0 ? 1.0F : 0.0F,
            Share(m_round, m_target),
            m_initial.Test(sender.server, chunk) ? 1.0F : 0.0F,
            nHolders == 1 ? 1.0F : 0.0F,
            std::log2(n / nHolders) / 7,
            (nHolders - m_nHoldersBefore[chunk]) / 4,
            slack,
            nNewlyCovered / nNearest,
            Share(CountAndNot(covered, holders), n - nHolders),
        };
        rows.insert(rows.end(), std::begin(features), std::end(features));
    }
}

void
BroadcastEnvironment::TracePath(uint32_t port, const Sender& sender, Path& path)
{
    m_pathLinks.assign(1, sender.out);
    path.assign(1, sender.server);
    NodeId node = m_topology.GetTarget(sender.out);
    path.push_back(node);
    while (!m_topology.IsServer(node))
    {
        const DirectedLinkId link = m_options[port].towards[node - m_nServers];
        m_pathLinks.push_back(link);
        node = m_topology.GetTarget(link);
        path.push_back(node);
    }
}

uint32_t
BroadcastEnvironment::Pick(uint32_t port, Sender sender, ChunkId chunk, Path& path)
{
    const NodeId receiver = m_around.ports[port].server;
    TracePath(port, sender, path);
    m_held.Set(receiver, chunk);
    m_satisfied.Set(receiver, chunk);
    m_holders.Set(chunk, receiver);
    for (std::size_t i = 0; i < m_covered.GetRowWords(); ++i)
    {
        m_covered.GetRow(chunk)[i] |= m_around.nearest.GetRow(receiver)[i];
    }
    ++m_nHolders[chunk];
    --m_nMissing[receiver];
    --m_nOpen[receiver];
    --m_nTransfersLeft;

    for (const uint32_t changed : m_changed)
    {
        m_isChanged[changed] = false;
    }
    m_changed.clear();
    UseLinks();
    for (uint32_t p = m_around.firstPort[receiver]; p < m_around.firstPort[receiver + 1]; ++p)
    {
        MarkChanged(p);
        SearchPort(p);
    }
    uint32_t nLost = 0;
    for (const uint32_t changed : m_changed)
    {
        const bool wasOpen = m_isOpen[changed];
        UpdateFeatures(changed);
        const InPort& there = m_around.ports[changed];
        nLost += wasOpen && !m_isOpen[changed] && m_free[there.link] > 0 && NeedsMore(there.server);
    }
    RebuildOpenPorts();
    return nLost;
}

void
BroadcastEnvironment::UseLinks()
{
    for (const DirectedLinkId link : m_pathLinks)
    {
        if (--m_free[link] > 0)
        {
            continue;
        }
        const NodeId source = m_topology.GetSource(link);
        if (m_topology.IsServer(source))
        {
            const std::vector<uint32_t> ports = std::move(m_portsOfOut[link]);
            m_portsOfOut[link].clear();
            for (const uint32_t port : ports)
            {
                DropSender(port, link);
            }
            continue;
        }
        for (const uint32_t port : m_openPorts)
        {
            // It may have been marked for a sender that it lost; its ways are to be searched anew.
            if (!m_around.ports[port].isDirect &&
                m_options[port].towards[source - m_nServers] == link)
            {
                MarkChanged(port);
                SearchPort(port);
            }
        }
    }
}

void
BroadcastEnvironment::DropSender(uint32_t port, DirectedLinkId out)
{
    auto& senders = m_options[port].senders;
    const auto sender =
        std::find_if(senders.begin(), senders.end(), [&](const Sender& s) { return s.out == out; });
    if (sender != senders.end())
    {
        senders.erase(sender);
        --m_nCompeting[out];
        MarkChanged(port);
    }
}

void
BroadcastEnvironment::MarkChanged(uint32_t port)
{
    if (!m_isChanged[port])
    {
        m_isChanged[port] = true;
        m_changed.push_back(port);
    }
}

void
BroadcastEnvironment::RebuildOpenPorts()
{
    m_openPorts.clear();
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        if (m_isOpen[port])
        {
            m_openPorts.push_back(port);
        }
    }
}

std::vector<float>
BroadcastEnvironment::FindMissedByTree() const
{
    std::vector<float> missed(m_nChunks, 0);
    std::vector<uint64_t> reachable(m_active.size());
    std::vector<bool> seen(m_topology.GetNNodes());
    for (const InPort& port : m_around.ports)
    {
        if (m_free[port.link] == 0 || !NeedsMore(port.server))
        {
            continue;
        }
        std::fill(reachable.begin(), reachable.end(), 0);
        std::fill(seen.begin(), seen.end(), false);
        seen[port.server] = true;
        std::vector<NodeId> queue{m_topology.GetSource(port.link)};
        for (std::size_t i = 0; i < queue.size(); ++i)
        {
            if (m_topology.IsServer(queue[i]))
            {
                const uint64_t* held = m_heldBefore.GetRow(queue[i]);
                const uint64_t* satisfied = m_satisfied.GetRow(port.server);
                for (std::size_t k = 0; k < reachable.size(); ++k)
                {
                    reachable[k] |= held[k] & ~satisfied[k] & ~m_active[k];
                }
                continue;
            }
            for (const Topology::Port& next : m_topology.GetPorts(queue[i]))
            {
                if (!seen[next.neighbor] && m_free[Reverse(next.out)] > 0)
                {
                    seen[next.neighbor] = true;
                    queue.push_back(next.neighbor);
                }
            }
        }
        uint32_t nTrees = 0;
        ForEachBit(reachable.data(), reachable.size(), [&](ChunkId) { ++nTrees; });
        ForEachBit(reachable.data(), reachable.size(), [&](ChunkId chunk) {
            missed[chunk] += 1.0F / nTrees;
        });
    }
    std::vector<float> byTree;
    for (const ChunkId chunk : m_incomplete)
    {
        byTree.push_back(missed[chunk]);
    }
    return byTree;
}

BroadcastEnvironment::RoundOutcome
BroadcastEnvironment::EndRound()
{
    uint32_t nIdle = 0;
    double sum = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        nIdle += std::min(m_nOpen[server], m_nMissing[server]);
        const uint32_t capacity = m_around.inCapacity[server];
        const uint32_t needed =
            m_nMissing[server] > 0 ? m_round + (m_nMissing[server] + capacity - 1) / capacity : 0;
        sum += std::max(needed, m_firstTarget);
    }
    const uint32_t needed = std::max(GetRoundsNeeded(), m_firstTarget);
    m_target = std::max(m_target, needed);
    return {needed, sum / m_nServers, Share(nIdle, m_totalInCapacity)};
}

} // namespace ns3::allreduce
