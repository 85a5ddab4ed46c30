/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-environment.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t DETOUR = 2;   //!< links more than to the nearest sender that are searched
constexpr uint32_t FAR_AWAY = 9; //!< distance of the nearest sender where there is none

/// @return a number of bits, rounded up to words
uint32_t
RoundUpToWords(uint32_t nBits)
{
    return (nBits + BitMatrix::WORD_BITS - 1) / BitMatrix::WORD_BITS * BitMatrix::WORD_BITS;
}

} // namespace

PlanningEnvironment::PlanningEnvironment(const Topology& topology,
                                         std::vector<uint32_t> capacity,
                                         uint32_t nChunks,
                                         PlanMode mode)
    : m_topology(topology),
      m_capacity(std::move(capacity)),
      m_around(topology, m_capacity),
      m_nServers(topology.GetNServers()),
      m_nChunks(nChunks),
      m_planeBits(RoundUpToWords(nChunks)),
      m_inNeed(m_nServers, 0),
      m_isSelected(nChunks, true),
      m_nOpen(m_nServers, 0),
      m_lostLater(m_nServers, 0),
      m_options(m_around.ports.size()),
      m_nCompeting(topology.GetNDirectedLinks(), 0),
      m_isOpen(m_around.ports.size(), false),
      m_nPortFeatures(GetPolicyFeatures(mode, PolicyHead::PORT).size()),
      m_portsOfOut(topology.GetNDirectedLinks()),
      m_demand(topology.GetNDirectedLinks(), 0),
      m_portFeatures(m_around.ports.size() * m_nPortFeatures, 0),
      m_isChanged(m_around.ports.size(), false),
      m_reachedIn(topology.GetNNodes(), 0)
{
    const uint32_t nItems = mode == PlanMode::FORWARD ? 2 * m_planeBits : m_planeBits;
    m_sendable = BitMatrix(m_nServers, nItems);
    m_refused = BitMatrix(m_nServers, nItems);
    m_rarity.resize(nItems, 0);
    m_active.resize(nItems / BitMatrix::WORD_BITS, 0);
    m_unique.resize(m_active.size(), 0);
    m_found.resize(m_active.size(), 0);
    for (PortOptions& options : m_options)
    {
        options.towards.resize(topology.GetNSwitches());
    }
    for (const uint32_t inCapacity : m_around.inCapacity)
    {
        m_totalInCapacity += inCapacity;
    }
}

void
PlanningEnvironment::BeginRound()
{
    ++m_round;
    m_free = m_capacity;
    m_nOpen = m_around.inCapacity;
    TakeStock();
    OfferFirst();
}

bool
PlanningEnvironment::Offer(bool isLimited, uint32_t firstItem)
{
    const std::size_t firstWord = firstItem / BitMatrix::WORD_BITS;
    std::fill(m_active.begin(), m_active.begin() + firstWord, 0);
    std::fill(m_active.begin() + firstWord, m_active.end(), ~uint64_t{0});
    for (std::size_t i = 0; isLimited && i < m_selectable.size(); ++i)
    {
        const ChunkId chunk = m_selectable[i];
        for (uint32_t item = chunk; !m_isSelected[chunk] && item < m_rarity.size();
             item += m_planeBits)
        {
            m_active[item / BitMatrix::WORD_BITS] &= ~(uint64_t{1} << item % BitMatrix::WORD_BITS);
        }
    }
    FindUnique();
    return SearchAll();
}

void
PlanningEnvironment::FindUnique()
{
    std::fill(m_unique.begin(), m_unique.end(), 0);
    for (uint32_t item = 0; item < m_rarity.size(); ++item)
    {
        const uint64_t bit = uint64_t{m_rarity[item] == 1} << item % BitMatrix::WORD_BITS;
        const std::size_t word = item / BitMatrix::WORD_BITS;
        m_unique[word] |= bit & m_active[word];
    }
}

void
PlanningEnvironment::SelectTrees(const std::vector<bool>& selected)
{
    for (std::size_t i = 0; i < m_selectable.size(); ++i)
    {
        m_isSelected[m_selectable[i]] = selected[i];
    }
    if (std::find(selected.begin(), selected.end(), false) != selected.end())
    {
        OfferFirst();
    }
}

