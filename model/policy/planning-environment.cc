/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-environment.h"

#include "feature-scale.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr DirectedLinkId NO_LINK = std::numeric_limits<DirectedLinkId>::max();
constexpr uint32_t DETOUR = 2;   //!< links more than to the nearest sender that are searched
constexpr uint32_t FAR_AWAY = 9; //!< distance of the nearest sender where there is none
constexpr uint32_t SOON = 8;     //!< sums that are due in so many rounds are worked on

} // namespace

PlanningEnvironment::PlanningEnvironment(const PlanningProblem& problem)
    : m_problem(problem),
      m_topology(*problem.topology),
      m_around(m_topology, problem.capacity),
      m_nServers(m_topology.GetNServers()),
      m_nChunks(problem.GetNChunks()),
      m_trees(problem),
      m_spread(m_around, m_nChunks),
      m_regions(m_topology, problem.capacity, m_nChunks),
      m_isInPart(problem.nParts, m_nChunks),
      m_held(m_nServers, m_nChunks),
      m_sendable(m_nServers, m_nChunks),
      m_refused(m_nServers, m_nChunks),
      m_mayLeave(m_nServers, m_nChunks),
      m_isBound(m_nServers, m_nChunks),
      m_inNeed(m_nServers, 0),
      m_isSelected(m_nChunks, true),
      m_active(m_held.GetRowWords(), 0),
      m_nOpen(m_nServers, 0),
      m_round(problem.nRoundsDone),
      m_options(m_around.ports.size()),
      m_nCompeting(m_topology.GetNDirectedLinks(), 0),
      m_demand(m_topology.GetNDirectedLinks(), 0),
      m_portsOfOut(m_topology.GetNDirectedLinks()),
      m_isOpen(m_around.ports.size(), false),
      m_isOutdated(m_around.ports.size(), false),
      m_isChanged(m_around.ports.size(), false),
      m_reachedIn(m_topology.GetNNodes(), 0),
      m_found(m_held.GetRowWords(), 0)
{
    for (PortOptions& options : m_options)
    {
        options.towards.resize(m_topology.GetNSwitches(), NO_LINK);
    }
    for (const uint32_t inCapacity : m_around.inCapacity)
    {
        m_totalInCapacity += inCapacity;
        m_widest = std::max(m_widest, inCapacity);
    }
    if (problem.mayCoresShrink)
    {
        CountCoreChildren();
    }
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        TakeChunk(chunk);
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        m_nTransfersLeft += m_inNeed[server];
    }
    m_firstTarget = std::max(problem.nRounds, GetRoundsNeeded());
    m_target = m_firstTarget;
}

void
PlanningEnvironment::CountCoreChildren()
{
    m_nInCore.assign(std::size_t{m_nChunks} * m_nServers, 0);
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            const NodeId parent = m_problem.parents[chunk][server];
            if (parent != NO_SERVER && parent != server)
            {
                ++m_nInCore[std::size_t{chunk} * m_nServers + parent];
            }
        }
    }
}

void
PlanningEnvironment::TakeChunk(ChunkId chunk)
{
    const bool isOpen = m_trees.CountLeft(chunk) > 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const bool isAtRoot = server == m_problem.roots[chunk];
        const bool isInside = m_problem.parents[chunk][server] != NO_SERVER;
        if (isAtRoot || (!m_problem.isOpen[chunk] && isInside))
        {
            AddHolder(server, chunk);
            if (!isOpen)
            {
                m_held.Set(server, chunk);
                m_spread.Cover(server, chunk);
            }
        }
        else if (m_problem.wants.GetNColumns() == 0 || m_problem.wants.Test(server, chunk))
        {
            ++m_inNeed[server];
        }
        else
        {
            AddHolder(server, chunk); // as if it had it, but it cannot send it
        }
        m_inNeed[server] += m_trees.CountAwaited(server, chunk);
        UpdateMayLeave(server, chunk);
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (!m_refused.Test(server, chunk))
        {
            m_regions.Want(server, chunk);
        }
    }
}

void
PlanningEnvironment::AddHolder(NodeId server, ChunkId chunk)
{
    m_refused.Set(server, chunk);
    m_spread.AddHolder(server, chunk);
    m_regions.Bring(server, chunk);
    m_isInPart.Set(m_problem.partOf[server], chunk);
}

