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

constexpr DirectedLinkId NO_LINK = std::numeric_limits<DirectedLinkId>::max();
constexpr uint32_t DETOUR = 2;   //!< links more than to the nearest sender that are searched
constexpr uint32_t FAR_AWAY = 9; //!< distance of the nearest sender where there is none

} // namespace

PlanningEnvironment::PlanningEnvironment(const PlanningProblem& problem)
    : m_state(problem),
      m_offered(m_state),
      m_options(m_state.network->ports.size()),
      m_isOpen(m_options.size(), false),
      m_isChanged(m_options.size(), false),
      m_isOutdated(m_options.size(), false),
      m_nCompeting(m_state.topology.GetNDirectedLinks(), 0),
      m_demand(m_state.topology.GetNDirectedLinks(), 0),
      m_portsOfOut(m_state.topology.GetNDirectedLinks()),
      m_reachedIn(m_state.topology.GetNNodes(), 0),
      m_found(m_state.sendable.GetRowWords(), 0)
{
    for (PortOptions& options : m_options)
    {
        options.towards.resize(m_state.topology.GetNSwitches(), NO_LINK);
    }
}

void
PlanningEnvironment::BeginRound()
{
    m_state.BeginRound();
    m_offered.BeginRound(m_state);
    Offer(OfferPhase::SELECTED);
}

void
PlanningEnvironment::SelectTrees(const std::vector<bool>& selected)
{
    m_offered.SelectTrees(selected);
    if (m_offered.IsAnyLeftOut())
    {
        Offer(OfferPhase::SELECTED);
    }
}

bool
PlanningEnvironment::OfferMore()
{
    if (m_offered.GetPhase() == OfferPhase::SELECTED && m_offered.IsAnyLeftOut() &&
        Offer(OfferPhase::ALL))
    {
        return true;
    }
    return m_offered.GetPhase() != OfferPhase::LEAVING && m_state.canAnyLeave &&
           Offer(OfferPhase::LEAVING);
}

/// Search all ports for what a phase offers. @return whether any is open
bool
PlanningEnvironment::Offer(OfferPhase phase)
{
    m_offered.SetPhase(phase);
    std::fill(m_nCompeting.begin(), m_nCompeting.end(), 0);
    for (auto& ports : m_portsOfOut)
    {
        ports.clear();
    }
    m_isPortOfOut = BitMatrix(m_portsOfOut.size(), m_options.size());
    for (PortOptions& options : m_options)
    {
        options.senders.clear();
    }
    m_changed.clear();
    m_openPorts.clear();
    for (uint32_t port = 0; port < m_options.size(); ++port)
    {
        SearchPort(port);
        UpdateOpen(port);
        m_isChanged[port] = true;
        m_changed.push_back(port);
        if (m_isOpen[port])
        {
            m_openPorts.push_back(port);
        }
    }
    return !m_openPorts.empty();
}

void
PlanningEnvironment::ClearPort(uint32_t port)
{
    PortOptions& options = m_options[port];
    for (const PortSender& sender : options.senders)
    {
        --m_nCompeting[sender.out];
    }
    for (const DirectedLinkId link : options.switchLinks)
    {
        --m_demand[link];
        options.towards[m_state.topology.GetSource(link) - m_state.nServers] = NO_LINK;
    }
    options.senders.clear();
    options.switchLinks.clear();
    options.nFinals = 0;
    options.nPartials = 0;
    options.rarest = 0;
    options.leastDistance = FAR_AWAY;
}

void
PlanningEnvironment::SearchPort(uint32_t port)
{
    ClearPort(port);
    m_isOutdated[port] = false;
    PortOptions& options = m_options[port];
    const InPort& here = m_state.network->ports[port];
    if (m_state.free[here.link] == 0 || !m_offered.IsReceiving(m_state, here.server))
    {
        return;
    }
    std::fill(m_found.begin(), m_found.end(), 0);
    if (here.isDirect)
    {
        const NodeId sender = m_state.topology.GetSource(here.link);
        if (m_offered.HasAny(m_state, sender, here.server))
        {
            AddSender(port, {sender, 1, here.link});
        }
    }
    else
    {
        SearchSwitches(port);
    }
    for (std::size_t i = 0; i < m_found.size(); ++i)
    {
        m_found[i] &= m_offered.GetAcceptedFinals(m_state, here.server, i);
    }
    options.rarest = std::numeric_limits<uint32_t>::max();
    ForEachBit(m_found.data(), m_found.size(), [&](ChunkId chunk) {
        ++options.nFinals;
        options.rarest = std::min(options.rarest, m_state.spread.GetCounts()[chunk]);
    });
    options.rarest = options.nFinals > 0 ? options.rarest : 0;
}