uint32_t
PlanningEnvironment::GetRound() const
{
    return m_round;
}

uint32_t
PlanningEnvironment::GetNPorts() const
{
    return m_around.ports.size();
}

const std::vector<ChunkId>&
PlanningEnvironment::GetSelectableTrees() const
{
    return m_selectable;
}

const std::vector<uint32_t>&
PlanningEnvironment::GetOpenPorts() const
{
    return m_openPorts;
}

const float*
PlanningEnvironment::GetPortFeatures(uint32_t port) const
{
    return m_portFeatures.data() + port * m_nPortFeatures;
}

const std::vector<uint32_t>&
PlanningEnvironment::GetChangedPorts() const
{
    return m_changed;
}

const std::vector<PlanningEnvironment::Sender>&
PlanningEnvironment::GetSenders(uint32_t port) const
{
    return m_options[port].senders;
}

bool
PlanningEnvironment::SearchAll()
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
PlanningEnvironment::ForgetOptions(uint32_t port)
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
PlanningEnvironment::SearchPort(uint32_t port)
{
    ForgetOptions(port);
    PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
    options.nItems = 0;
    options.rarest = 0;
    options.leastDistance = FAR_AWAY;
    if (m_free[here.link] == 0 || !IsReceiving(here.server))
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
    options.rarest = std::numeric_limits<uint32_t>::max();
    ForEachBit(m_found.data(), m_found.size(), [&](uint32_t item) {
        ++options.nItems;
        options.rarest = std::min(options.rarest, m_rarity[item]);
    });
}

void
PlanningEnvironment::SearchSwitches(uint32_t port)
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
PlanningEnvironment::AddSender(uint32_t port, NodeId server, uint32_t distance, DirectedLinkId out)
{
    PortOptions& options = m_options[port];
    if (options.senders.empty())
    {
        options.leastDistance = distance;
    }
    options.senders.push_back({server, distance, out});
    ++m_nCompeting[out];
    m_portsOfOut[out].push_back(port);
    const NodeId receiver = m_around.ports[port].server;
    const uint64_t* sendable = m_sendable.GetRow(server);
    const uint64_t* refused = m_refused.GetRow(receiver);
    const std::vector<uint64_t>& offered = GetOffered(server, receiver);
    for (std::size_t i = 0; i < m_found.size(); ++i)
    {
        m_found[i] |= sendable[i] & offered[i] & ~refused[i];
    }
}

bool
PlanningEnvironment::CanSendSomething(NodeId sender, NodeId receiver) const
{
    const uint64_t* sendable = m_sendable.GetRow(sender);
    const uint64_t* refused = m_refused.GetRow(receiver);
    const std::vector<uint64_t>& offered = GetOffered(sender, receiver);
    for (std::size_t i = 0; i < offered.size(); ++i)
    {
        if (sendable[i] & offered[i] & ~refused[i])
        {
            return true;
        }
    }
    return false;
}

bool
PlanningEnvironment::NeedsMore(NodeId server) const
{
    return m_inNeed[server] > 0;
}

float
PlanningEnvironment::GetSlack(NodeId server) const
{
    const int64_t roundsAfter = static_cast<int64_t>(m_target) - m_round;
    const int64_t slack = roundsAfter * m_around.inCapacity[server] + m_nOpen[server] -
                          static_cast<int64_t>(m_inNeed[server]) - m_lostLater[server];
    return ScaleSlack(slack);
}

uint32_t
PlanningEnvironment::CountFreeOut(NodeId server) const
{
    uint32_t count = 0;
    for (const Topology::Port& port : m_topology.GetPorts(server))
    {
        count += m_free[port.out];
    }
    return count;
}

void
PlanningEnvironment::UseLinks()
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
            // A port that was searched several times is there as often.
            for (const uint32_t port : m_portsOfOut[link])
            {
                DropSender(port, link);
            }
            m_portsOfOut[link].clear();
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
PlanningEnvironment::DropSender(uint32_t port, DirectedLinkId out)
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
PlanningEnvironment::MarkChanged(uint32_t port)
{
    if (!m_isChanged[port])
    {
        m_isChanged[port] = true;
        m_changed.push_back(port);
    }
}

