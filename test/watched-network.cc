/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "watched-network.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

WatchedNetwork::WatchedNetwork(const Topology& topology, WatchSettings settings)
    : m_topology(topology),
      m_settings(std::move(settings)),
      m_actual(topology),
      m_beliefs(topology, m_settings.beliefs),
      m_nextLook(m_settings.lookSeconds)
{
}

FluidNetwork&
WatchedNetwork::GetActual()
{
    return m_actual;
}

RateBeliefs&
WatchedNetwork::GetBeliefs()
{
    return m_beliefs;
}

double
WatchedNetwork::GetBelieved(NodeId from, NodeId to) const
{
    return m_beliefs.GetBelievedBps()[*m_topology.FindDirectedLink(from, to)];
}

double
WatchedNetwork::GetAnnounced(NodeId from, NodeId to) const
{
    return m_beliefs.GetAnnouncedBps()[*m_topology.FindDirectedLink(from, to)];
}

void
WatchedNetwork::SetRate(NodeId from, NodeId to, double bps)
{
    m_actual.SetRate(*m_topology.FindDirectedLink(from, to), bps);
}

TransferId
WatchedNetwork::Begin(const Path& path, double frames, double paceBps)
{
    Sent sent;
    sent.path = path;
    sent.links = FindLinks(m_topology, path);
    sent.frames = frames;
    sent.pace = paceBps;
    if (paceBps == 0)
    {
        sent.pace = std::numeric_limits<double>::infinity();
        for (const DirectedLinkId link : sent.links)
        {
            sent.pace = std::min<double>(sent.pace, m_topology.GetLinkOf(link).rateBps);
        }
    }
    sent.bytes = std::max<int64_t>(1, std::llround(frames * FORMAT.payload));
    const double now = m_actual.GetSeconds();
    sent.begin = now + m_settings.tripSeconds;
    ObservedFlow observed;
    observed.id = m_next;
    observed.links = sent.links;
    observed.paceBps = sent.pace;
    observed.format = FORMAT;
    observed.tripSeconds = m_settings.tripSeconds;
    m_beliefs.BeginFlow(observed, now);
    m_sent.emplace(m_next, std::move(sent));
    return m_next++;
}

void
WatchedNetwork::Stream(const Path& path, double frames, double paceBps)
{
    m_sent.at(Begin(path, frames, paceBps)).isStream = true;
}

void
WatchedNetwork::EndStreams()
{
    for (auto& [transfer, sent] : m_sent)
    {
        sent.isStream = false;
    }
}

void
WatchedNetwork::Abort(TransferId transfer)
{
    const auto place = m_sent.find(transfer);
    if (place->second.isThere)
    {
        m_actual.Abort(place->second.flow);
    }
    m_beliefs.AbortFlow(transfer, m_actual.GetSeconds());
    m_sent.erase(place);
}

std::vector<TransferId>
WatchedNetwork::ListTransfers() const
{
    std::vector<TransferId> transfers;
    for (const auto& [transfer, sent] : m_sent)
    {
        transfers.push_back(transfer);
    }
    return transfers;
}

void
WatchedNetwork::Run(double seconds)
{
    RunUntil([] { return false; }, seconds);
}

double
WatchedNetwork::RunUntil(const std::function<bool()>& what, double seconds)
{
    const double begin = m_actual.GetSeconds();
    const double end = begin + seconds;
    while (m_actual.GetSeconds() < end)
    {
        double next = std::min({end, m_nextLook, m_actual.GetNextEnd()});
        for (const auto& [transfer, sent] : m_sent)
        {
            next = sent.isThere ? next : std::min(next, std::max(sent.begin, begin));
        }
        Step(next);
        if (what())
        {
            return m_actual.GetSeconds() - begin;
        }
    }
    return std::numeric_limits<double>::infinity();
}

void
WatchedNetwork::Step(double until)
{
    for (const FluidNetwork::FlowId flow : m_actual.Advance(until))
    {
        const auto place = std::find_if(m_sent.begin(), m_sent.end(), [&](const auto& entry) {
            return entry.second.isThere && entry.second.flow == flow;
        });
        const auto [transfer, sent] = *place;
        m_sent.erase(place);
        m_ends[transfer] = until;
        m_beliefs.EndFlow(transfer, sent.bytes, until);
        if (sent.isStream)
        {
            Stream(sent.path, sent.frames, sent.pace);
        }
    }
    BeginFlows();
    if (until >= m_nextLook)
    {
        Look();
        m_nextLook = until + m_settings.lookSeconds;
    }
}

void
WatchedNetwork::BeginFlows()
{
    for (auto& [transfer, sent] : m_sent)
    {
        if (!sent.isThere && sent.begin <= m_actual.GetSeconds())
        {
            sent.isThere = true;
            sent.flow =
                m_actual.Begin(sent.links, sent.pace, 8.0 * FORMAT.GetWireBytes(sent.bytes));
        }
    }
}

/// What has arrived comes in whole frames, some of them late. Senders keep to their pace.
void
WatchedNetwork::Look()
{
    const double now = m_actual.GetSeconds();
    for (const auto& entry : m_sent)
    {
        const TransferId transfer = entry.first;
        const auto& sent = entry.second;
        const double bits = sent.isThere ? m_actual.GetBits(sent.flow) : 0;
        const double late = m_settings.jitter();
        const double nArrived = std::floor(bits / FORMAT.GetFrameBits() - late);
        const double seconds = now - sent.begin + m_settings.tripSeconds;
        const double nSent = std::floor(sent.pace * seconds / FORMAT.GetFrameBits());
        const auto count = [&](double nFrames) {
            const uint64_t bytes = std::max<int64_t>(0, std::llround(nFrames)) * FORMAT.payload;
            return std::min(bytes, sent.bytes);
        };
        m_beliefs.Progress(transfer, {std::max(count(nSent), count(nArrived)), count(nArrived)});
    }
    m_beliefs.Update(now);
}

const std::map<TransferId, double>&
WatchedNetwork::GetEnds() const
{
    return m_ends;
}

} // namespace ns3::allreduce