/// Breadth first, against the direction of the links.
void
PlanningEnvironment::SearchSwitches(uint32_t port)
{
    const Topology& topology = m_state.topology;
    PortOptions& options = m_options[port];
    const InPort& here = m_state.network->ports[port];
    const NodeId start = topology.GetSource(here.link);
    ++m_search;
    m_reachedIn[here.server] = m_search;
    m_reachedIn[start] = m_search;
    options.towards[start - m_state.nServers] = here.link;
    m_queue.assign(1, start);
    uint32_t distance = 2;
    uint32_t farthest = std::numeric_limits<uint32_t>::max();
    for (std::size_t i = 0; i < m_queue.size() && distance <= farthest; ++distance)
    {
        for (const std::size_t end = m_queue.size(); i < end; ++i)
        {
            const auto neighbors = topology.GetPorts(m_queue[i]);
            // Begin elsewhere for each port and round, so that not all prefer the same path.
            const Topology::Port* at =
                neighbors.begin() + (m_state.round * 7 + port * 3) % neighbors.size();
            for (std::size_t k = 0; k < neighbors.size(); ++k)
            {
                const Topology::Port& next = *at;
                at = at + 1 == neighbors.end() ? neighbors.begin() : at + 1;
                const DirectedLinkId in = Reverse(next.out);
                if (m_reachedIn[next.neighbor] == m_search || m_state.free[in] == 0)
                {
                    continue;
                }
                m_reachedIn[next.neighbor] = m_search;
                if (!topology.IsServer(next.neighbor))
                {
                    options.towards[next.neighbor - m_state.nServers] = in;
                    options.switchLinks.push_back(in);
                    ++m_demand[in];
                    m_queue.push_back(next.neighbor);
                }
                else if (m_offered.HasAny(m_state, next.neighbor, here.server))
                {
                    AddSender(port, {next.neighbor, distance, in});
                    farthest = options.leastDistance + DETOUR;
                }
            }
        }
    }
}

void
PlanningEnvironment::AddSender(uint32_t port, const PortSender& sender)
{
    PortOptions& options = m_options[port];
    if (options.senders.empty())
    {
        options.leastDistance = sender.distance;
    }
    options.senders.push_back(sender);
    ++m_nCompeting[sender.out];
    if (!m_isPortOfOut.Test(sender.out, port))
    {
        m_isPortOfOut.Set(sender.out, port);
        m_portsOfOut[sender.out].push_back(port);
    }
    const uint64_t* sendable = m_state.sendable.GetRow(sender.server);
    for (std::size_t i = 0; i < m_found.size(); ++i)
    {
        m_found[i] |= sendable[i];
    }
    options.nPartials +=
        m_offered.CountPartials(m_state, sender.server, m_state.network->ports[port].server);
}

