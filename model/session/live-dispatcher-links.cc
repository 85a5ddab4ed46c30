/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * What a LiveDispatcher has left of links.
 */

#include "live-dispatcher.h"

#include "ns3/allreduce-error.h"
#include "ns3/log.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// A port is asked about if so much of its rate is left: less would only crawl.
constexpr double LEAST_SHARE_LEFT = 0.05;
/// What is sent faster than this times what it is believed to get waits in queues.
constexpr double SLOW_FACTOR = 1.25;
/// So many transfers that have been sent, and have not arrived, may be on a link that others begin
/// to use: more are waiting in a queue.
constexpr uint32_t MOST_TRAILING = 1;

} // namespace

void
LiveDispatcher::UpdateBelieved()
{
    const auto isReady = [this](NodeId node) {
        return !m_topology.IsServer(node) || m_isReady[node];
    };
    for (DirectedLinkId link = 0; link < m_believedBps.size(); ++link)
    {
        const bool isUsable = m_state.IsLinkUp(GetLinkId(link)) &&
                              isReady(m_topology.GetSource(link)) &&
                              isReady(m_topology.GetTarget(link));
        m_believedBps[link] = isUsable ? m_seemingBps[link] : 0;
        UpdateFree(link);
    }
}

void
LiveDispatcher::UpdateFree(DirectedLinkId link)
{
    const bool isQueued = m_nTrailing[link] > MOST_TRAILING;
    m_freeBps[link] = isQueued ? 0 : m_believedBps[link] * std::clamp(1 - m_taken[link], 0.0, 1.0);
}

bool
LiveDispatcher::HasRateLeft(DirectedLinkId port) const
{
    return m_freeBps[port] > 0 && m_taken[port] <= 1 - LEAST_SHARE_LEFT;
}

void
LiveDispatcher::AskPort(DirectedLinkId port)
{
    if (!m_isToAsk[port])
    {
        m_isToAsk[port] = true;
        m_ask.push_back(port);
    }
}

void
LiveDispatcher::AskPortsOf(NodeId server)
{
    for (const Topology::Port& port : m_topology.GetPorts(server))
    {
        AskPort(port.out);
    }
}

void
LiveDispatcher::AskAllPorts()
{
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        AskPortsOf(server);
    }
}

/// What is sent over links that were announced to be faster shows whether they still are.
void
LiveDispatcher::FindRates(Entry& entry) const
{
    uint64_t rate = UINT64_MAX;
    uint64_t pace = UINT64_MAX;
    for (const DirectedLinkId link : entry.links)
    {
        if (m_freeBps[link] == 0)
        {
            FailInput(GetSchedulerName(*m_scheduler),
                      " chooses ",
                      Describe(entry.transfer.GetWorkload()),
                      ": link ",
                      FormatPath({m_topology.GetSource(link), m_topology.GetTarget(link)}),
                      " has no rate left");
        }
        rate = std::min(rate, m_freeBps[link]);
        pace =
            std::min(pace, m_announcedBps[link] - std::min(m_announcedBps[link], m_pacedBps[link]));
    }
    entry.rateBps = rate;
    entry.paceBps = std::max({pace, rate, uint64_t{1}});
}

void
LiveDispatcher::TakeLinks(Entry& entry)
{
    for (const DirectedLinkId link : entry.links)
    {
        const double most = std::max<uint64_t>(1, m_believedBps[link]);
        entry.taken.push_back(entry.rateBps / most);
        m_taken[link] += entry.taken.back();
        m_pacedBps[link] += entry.paceBps;
        UpdateFree(link);
    }
}

void
LiveDispatcher::FreePorts(uint32_t index)
{
    Entry& entry = m_entries[index];
    if (m_followed)
    {
        m_followed->FreePorts(entry.planned);
        entry.holdsPorts = false;
        return;
    }
    if (entry.paceBps < SLOW_FACTOR * entry.rateBps)
    {
        BeginTrail(entry);
        GiveBackLinks(entry);
    }
}

void
LiveDispatcher::BeginTrail(Entry& entry)
{
    entry.isTrailing = true;
    for (const DirectedLinkId link : entry.links)
    {
        ++m_nTrailing[link];
        UpdateFree(link);
    }
}

void
LiveDispatcher::EndTrail(Entry& entry)
{
    if (!std::exchange(entry.isTrailing, false))
    {
        return;
    }
    bool wasQueued = false;
    for (const DirectedLinkId link : entry.links)
    {
        wasQueued = wasQueued || m_nTrailing[link] > MOST_TRAILING;
        --m_nTrailing[link];
        UpdateFree(link);
    }
    if (wasQueued)
    {
        AskAllPorts();
    }
}

void
LiveDispatcher::GiveBackLinks(Entry& entry)
{
    if (!entry.holdsPorts)
    {
        return;
    }
    entry.holdsPorts = false;
    bool wasInnerFull = false;
    for (std::size_t i = 0; i < entry.links.size(); ++i)
    {
        const DirectedLinkId link = entry.links[i];
        const bool isInner = i > 0 && i + 1 < entry.links.size();
        wasInnerFull = wasInnerFull || (isInner && !HasRateLeft(link));
        m_taken[link] = std::max(0.0, m_taken[link] - entry.taken[i]);
        m_pacedBps[link] -= entry.paceBps;
        UpdateFree(link);
    }
    AskPort(entry.links.front());
    AskPort(entry.links.back());
    if (wasInnerFull)
    {
        AskAllPorts(); // Anybody may have waited for it.
    }
}

} // namespace ns3::allreduce
