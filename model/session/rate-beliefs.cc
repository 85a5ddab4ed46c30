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

/// A link or flow that has this share of its rate is not slow: the rest may be others' traffic.
constexpr double FULL_SHARE = 0.85;
/// A link that carries so many times what is believed is faster than believed.
constexpr double REFUTING_FACTOR = 1.15;
/// A link over which a flow of this share of its rate is not slow is as fast as announced.
constexpr double CLEARING_PACE_SHARE = 0.5;
/// Frames in a window that is long enough to tell a rate.
constexpr double WINDOW_FRAMES = 16;
/// Frames of flows that were given up may be in queues: so much is waited for the first of another.
constexpr double SILENT_FRAMES = 64;
/// Frames of a whole flow that is too short for a window, and still tells a rate.
constexpr double LEAST_FRAMES = 8;
/// Trips of a frame in a window that is long enough.
constexpr double WINDOW_TRIPS = 4;
/// Links that flows over them have made lack so many frames are blamed.
constexpr double BLAMED_SCORE = 12;
/// Bounds of the score: blame and good reputation come to an end.
constexpr double LEAST_SCORE = -6;
constexpr double MOST_SCORE = 24;
/// Links with this share of the highest score on a path share the blame.
constexpr double SHARED_BLAME = 0.7;
/// Score of a link that was slow, and is tried again.
constexpr double SUSPECT_SCORE = 6;
/// A link that turns out to be slow again and again is believed so for so many times as long.
constexpr double MOST_MEMORY = 64;
/// How much of a new window goes into what is believed.
constexpr double NEW_SHARE = 0.25;

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

void
RateBeliefs::Confirm(const Flow& flow, const Sight& sight)
{
    if (sight.bits >= FULL_SHARE * flow.pace * sight.elapsed)
    {
        return;
    }
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        LinkState& link = m_links[flow.links[i]];
        const double carried = FindCarried(flow, i) / sight.elapsed;
        if (link.believed >= link.announced || carried < FULL_SHARE * link.believed)
        {
            continue;
        }
        const double weight = link.isRough ? 1 : NEW_SHARE;
        link.confirmed = sight.seconds;
        link.isRough = false;
        Believe(flow.links[i], link.believed + weight * (carried - link.believed), sight.seconds);
        // One that is slow without its partners explains by itself what they were blamed for.
        for (uint32_t k = link.nPartners; k-- > 0;)
        {
            const DirectedLinkId partner = link.partners[k];
            const auto& path = flow.links;
            if (std::find(path.begin(), path.end(), partner) == path.end())
            {
                Clear(partner, 0, sight.seconds);
            }
        }
    }
}

void
RateBeliefs::Refute(const Flow& flow, const Sight& sight)
{
    const bool isFull = sight.bits >= FULL_SHARE * flow.pace * sight.elapsed;
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        const DirectedLinkId id = flow.links[i];
        LinkState& link = m_links[id];
        const double carried = FindCarried(flow, i) / sight.elapsed;
        if (link.believed >= link.announced || carried <= REFUTING_FACTOR * link.believed)
        {
            continue;
        }
        const bool isOther = isFull && flow.pace > CLEARING_PACE_SHARE * link.announced;
        // Links that share the blame are as suspect as before if the flow crosses all of them.
        const bool isAlone =
            std::none_of(link.partners.begin(),
                         link.partners.begin() + link.nPartners,
                         [&](DirectedLinkId partner) {
                             return std::count(flow.links.begin(), flow.links.end(), partner) == 0;
                         });
        if (!isAlone || isOther)
        {
            Clear(id, isFull ? LEAST_SCORE : 0, sight.seconds);
        }
        else
        {
            link.confirmed = sight.seconds;
            link.isRough = false;
            Believe(id, carried, sight.seconds);
        }
    }
}

void
RateBeliefs::Refine(const Flow& flow, const Sight& sight)
{
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        LinkState& link = m_links[flow.links[i]];
        const double carried = FindMostCarried(flow, i, sight);
        if (link.isRough && !sight.isEarly && carried < link.believed)
        {
            link.confirmed = sight.seconds;
            Believe(flow.links[i], carried, sight.seconds);
        }
    }
}