bool
PlanningEnvironment::IsLoose(NodeId server, ChunkId chunk) const
{
    const ChunkId open = m_problem.partners[chunk];
    if (open != NO_CHUNK)
    {
        return m_problem.isOpen[open] && m_trees.IsPending(server, open) &&
               m_trees.CountAwaited(server, open) == 0 && !m_trees.HasMerged(server, open);
    }
    return m_problem.mayCoresShrink && !m_problem.isOpen[chunk] &&
           server != m_problem.roots[chunk] && m_problem.parents[chunk][server] != NO_SERVER &&
           m_nInCore[std::size_t{chunk} * m_nServers + server] == 0;
}

void
PlanningEnvironment::UpdateMayLeave(NodeId server, ChunkId chunk)
{
    if (IsLoose(server, chunk) && !m_isBound.Test(server, chunk))
    {
        m_mayLeave.Set(server, chunk);
        m_canLeave = true;
    }
}

uint64_t
PlanningEnvironment::GetNTransfersLeft() const
{
    return m_nTransfersLeft;
}

uint32_t
PlanningEnvironment::GetRound() const
{
    return m_round;
}

uint32_t
PlanningEnvironment::GetNChunks() const
{
    return m_nChunks;
}

uint32_t
PlanningEnvironment::CountRoundsToReceive(NodeId server) const
{
    const uint32_t capacity = m_around.inCapacity[server];
    return (m_inNeed[server] + capacity - 1) / std::max(1U, capacity);
}

uint32_t
PlanningEnvironment::GetRoundsNeeded() const
{
    uint32_t most = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        most = std::max(most, CountRoundsToReceive(server));
    }
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        if (m_trees.CountLeft(chunk) > 0)
        {
            most = std::max(most, m_trees.GetHeight(chunk) + 1);
        }
    }
    return m_round + most;
}

int64_t
PlanningEnvironment::CountSlack(NodeId server) const
{
    const int64_t roundsAfter = static_cast<int64_t>(m_target) - m_round;
    return roundsAfter * m_around.inCapacity[server] + m_nOpen[server] -
           static_cast<int64_t>(m_inNeed[server]);
}

void
PlanningEnvironment::BeginRound()
{
    ++m_round;
    m_free = m_problem.capacity;
    m_nOpen = m_around.inCapacity;
    m_sendable = m_held;
    m_nHoldersBefore = m_spread.GetCounts();
    double sum = 0;
    for (const uint32_t holders : m_nHoldersBefore)
    {
        sum += holders;
    }
    m_meanHolders = sum / m_nChunks;
    FindSelectable();
    Offer(Turn::SELECTED);
}

void
PlanningEnvironment::FindSelectable()
{
    m_selectable.clear();
    m_isAnyLeftOut = false;
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        m_isSelected[chunk] = true;
        if (m_trees.CountLeft(chunk) > 0 || m_nHoldersBefore[chunk] == 1)
        {
            m_selectable.push_back(chunk);
        }
    }
}

const std::vector<ChunkId>&
PlanningEnvironment::GetSelectableTrees() const
{
    return m_selectable;
}

void
PlanningEnvironment::SelectTrees(const std::vector<bool>& selected)
{
    for (std::size_t i = 0; i < m_selectable.size(); ++i)
    {
        m_isSelected[m_selectable[i]] = selected[i];
        m_isAnyLeftOut = m_isAnyLeftOut || !selected[i];
    }
    if (m_isAnyLeftOut)
    {
        Offer(Turn::SELECTED);
    }
}

void
PlanningEnvironment::SelectByRule(std::vector<bool>& selected) const
{
    if (!m_problem.due.empty())
    {
        for (std::size_t i = 0; i < m_selectable.size(); ++i)
        {
            selected[i] = m_problem.due[m_selectable[i]] <= m_round + SOON;
        }
        return;
    }
    uint32_t fewest = std::numeric_limits<uint32_t>::max();
    for (const ChunkId chunk : m_selectable)
    {
        const uint32_t nLeft = m_trees.CountLeft(chunk);
        fewest = nLeft > 0 ? std::min(fewest, nLeft) : fewest;
    }
    for (std::size_t i = 0; i < m_selectable.size(); ++i)
    {
        selected[i] = m_trees.CountLeft(m_selectable[i]) <= fewest;
    }
}

