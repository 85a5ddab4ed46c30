/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "rate-beliefs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Frames in a window that is long enough to tell a rate.
constexpr double WINDOW_FRAMES = 16;
/// Frames of flows that were given up may be in queues: so much is waited for the first of another.
constexpr double SILENT_FRAMES = 64;
/// Frames of a whole flow that is too short for a window, and still tells a rate.
constexpr double LEAST_FRAMES = 8;
/// Trips of a frame in a window that is long enough.
constexpr double WINDOW_TRIPS = 4;
/// Blame comes to an end.
constexpr double MOST_SCORE = 24;

/// @return what a flow's lack adds to the score of a link: much of its rate must be used to clear
/// it
double
WeighLack(double lack, double pace, double announced)
{
    return lack > 0 ? lack : lack * std::min(1.0, pace / announced);
}

} // namespace

RateBeliefs::RateBeliefs(const Topology& topology, const RateBeliefsSettings& settings)
    : m_settings(settings),
      m_links(topology.GetNDirectedLinks())
{
    for (DirectedLinkId id = 0; id < topology.GetNDirectedLinks(); ++id)
    {
        const uint64_t rate = topology.GetLinkOf(id).rateBps;
        m_announcedBps.push_back(rate);
        m_links[id].announced = m_links[id].believed = m_links[id].told = rate;
        m_links[id].memory = m_settings.memorySeconds / 2;
    }
    m_believedBps = m_announcedBps;
}

void
RateBeliefs::BeginFlow(const ObservedFlow& observed, double seconds)
{
    Flow flow;
    flow.links = observed.links;
    flow.pace = observed.paceBps;
    flow.frameBits = observed.format.GetFrameBits();
    flow.wireBits = flow.frameBits / observed.format.payload;
    flow.trip = observed.tripSeconds;
    flow.begin = seconds + observed.tripSeconds + observed.setupSeconds;
    for (const DirectedLinkId link : flow.links)
    {
        flow.carriedBefore.push_back(m_links[link].carried);
        m_links[link].flows.push_back(observed.id);
    }
    m_flows.emplace(observed.id, std::move(flow));
}

void
RateBeliefs::Progress(TransferId id, const TransferProgress& progress)
{
    const auto place = m_flows.find(id);
    if (place == m_flows.end())
    {
        return;
    }
    Flow& flow = place->second;
    flow.sent = std::max(flow.sent, progress.sent);
    if (progress.arrived <= flow.arrived)
    {
        return;
    }
    for (const DirectedLinkId link : flow.links)
    {
        m_links[link].carried += (progress.arrived - flow.arrived) * flow.wireBits;
    }
    flow.arrived = progress.arrived;
}

void
RateBeliefs::EndFlow(TransferId id, uint64_t bytes, double seconds)
{
    const auto place = m_flows.find(id);
    if (place != m_flows.end())
    {
        Progress(id, {bytes, bytes});
        Look(place->second, seconds, true);
        Remove(id);
    }
}

void
RateBeliefs::AbortFlow(TransferId id, double seconds)
{
    const auto place = m_flows.find(id);
    if (place == m_flows.end())
    {
        return;
    }
    for (const DirectedLinkId link : place->second.links)
    {
        m_links[link].aborted = seconds;
    }
    Remove(id);
}

void
RateBeliefs::Remove(TransferId id)
{
    Flow& flow = m_flows.at(id);
    SetLack(flow, 0);
    for (const DirectedLinkId link : flow.links)
    {
        auto& flows = m_links[link].flows;
        flows.erase(std::find(flows.begin(), flows.end(), id));
    }
    m_flows.erase(id);
}

void
RateBeliefs::Update(double seconds)
{
    for (auto& [id, flow] : m_flows)
    {
        Look(flow, seconds, false);
    }
    Forget(seconds);
}

std::vector<TransferId>
RateBeliefs::ListBeside(TransferId id) const
{
    std::vector<TransferId> beside;
    const auto place = m_flows.find(id);
    if (place == m_flows.end())
    {
        return beside;
    }
    for (const DirectedLinkId link : place->second.links)
    {
        const auto& flows = m_links[link].flows;
        beside.insert(beside.end(), flows.begin(), flows.end());
    }
    return beside;
}

void
RateBeliefs::Look(Flow& flow, double seconds, bool isEnd)
{
    if (IsBehindAborted(flow, seconds) || seconds <= flow.begin)
    {
        return;
    }
    CountWaiting(flow, seconds);
    if (!flow.isOpen && !isEnd)
    {
        flow.isOpen = true; // What others' packets did until now is not to be counted.
        BeginWindow(flow, seconds);
        return;
    }
    const Sight sight = MakeSight(flow, seconds, isEnd);
    SetLack(flow, FindLack(flow, sight));
    const bool isFull = IsWindowFull(flow, sight);
    if (isFull || (isEnd && sight.bits >= LEAST_FRAMES * flow.frameBits))
    {
        Confirm(flow, sight);
        Refute(flow, sight);
        SetLack(flow, FindLack(flow, sight));
    }
    Refine(flow, sight);
    if (flow.lack > 0 && Blame(flow, sight))
    {
        SetLack(flow, 0);
    }
    if (isFull || isEnd)
    {
        CloseWindow(flow, sight);
    }
}