void
PlanningEnvironment::RebuildOpenPorts()
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

void
PlanningEnvironment::SearchPortsOf(NodeId server)
{
    for (uint32_t p = m_around.firstPort[server]; p < m_around.firstPort[server + 1]; ++p)
    {
        MarkChanged(p);
        SearchPort(p);
    }
}

PlanningEnvironment::PortCompetition
PlanningEnvironment::FindCompetition(uint32_t port) const
{
    const PortOptions& options = m_options[port];
    const NodeId server = m_around.ports[port].server;
    PortCompetition competition{std::numeric_limits<uint32_t>::max(), 0, 0, 0};
    for (const Sender& sender : options.senders)
    {
        const uint32_t nCompeting = std::max(1U, m_nCompeting[sender.out]);
        competition.fewest = std::min(competition.fewest, nCompeting);
        competition.meanShare += 1.0F / nCompeting / options.senders.size();
        competition.nNearest += sender.distance == options.leastDistance;
    }
    for (uint32_t p = m_around.firstPort[server]; p < m_around.firstPort[server + 1]; ++p)
    {
        competition.nElsewhere += p != port ? m_options[p].senders.size() : 0;
    }
    return competition;
}

PlanningEnvironment::WayPressure
PlanningEnvironment::ExploreWay(uint32_t port, const Sender& sender) const
{
    const PortOptions& options = m_options[port];
    WayPressure pressure;
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
            pressure.contention += 1.0F / std::max(1U, nFree);
            pressure.largest = std::max(pressure.largest, Share(m_demand[link], GetNPorts()));
            pressure.sum += Share(m_demand[link], GetNPorts());
        }
        node = next;
    }
    return pressure;
}

void
PlanningEnvironment::FindItems(uint32_t port,
                               const Sender& sender,
                               uint32_t most,
                               std::vector<uint32_t>& items) const
{
    const NodeId receiver = m_around.ports[port].server;
    const uint64_t* sendable = m_sendable.GetRow(sender.server);
    const uint64_t* refused = m_refused.GetRow(receiver);
    const std::vector<uint64_t>& offered = GetOffered(sender.server, receiver);
    items.clear();
    for (std::size_t i = 0; i < offered.size(); ++i)
    {
        const uint64_t word = sendable[i] & offered[i] & ~refused[i];
        ForEachBit(&word, 1, [&](uint32_t bit) {
            items.push_back(i * BitMatrix::WORD_BITS + bit);
        });
    }
    if (items.size() > most)
    {
        // Equally rare ones in another order for each port, so that not all send the same.
        const uint32_t turn = port * 31 + m_round * 17;
        std::nth_element(items.begin(),
                         items.begin() + most,
                         items.end(),
                         [&](uint32_t x, uint32_t y) {
                             if (m_rarity[x] != m_rarity[y])
                             {
                                 return m_rarity[x] < m_rarity[y];
                             }
                             return (x + turn) % m_nChunks < (y + turn) % m_nChunks;
                         });
        items.resize(most);
        std::sort(items.begin(), items.end());
    }
}

void
PlanningEnvironment::UpdateFeatures(uint32_t port)
{
    m_isOpen[port] = !m_options[port].senders.empty() && m_free[m_around.ports[port].link] > 0;
    if (m_isOpen[port])
    {
        WritePortFeatures(port, &m_portFeatures[port * m_nPortFeatures]);
    }
}

void
PlanningEnvironment::TracePath(uint32_t port, const Sender& sender)
{
    m_pathLinks.assign(1, sender.out);
    m_path.assign(1, sender.server);
    NodeId node = m_topology.GetTarget(sender.out);
    m_path.push_back(node);
    while (!m_topology.IsServer(node))
    {
        const DirectedLinkId link = m_options[port].towards[node - m_nServers];
        m_pathLinks.push_back(link);
        node = m_topology.GetTarget(link);
        m_path.push_back(node);
    }
}