bool
PlanningEnvironment::OfferMore()
{
    if (m_turn == Turn::SELECTED && m_isAnyLeftOut && Offer(Turn::ALL))
    {
        return true;
    }
    return m_turn != Turn::LEAVING && m_canLeave && Offer(Turn::LEAVING);
}

bool
PlanningEnvironment::Offer(Turn turn)
{
    m_turn = turn;
    std::fill(m_active.begin(), m_active.end(), ~uint64_t{0});
    for (ChunkId chunk = 0; turn == Turn::SELECTED && chunk < m_nChunks; ++chunk)
    {
        if (!m_isSelected[chunk])
        {
            m_active[chunk / BitMatrix::WORD_BITS] &=
                ~(uint64_t{1} << chunk % BitMatrix::WORD_BITS);
        }
    }
    return SearchAll();
}

const std::vector<uint32_t>&
PlanningEnvironment::GetOpenPorts() const
{
    return m_openPorts;
}

bool
PlanningEnvironment::IsOpen(uint32_t port) const
{
    return m_isOpen[port];
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
    for (auto& ports : m_portsOfOut)
    {
        ports.clear();
    }
    m_isPortOfOut = BitMatrix(m_portsOfOut.size(), GetNPorts());
    for (PortOptions& options : m_options)
    {
        options.senders.clear();
    }
    m_changed.clear();
    std::fill(m_isChanged.begin(), m_isChanged.end(), false);
    for (uint32_t port = 0; port < GetNPorts(); ++port)
    {
        SearchPort(port);
        UpdateOpen(port);
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
        options.towards[m_topology.GetSource(link) - m_nServers] = NO_LINK;
    }
    options.senders.clear();
    options.switchLinks.clear();
    options.nFinals = 0;
    options.nPartials = 0;
    options.rarest = 0;
    options.leastDistance = FAR_AWAY;
}

bool
PlanningEnvironment::IsReceiving(NodeId server) const
{
    if (m_turn != Turn::LEAVING)
    {
        return m_inNeed[server] > 0;
    }
    const uint64_t* row = m_mayLeave.GetRow(server);
    return std::any_of(row, row + m_mayLeave.GetRowWords(), [](uint64_t word) { return word; });
}

void
PlanningEnvironment::SearchPort(uint32_t port)
{
    ForgetOptions(port);
    m_isOutdated[port] = false;
    PortOptions& options = m_options[port];
    const InPort& here = m_around.ports[port];
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
    for (std::size_t i = 0; i < m_found.size(); ++i)
    {
        m_found[i] &= GetAcceptedFinals(here.server, i);
    }
    options.rarest = std::numeric_limits<uint32_t>::max();
    ForEachBit(m_found.data(), m_found.size(), [&](ChunkId chunk) {
        ++options.nFinals;
        options.rarest = std::min(options.rarest, m_spread.GetCounts()[chunk]);
    });
    options.rarest = options.nFinals > 0 ? options.rarest : 0;
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
            const Topology::Port* way = ports.begin() + (m_round * 7 + port * 3) % ports.size();
            for (std::size_t k = 0; k < ports.size(); ++k)
            {
                const Topology::Port& next = *way;
                way = way + 1 == ports.end() ? ports.begin() : way + 1;
                const DirectedLinkId in = Reverse(next.out);
                if (m_reachedIn[next.neighbor] == m_search || m_free[in] == 0)
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
    if (!m_isPortOfOut.Test(out, port))
    {
        m_isPortOfOut.Set(out, port);
        m_portsOfOut[out].push_back(port);
    }
    const uint64_t* sendable = m_sendable.GetRow(server);
    for (std::size_t i = 0; i < m_found.size(); ++i)
    {
        m_found[i] |= sendable[i];
    }
    options.nPartials += CountOfferedPartials(server, m_around.ports[port].server);
}

uint32_t
PlanningEnvironment::CountOfferedPartials(NodeId sender, NodeId receiver) const
{
    if (m_turn == Turn::LEAVING || m_trees.CountPending(sender) == 0)
    {
        return 0;
    }
    const std::vector<ChunkId>& ready = m_trees.GetReady(sender, receiver);
    return m_turn == Turn::ALL ? ready.size()
                               : std::count_if(ready.begin(), ready.end(), [&](ChunkId chunk) {
                                     return m_isSelected[chunk];
                                 });
}

bool
PlanningEnvironment::CanSendSomething(NodeId sender, NodeId receiver) const
{
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        if (GetOfferedFinals(sender, receiver, i) != 0)
        {
            return true;
        }
    }
    return CountOfferedPartials(sender, receiver) > 0;
}