void
PlanningEnvironment::RemoveSender(uint32_t port, DirectedLinkId out)
{
    auto& senders = m_options[port].senders;
    const auto sender = std::find_if(senders.begin(), senders.end(), [&](const PortSender& s) {
        return s.out == out;
    });
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
PlanningEnvironment::ForgetChanges()
{
    for (const uint32_t changed : m_changed)
    {
        m_isChanged[changed] = false;
    }
    m_changed.clear();
}

void
PlanningEnvironment::RemoveLink(DirectedLinkId link)
{
    const NodeId source = m_state.topology.GetSource(link);
    if (m_state.topology.IsServer(source))
    {
        // A port that was searched several times is there as often.
        for (const uint32_t port : m_portsOfOut[link])
        {
            RemoveSender(port, link);
        }
        m_portsOfOut[link].clear();
        return;
    }
    if (m_state.topology.IsServer(m_state.topology.GetTarget(link)))
    {
        return; // the receiver's own port, which is searched again in any case
    }
    for (const uint32_t port : m_openPorts)
    {
        if (m_state.network->ports[port].isDirect ||
            m_options[port].towards[source - m_state.nServers] != link)
        {
            continue;
        }
        if (m_renewal == Renewal::AT_ONCE)
        {
            // Also if it has been marked before, for a sender that it lost: its paths have changed.
            MarkChanged(port);
            SearchPort(port);
        }
        else
        {
            m_isOutdated[port] = true;
        }
    }
}

void
PlanningEnvironment::RemoveUseless(NodeId sender)
{
    for (const Topology::Port& out : m_state.topology.GetPorts(sender))
    {
        std::vector<uint32_t>& ports = m_portsOfOut[out.out];
        const auto isUseless = [&](uint32_t port) {
            if (m_offered.HasAny(m_state, sender, m_state.network->ports[port].server))
            {
                return false;
            }
            RemoveSender(port, out.out);
            m_isPortOfOut.Clear(out.out, port);
            return true;
        };
        ports.erase(std::remove_if(ports.begin(), ports.end(), isUseless), ports.end());
    }
}

void
PlanningEnvironment::SearchPortsOf(NodeId server)
{
    for (uint32_t p = m_state.network->firstPort[server];
         p < m_state.network->firstPort[server + 1];
         ++p)
    {
        MarkChanged(p);
        SearchPort(p);
    }
}

/// Find out whether a port is open, without listing it.
void
PlanningEnvironment::UpdateOpen(uint32_t port)
{
    m_isOpen[port] =
        !m_options[port].senders.empty() && m_state.free[m_state.network->ports[port].link] > 0;
}

/// A port has become open, or is not any more.
void
PlanningEnvironment::UpdateList(uint32_t port)
{
    const auto position = std::lower_bound(m_openPorts.begin(), m_openPorts.end(), port);
    if (m_isOpen[port])
    {
        m_openPorts.insert(position, port);
    }
    else
    {
        m_openPorts.erase(position);
    }
}

uint32_t
PlanningEnvironment::UpdateOpenPorts()
{
    uint32_t nLost = 0;
    for (const uint32_t changed : m_changed)
    {
        const bool wasOpen = m_isOpen[changed];
        if (wasOpen && m_options[changed].senders.empty())
        {
            SearchPort(changed); // there may be senders farther away, or other paths to them
        }
        UpdateOpen(changed);
        if (wasOpen != m_isOpen[changed])
        {
            UpdateList(changed);
        }
        const InPort& there = m_state.network->ports[changed];
        nLost += wasOpen && !m_isOpen[changed] && m_state.free[there.link] > 0 &&
                 m_state.nMissing[there.server] > 0;
    }
    return nLost;
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
        UpdateList(port);
    }
    return true;
}

void
PlanningEnvironment::FindItems(uint32_t port,
                               const PortSender& sender,
                               uint32_t most,
                               std::vector<uint32_t>& items) const
{
    m_offered.Find(m_state, sender.server, port, most, items);
}

uint32_t
PlanningEnvironment::Pick(uint32_t port, PortSender sender, uint32_t item, WorkloadList& workloads)
{
    FindPath(port, sender);
    const NodeId receiver = m_path.back();
    const bool isPartial = item >= m_state.nChunks;
    const bool isLeaving = m_offered.GetPhase() == OfferPhase::LEAVING;
    const ChunkId chunk = isPartial ? item - m_state.nChunks : item;
    ForgetChanges();
    if (isPartial)
    {
        m_state.SendPartial(sender.server, chunk);
    }
    else if (isLeaving)
    {
        m_state.SendFinalToLeaver(sender.server, receiver, chunk);
    }
    else
    {
        m_state.SendFinal(sender.server, receiver, chunk);
    }
    workloads.Add(chunk, isPartial ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST, m_path);
    for (const DirectedLinkId link : m_pathLinks)
    {
        if (m_state.UseLink(link) == 0)
        {
            RemoveLink(link);
        }
    }
    if (isLeaving)
    {
        RemoveUseless(receiver);
        SearchPortsOf(sender.server);
    }
    SearchPortsOf(receiver);
    return UpdateOpenPorts();
}

void
PlanningEnvironment::FindPath(uint32_t port, const PortSender& sender)
{
    m_pathLinks.assign(1, sender.out);
    m_path.assign(1, sender.server);
    m_path.push_back(m_state.topology.GetTarget(sender.out));
    while (!m_state.topology.IsServer(m_path.back()))
    {
        m_pathLinks.push_back(m_options[port].towards[m_path.back() - m_state.nServers]);
        m_path.push_back(m_state.topology.GetTarget(m_pathLinks.back()));
    }
}

} // namespace ns3::allreduce