double
RateBeliefs::FindMostCarried(const Flow& flow, std::size_t i, const Sight& sight) const
{
    return (FindCarried(flow, i) + (sight.isEnd ? 0 : flow.frameBits)) / sight.elapsed;
}

bool
RateBeliefs::Blame(const Flow& flow, const Sight& sight)
{
    const auto canBe = [&](std::size_t i) {
        return FindMostCarried(flow, i, sight) < FULL_SHARE * m_links[flow.links[i]].believed;
    };
    double most = 0;
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        const LinkState& link = m_links[flow.links[i]];
        most = canBe(i) ? std::max(most, link.score + link.pending) : most;
    }
    if (most < BLAMED_SCORE)
    {
        return false;
    }
    std::array<DirectedLinkId, MOST_PARTNERS + 1> blamed{};
    std::array<double, MOST_PARTNERS + 1> carried{};
    uint32_t nBlamed = 0;
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        const LinkState& link = m_links[flow.links[i]];
        if (nBlamed < blamed.size() && canBe(i) && link.score + link.pending >= SHARED_BLAME * most)
        {
            carried[nBlamed] = FindMostCarried(flow, i, sight);
            blamed[nBlamed++] = flow.links[i];
        }
    }
    for (uint32_t i = 0; i < nBlamed; ++i)
    {
        LinkState& link = m_links[blamed[i]];
        link.isRough = true;
        link.score = 0;
        link.confirmed = link.evidence = sight.seconds;
        link.memory = std::min(2 * link.memory, MOST_MEMORY * m_settings.memorySeconds);
        link.nPartners = 0;
        std::copy_if(blamed.begin(),
                     blamed.begin() + nBlamed,
                     link.partners.begin(),
                     [&](DirectedLinkId other) { return other != blamed[i]; });
        link.nPartners = nBlamed - 1;
        Believe(blamed[i], carried[i], sight.seconds);
    }
    return true;
}

void
RateBeliefs::Clear(DirectedLinkId id, double score, double seconds)
{
    LinkState& link = m_links[id];
    link.score = score;
    link.evidence = seconds;
    link.memory = m_settings.memorySeconds / 2;
    Believe(id, link.announced, seconds);
}

void
RateBeliefs::DropPartner(DirectedLinkId id, DirectedLinkId partner)
{
    LinkState& link = m_links[id];
    const auto end = link.partners.begin() + link.nPartners;
    link.nPartners = std::remove(link.partners.begin(), end, partner) - link.partners.begin();
}

void
RateBeliefs::Believe(DirectedLinkId id, double bps, double seconds)
{
    LinkState& link = m_links[id];
    link.believed = std::max(bps, 1.0);
    if (link.believed >= FULL_SHARE * link.announced)
    {
        link.believed = link.announced;
        link.isRough = false;
        for (uint32_t i = 0; i < link.nPartners; ++i)
        {
            DropPartner(link.partners[i], id);
        }
        link.nPartners = 0;
    }
    m_believedBps[id] = std::llround(link.believed);
    const auto [less, more] = std::minmax(link.told, link.believed);
    if (more > (1 + m_settings.changeShare) * less)
    {
        m_changes.push_back(
            {seconds, id, static_cast<uint64_t>(std::llround(link.told)), m_believedBps[id]});
        link.told = link.believed;
        ++m_version;
    }
}

void
RateBeliefs::Forget(double seconds)
{
    for (DirectedLinkId id = 0; id < m_links.size(); ++id)
    {
        LinkState& link = m_links[id];
        if (link.believed >= link.announced)
        {
            continue;
        }
        if (!link.flows.empty())
        {
            link.confirmed = seconds; // They will show more.
        }
        while (seconds - link.confirmed > link.memory && link.believed < link.announced)
        {
            link.confirmed += link.memory;
            link.isRough = false;
            link.score = SUSPECT_SCORE;
            link.evidence = seconds;
            Believe(id, 2 * link.believed, seconds);
        }
    }
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