void
PlanningEnvironment::FindItems(uint32_t port,
                               const Sender& sender,
                               uint32_t most,
                               std::vector<uint32_t>& items) const
{
    const NodeId receiver = m_around.ports[port].server;
    items.clear();
    for (std::size_t i = 0; i < m_active.size(); ++i)
    {
        const uint64_t word = GetOfferedFinals(sender.server, receiver, i);
        ForEachBit(&word, 1, [&](uint32_t bit) {
            items.push_back(i * BitMatrix::WORD_BITS + bit);
        });
    }
    if (m_turn != Turn::LEAVING)
    {
        for (const ChunkId chunk : m_trees.GetReady(sender.server, receiver))
        {
            if (m_turn == Turn::ALL || m_isSelected[chunk])
            {
                items.push_back(m_nChunks + chunk);
            }
        }
    }
    if (items.size() > most)
    {
        KeepRarest(port, most, items);
    }
}

void
PlanningEnvironment::KeepRarest(uint32_t port, uint32_t most, std::vector<uint32_t>& items) const
{
    // Partial sums that are nearly complete and final sums that few have come first, equal ones in
    // another order for each port, so that not all send the same.
    const uint32_t turn = port * 31 + m_round * 17;
    m_keys.clear();
    for (const uint32_t item : items)
    {
        const uint64_t rarity =
            item < m_nChunks ? m_spread.GetCounts()[item] : m_trees.CountLeft(item - m_nChunks);
        m_keys.emplace_back(rarity * m_nChunks + (item + turn) % m_nChunks, item);
    }
    std::nth_element(m_keys.begin(), m_keys.begin() + most, m_keys.end());
    for (uint32_t i = 0; i < most; ++i)
    {
        items[i] = m_keys[i].second;
    }
    items.resize(most);
}

void
PlanningEnvironment::UpdateOpen(uint32_t port)
{
    m_isOpen[port] = !m_options[port].senders.empty() && m_free[m_around.ports[port].link] > 0;
}