/// What was sent a trip ago and has not arrived waits somewhere.
void
RateBeliefs::CountWaiting(Flow& flow, double seconds)
{
    if (flow.sent > flow.seenSent)
    {
        flow.seenSent = flow.sent;
        flow.lastSent = seconds;
    }
    const double onTheWay = flow.pace * std::max(0.0, flow.trip - (seconds - flow.lastSent));
    const double waiting = (flow.sent - flow.arrived) * flow.wireBits - onTheWay;
    flow.mostWaiting = std::max(flow.mostWaiting, waiting);
}

/// What was given up goes first.
bool
RateBeliefs::IsBehindAborted(Flow& flow, double seconds)
{
    double last = -1;
    double slowest = flow.pace;
    for (const DirectedLinkId id : flow.links)
    {
        last = std::max(last, m_links[id].aborted);
        slowest = std::min(slowest, m_links[id].believed);
    }
    const double patience = SILENT_FRAMES * flow.frameBits / slowest;
    if (last < 0 || last + patience < flow.begin)
    {
        return false;
    }
    if (flow.arrived == 0)
    {
        return seconds < std::max(last, flow.begin) + patience;
    }
    if (!flow.isSeen || last > flow.begin)
    {
        flow.isSeen = true;
        flow.isOpen = true;
        SetLack(flow, 0);
        BeginWindow(flow, seconds);
        return true;
    }
    return false;
}

RateBeliefs::Sight
RateBeliefs::MakeSight(const Flow& flow, double seconds, bool isEnd)
{
    Sight sight;
    sight.seconds = seconds;
    sight.isEnd = isEnd;
    sight.bits = (flow.arrived - flow.firstArrived) * flow.wireBits;
    sight.elapsed = seconds - flow.begin;
    sight.isEarly = sight.elapsed < flow.trip;
    return sight;
}

double
RateBeliefs::FindLack(const Flow& flow, const Sight& sight) const
{
    std::size_t nBeside = 1; // A frame of each may have been counted too late or too early.
    for (const DirectedLinkId link : flow.links)
    {
        nBeside = std::max(nBeside, m_links[link].flows.size());
    }
    const double due =
        FULL_SHARE * FindShare(flow, sight) * sight.elapsed - nBeside * flow.frameBits;
    // What a sender holds back, because it waits for acknowledgements, says nothing of the path.
    const double bits = flow.isOpen ? std::min(due - sight.bits, flow.mostWaiting)
                                    : due - sight.bits; // Nobody has looked before its end.
    return (sight.isEarly ? std::min(bits, 0.0) : bits) / flow.frameBits;
}

bool
RateBeliefs::IsWindowFull(const Flow& flow, const Sight& sight)
{
    return sight.bits >= WINDOW_FRAMES * flow.frameBits &&
           sight.elapsed >= WINDOW_TRIPS * flow.trip;
}

double
RateBeliefs::FindCarried(const Flow& flow, std::size_t i) const
{
    return m_links[flow.links[i]].carried - flow.carriedBefore[i];
}

double
RateBeliefs::FindShare(const Flow& flow, const Sight& sight) const
{
    double share = flow.pace;
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        const double others = (FindCarried(flow, i) - sight.bits) / sight.elapsed;
        share = std::min(share, m_links[flow.links[i]].believed - others);
    }
    return std::max(share, 0.0);
}

void
RateBeliefs::SetLack(Flow& flow, double lack)
{
    for (const DirectedLinkId id : flow.links)
    {
        LinkState& link = m_links[id];
        link.pending += WeighLack(lack, flow.pace, link.announced) -
                        WeighLack(flow.lack, flow.pace, link.announced);
    }
    flow.lack = lack;
}

void
RateBeliefs::BeginWindow(Flow& flow, double seconds)
{
    flow.begin = seconds;
    flow.firstArrived = flow.arrived;
    flow.mostWaiting = 0;
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        flow.carriedBefore[i] = m_links[flow.links[i]].carried;
    }
}

void
RateBeliefs::CloseWindow(Flow& flow, const Sight& sight)
{
    const double lack = flow.lack;
    SetLack(flow, 0);
    for (const DirectedLinkId id : flow.links)
    {
        LinkState& link = m_links[id];
        const double idle = link.evidence < 0 ? 0 : sight.seconds - link.evidence;
        link.score *= std::exp2(-idle / m_settings.memorySeconds);
        link.score = std::clamp(link.score + WeighLack(lack, flow.pace, link.announced),
                                LEAST_SCORE,
                                MOST_SCORE);
        link.evidence = sight.seconds;
    }
    BeginWindow(flow, sight.seconds);
}

const std::vector<uint64_t>&
RateBeliefs::GetBelievedBps() const
{
    return m_believedBps;
}

const std::vector<uint64_t>&
RateBeliefs::GetAnnouncedBps() const
{
    return m_announcedBps;
}

uint64_t
RateBeliefs::GetVersion() const
{
    return m_version;
}

std::vector<BeliefChange>
RateBeliefs::TakeChanges()
{
    return std::exchange(m_changes, {});
}

double
RateBeliefs::GetEvidenceSeconds(DirectedLinkId link) const
{
    return m_links[link].evidence;
}

bool
RateBeliefs::IsDoubtful(DirectedLinkId link) const
{
    return m_links[link].nPartners > 0;
}

} // namespace ns3::allreduce