uint32_t
PlanningEnvironment::Pick(uint32_t port, Sender sender, uint32_t item, WorkloadList& round)
{
    TracePath(port, sender);
    return Commit(port, item, round);
}

void
PlanningEnvironment::PickAlong(uint32_t port, uint32_t item, const Path& path, WorkloadList& round)
{
    m_path = path;
    m_pathLinks.clear();
    for (std::size_t i = 0; i + 1 < path.size(); ++i)
    {
        m_pathLinks.push_back(*m_topology.FindDirectedLink(path[i], path[i + 1]));
    }
    Commit(port, item, round);
}

uint32_t
PlanningEnvironment::FindPort(const Path& path) const
{
    const auto link = m_topology.FindDirectedLink(path[path.size() - 2], path.back());
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        if (link && m_around.ports[port].link == *link)
        {
            return port;
        }
    }
    return GetNPorts();
}

uint32_t
PlanningEnvironment::GetItem(const Workload& workload) const
{
    return workload.kind == WorkloadKind::REDUCE ? GetPartialItem(workload.chunk) : workload.chunk;
}

uint32_t
PlanningEnvironment::Commit(uint32_t port, uint32_t item, WorkloadList& round)
{
    const NodeId sender = m_path.front();
    const NodeId receiver = m_path.back();
    m_sendingLess.clear();
    Apply(item, m_path, round);
    m_unique[item / BitMatrix::WORD_BITS] &= ~(uint64_t{1} << item % BitMatrix::WORD_BITS);
    --m_nOpen[receiver];

    for (const uint32_t changed : m_changed)
    {
        m_isChanged[changed] = false;
    }
    m_changed.clear();
    UseLinks();
    for (const NodeId server : m_sendingLess)
    {
        DropWhereUseless(server);
    }
    if (IsPartialItem(item))
    {
        SearchPortsOf(sender);
    }
    SearchPortsOf(receiver);
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
PlanningEnvironment::DropWhereUseless(NodeId sender)
{
    for (const Topology::Port& out : m_topology.GetPorts(sender))
    {
        std::vector<uint32_t>& ports = m_portsOfOut[out.out];
        ports.erase(std::remove_if(ports.begin(),
                                   ports.end(),
                                   [&](uint32_t port) {
                                       const NodeId receiver = m_around.ports[port].server;
                                       if (CanSendSomething(sender, receiver))
                                       {
                                           return false;
                                       }
                                       DropSender(port, out.out);
                                       return true;
                                   }),
                    ports.end());
    }
}

void
PlanningEnvironment::FindReachableUnselected(const InPort& port, std::vector<uint64_t>& items) const
{
    std::fill(items.begin(), items.end(), 0);
    const uint64_t* refused = m_refused.GetRow(port.server);
    std::vector<bool> seen(m_topology.GetNNodes(), false);
    seen[port.server] = true;
    std::vector<NodeId> queue{m_topology.GetSource(port.link)};
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        if (m_topology.IsServer(queue[i]))
        {
            const uint64_t* sendable = m_sendable.GetRow(queue[i]);
            for (std::size_t k = 0; k < items.size(); ++k)
            {
                items[k] |= sendable[k] & ~refused[k] & ~m_active[k];
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
}

std::vector<float>
PlanningEnvironment::FindMissedByTree() const
{
    std::vector<float> missed(m_nChunks, 0);
    std::vector<uint64_t> items(m_active.size());
    for (const InPort& port : m_around.ports)
    {
        if (m_free[port.link] == 0 || !NeedsMore(port.server))
        {
            continue;
        }
        FindReachableUnselected(port, items);
        uint32_t nItems = 0;
        ForEachBit(items.data(), items.size(), [&](uint32_t) { ++nItems; });
        ForEachBit(items.data(), items.size(), [&](uint32_t item) {
            missed[GetChunk(item)] += 1.0F / nItems;
        });
    }
    std::vector<float> byTree;
    for (const ChunkId chunk : m_selectable)
    {
        byTree.push_back(missed[chunk]);
    }
    return byTree;
}

} // namespace ns3::allreduce