void
PlanningEnvironment::ListOpenPort(uint32_t port)
{
    const auto place = std::lower_bound(m_openPorts.begin(), m_openPorts.end(), port);
    if (m_isOpen[port])
    {
        m_openPorts.insert(place, port);
    }
    else
    {
        m_openPorts.erase(place);
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
        if (m_topology.IsServer(m_topology.GetTarget(link)))
        {
            continue; // the receiver's own port, which is searched anew in any case
        }
        for (const uint32_t port : m_openPorts)
        {
            // It may have been marked for a sender that it lost; its ways are to be searched anew.
            if (m_around.ports[port].isDirect ||
                m_options[port].towards[source - m_nServers] != link)
            {
                continue;
            }
            if (m_renewal == Renewal::AT_ONCE)
            {
                MarkChanged(port);
                SearchPort(port);
            }
            else
            {
                m_isOutdated[port] = true;
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
PlanningEnvironment::DropWhereUseless(NodeId sender)
{
    for (const Topology::Port& out : m_topology.GetPorts(sender))
    {
        std::vector<uint32_t>& ports = m_portsOfOut[out.out];
        ports.erase(std::remove_if(ports.begin(),
                                   ports.end(),
                                   [&](uint32_t port) {
                                       if (CanSendSomething(sender, m_around.ports[port].server))
                                       {
                                           return false;
                                       }
                                       DropSender(port, out.out);
                                       m_isPortOfOut.Clear(out.out, port);
                                       return true;
                                   }),
                    ports.end());
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
PlanningEnvironment::SearchPortsOf(NodeId server)
{
    for (uint32_t p = m_around.firstPort[server]; p < m_around.firstPort[server + 1]; ++p)
    {
        MarkChanged(p);
        SearchPort(p);
    }
}

void
PlanningEnvironment::SetRenewal(Renewal renewal)
{
    m_renewal = renewal;
}

bool
PlanningEnvironment::Renew(uint32_t port)
{
    if (!m_isOutdated[port])
    {
        return false;
    }
    ForgetChanges();
    MarkChanged(port);
    SearchPort(port);
    UpdateOpen(port);
    if (!m_isOpen[port])
    {
        ListOpenPort(port);
    }
    return true;
}

void
PlanningEnvironment::ForgetChanges()
{
    for (const uint32_t changed : m_changed)
    {
        m_isChanged[changed] = false;
    }
    m_changed.clear();
}

uint32_t
PlanningEnvironment::Pick(uint32_t port, Sender sender, uint32_t item, WorkloadList& round)
{
    TracePath(port, sender);
    const NodeId receiver = m_path.back();
    const bool isPartial = item >= m_nChunks;
    const ChunkId chunk = isPartial ? item - m_nChunks : item;
    ForgetChanges();
    if (isPartial)
    {
        SendPartial(sender.server, receiver, chunk);
    }
    else
    {
        SendFinal(sender.server, receiver, chunk);
    }
    round.Add(chunk, isPartial ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST, m_path);
    --m_nOpen[receiver];
    UseLinks();
    if (m_turn == Turn::LEAVING)
    {
        DropWhereUseless(receiver);
        SearchPortsOf(sender.server);
    }
    SearchPortsOf(receiver);
    uint32_t nLost = 0;
    for (const uint32_t changed : m_changed)
    {
        const bool wasOpen = m_isOpen[changed];
        if (wasOpen && m_options[changed].senders.empty())
        {
            SearchPort(changed); // there may be senders farther away, or other ways to them
        }
        UpdateOpen(changed);
        if (wasOpen != m_isOpen[changed])
        {
            ListOpenPort(changed);
        }
        const InPort& there = m_around.ports[changed];
        nLost +=
            wasOpen && !m_isOpen[changed] && m_free[there.link] > 0 && m_inNeed[there.server] > 0;
    }
    return nLost;
}

void
PlanningEnvironment::SendPartial(NodeId sender, NodeId receiver, ChunkId chunk)
{
    m_trees.Send(sender, chunk);
    m_arriving.emplace_back(sender, chunk);
    const ChunkId partner = m_problem.partners[chunk];
    if (partner != NO_CHUNK)
    {
        m_mayLeave.Clear(sender, partner);
    }
    --m_inNeed[receiver];
    --m_nTransfersLeft;
}

void
PlanningEnvironment::SendFinal(NodeId sender, NodeId receiver, ChunkId chunk)
{
    m_isBound.Set(sender, chunk);
    m_mayLeave.Clear(sender, chunk);
    if (m_turn != Turn::LEAVING)
    {
        m_held.Set(receiver, chunk);
        AddHolder(receiver, chunk);
        m_spread.Cover(receiver, chunk);
        --m_inNeed[receiver];
        --m_nTransfersLeft;
        return;
    }
    m_sendable.Clear(receiver, chunk);
    LeaveCore(receiver, chunk);
}

void
PlanningEnvironment::LeaveCore(NodeId server, ChunkId chunk)
{
    const ChunkId open = m_problem.partners[chunk];
    const NodeId parent = m_problem.parents[chunk][server];
    m_mayLeave.Clear(server, chunk);
    if (open == NO_CHUNK)
    {
        --m_nInCore[std::size_t{chunk} * m_nServers + parent];
        m_departures.emplace_back(server, chunk);
    }
    else
    {
        --m_inNeed[parent];
        --m_nTransfersLeft;
        if (m_trees.Leave(server, open))
        {
            m_isCompleted.push_back(open);
        }
    }
    UpdateMayLeave(parent, chunk);
}

const std::vector<PlanningEnvironment::Departure>&
PlanningEnvironment::GetDepartures() const
{
    return m_departures;
}

PlanningEnvironment::RoundOutcome
PlanningEnvironment::EndRound()
{
    for (const auto& [sender, chunk] : m_arriving)
    {
        if (m_trees.Arrive(sender, chunk))
        {
            m_isCompleted.push_back(chunk);
        }
    }
    m_arriving.clear();
    for (const ChunkId chunk : m_isCompleted)
    {
        const NodeId root = m_problem.roots[chunk];
        m_held.Set(root, chunk);
        m_spread.Cover(root, chunk);
    }
    m_isCompleted.clear();
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
