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
/// A link that does, under flows that are not slow, is as fast as announced.
constexpr double CLEARING_FACTOR = 1.3;
/// Frames in a window that is long enough to tell a rate.
constexpr double WINDOW_FRAMES = 16;
/// Frames of flows that were given up may be in queues: so much is waited for the first of another.
constexpr double SILENT_FRAMES = 64;
/// Round trips in a window that is long enough.
constexpr double WINDOW_TRIPS = 2;
/// Links that flows over them have made lack so many frames are blamed.
constexpr double BLAMED_SCORE = 12;
/// Bounds of the score: blame and good reputation come to an end.
constexpr double LEAST_SCORE = -6;
constexpr double MOST_SCORE = 24;
/// Links with this share of the highest score on a path share the blame.
constexpr double SHARED_BLAME = 0.7;
/// Score of a link that was slow, and is tried again.
constexpr double SUSPECT_SCORE = 6;
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
    flow.ackBits = observed.ackFrames * flow.frameBits;
    flow.roundTrip = observed.roundTripSeconds;
    flow.earliestBegin = flow.lastLook = seconds;
    flow.begin = seconds + observed.roundTripSeconds + observed.setupSeconds;
    Flow& kept = m_flows.emplace(observed.id, std::move(flow)).first->second;
    SetRate(kept, 0, kept.pace);
}

void
RateBeliefs::Progress(TransferId id, uint64_t ackedBytes, double seconds)
{
    const auto place = m_flows.find(id);
    if (place != m_flows.end())
    {
        Look(place->second, ackedBytes, seconds, false);
    }
}

void
RateBeliefs::EndFlow(TransferId id, uint64_t bytes, double seconds)
{
    const auto place = m_flows.find(id);
    if (place != m_flows.end())
    {
        Look(place->second, bytes, seconds, true);
        Remove(id, seconds);
    }
}

void
RateBeliefs::AbortFlow(TransferId id, double seconds)
{
    Remove(id, seconds);
}

void
RateBeliefs::Remove(TransferId id, double seconds)
{
    const auto place = m_flows.find(id);
    if (place == m_flows.end())
    {
        return;
    }
    Flow& flow = place->second;
    SetLack(flow, 0);
    SetRate(flow, 0, 0);
    for (const DirectedLinkId link : flow.links)
    {
        m_links[link].left = seconds;
    }
    m_flows.erase(place);
}

void
RateBeliefs::Look(Flow& flow, uint64_t acked, double seconds, bool isEnd)
{
    if (IsBeforeFirst(flow, acked, seconds))
    {
        const double known = seconds - flow.begin - flow.roundTrip;
        if (known > 0) // Others have what a silent flow does not get.
        {
            SetRate(flow, 0, std::min(flow.high, flow.ackBits / known));
        }
        return;
    }
    SkipShared(flow);
    const bool isAdvance = acked > flow.acked || isEnd;
    flow.acked = std::max(flow.acked, acked);
    if (seconds > flow.begin)
    {
        const Sight sight = MakeSight(flow, seconds, isAdvance, isEnd);
        const double before = flow.acked > 0 ? flow.high : flow.pace;
        SetRate(flow, std::min(flow.low, sight.most), std::min(before, sight.most));
        SetLack(flow, FindLack(flow, sight, FindShare(flow)));
        if (IsWindowFull(flow, sight))
        {
            SetRate(flow, sight.least, sight.mean);
            Confirm(flow, seconds);
            Refute(flow, seconds);
            SetLack(flow, FindLack(flow, sight, FindShare(flow)));
        }
        Refine(flow, seconds);
        if (flow.lack > 0 && Blame(flow, seconds))
        {
            SetLack(flow, 0);
        }
        if (IsWindowFull(flow, sight) || isEnd)
        {
            CloseWindow(flow, sight);
        }
    }
    flow.lastLook = seconds;
}

bool
RateBeliefs::IsBeforeFirst(Flow& flow, uint64_t acked, double seconds)
{
    const double patience = SILENT_FRAMES * flow.frameBits / std::max(FindShare(flow), 1.0);
    if (flow.acked > 0 || (acked == 0 && seconds > flow.begin + patience))
    {
        return false;
    }
    if (acked > 0)
    {
        flow.acked = acked;
        flow.lastLook = seconds;
        BeginWindow(flow, std::max(flow.begin, seconds));
    }
    return true;
}

RateBeliefs::Sight
RateBeliefs::MakeSight(const Flow& flow, double seconds, bool isAdvance, bool isEnd)
{
    Sight sight;
    sight.seconds = seconds;
    sight.isAdvance = isAdvance;
    sight.isEnd = isEnd;
    sight.bits = (flow.acked - flow.firstAcked) * flow.wireBits;
    const double elapsed = seconds - flow.begin;
    sight.most = flow.pace;
    if (elapsed > WINDOW_TRIPS * flow.roundTrip)
    {
        // The rest may have arrived and not be known yet.
        const double known = elapsed - flow.roundTrip;
        const double ahead = flow.acked > 0 ? 0 : SILENT_FRAMES * flow.frameBits;
        sight.most = std::min(sight.most, (sight.bits + flow.ackBits + ahead) / known);
        // What came just now had not come when this was looked at last.
        const double before = isEnd ? elapsed : flow.lastLook - flow.begin;
        if (isAdvance && before > WINDOW_TRIPS * flow.roundTrip)
        {
            sight.most = std::min(sight.most, sight.bits / before);
        }
    }
    const double longest = seconds - flow.earliestBegin + (isEnd ? flow.roundTrip / 2 : 0);
    sight.least = std::min(sight.most, sight.bits / longest);
    sight.mean = std::clamp(sight.bits / elapsed, sight.least, sight.most);
    return sight;
}

double
RateBeliefs::FindLack(const Flow& flow, const Sight& sight, double share)
{
    const double due = FULL_SHARE * share;
    const double elapsed = sight.seconds - flow.begin;
    double bits = due * (elapsed - flow.roundTrip) - flow.ackBits - sight.bits;
    if (sight.isAdvance)
    {
        const double before = sight.isEnd ? elapsed : flow.lastLook - flow.begin;
        bits = std::max(bits, due * before - sight.bits);
    }
    if (elapsed < WINDOW_TRIPS * flow.roundTrip)
    {
        bits = std::min(bits, 0.0);
    }
    return bits / flow.frameBits;
}

bool
RateBeliefs::IsWindowFull(const Flow& flow, const Sight& sight)
{
    return sight.isAdvance && sight.bits >= WINDOW_FRAMES * flow.frameBits &&
           sight.seconds - flow.begin >= WINDOW_TRIPS * flow.roundTrip;
}

double
RateBeliefs::FindShare(const Flow& flow) const
{
    double share = flow.pace;
    for (const DirectedLinkId id : flow.links)
    {
        const LinkState& link = m_links[id];
        share = std::min(share, link.believed - (link.high - flow.high));
    }
    return std::max(share, 0.0);
}

void
RateBeliefs::SetRate(Flow& flow, double low, double high)
{
    for (const DirectedLinkId id : flow.links)
    {
        m_links[id].low += low - flow.low;
        m_links[id].high += high - flow.high;
    }
    flow.low = low;
    flow.high = high;
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
RateBeliefs::SkipShared(Flow& flow)
{
    for (const DirectedLinkId id : flow.links)
    {
        const LinkState& link = m_links[id];
        if (link.believed < link.announced && link.left > flow.begin)
        {
            // What the other one had in the queue goes first.
            SetLack(flow, 0);
            SetRate(flow, 0, flow.pace);
            BeginWindow(flow, link.left);
        }
    }
}

void
RateBeliefs::BeginWindow(Flow& flow, double seconds)
{
    flow.earliestBegin = std::min(flow.lastLook, seconds);
    flow.begin = seconds;
    flow.firstAcked = flow.acked;
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
RateBeliefs::Confirm(const Flow& flow, double seconds)
{
    if (flow.high >= FULL_SHARE * flow.pace)
    {
        return;
    }
    for (const DirectedLinkId id : flow.links)
    {
        LinkState& link = m_links[id];
        if (link.believed >= link.announced || link.high < FULL_SHARE * link.believed)
        {
            continue;
        }
        const double weight = link.isRough ? 1 : NEW_SHARE;
        link.confirmed = seconds;
        link.isRough = false;
        Believe(id, link.believed + weight * (link.high - link.believed), seconds);
        // One that is slow without its partners explains by itself what they were blamed for.
        for (uint32_t i = link.nPartners; i-- > 0;)
        {
            const DirectedLinkId partner = link.partners[i];
            const auto& path = flow.links;
            if (std::find(path.begin(), path.end(), partner) == path.end())
            {
                Clear(partner, 0, seconds);
            }
        }
    }
}

void
RateBeliefs::Refute(const Flow& flow, double seconds)
{
    const bool isFull = flow.high >= FULL_SHARE * flow.pace;
    for (const DirectedLinkId id : flow.links)
    {
        LinkState& link = m_links[id];
        if (link.believed >= link.announced || link.low <= REFUTING_FACTOR * link.believed)
        {
            continue;
        }
        const bool isOther = isFull && link.low > CLEARING_FACTOR * link.believed;
        // Links that share the blame are as suspect as before if the flow crosses all of them.
        const bool isAlone =
            std::none_of(link.partners.begin(),
                         link.partners.begin() + link.nPartners,
                         [&](DirectedLinkId partner) {
                             return std::count(flow.links.begin(), flow.links.end(), partner) == 0;
                         });
        if (!isAlone || isOther)
        {
            Clear(id, isFull ? LEAST_SCORE : 0, seconds);
        }
        else
        {
            link.confirmed = seconds;
            link.isRough = false;
            Believe(id, link.low, seconds);
        }
    }
}

void
RateBeliefs::Refine(const Flow& flow, double seconds)
{
    for (const DirectedLinkId id : flow.links)
    {
        LinkState& link = m_links[id];
        if (link.isRough && link.high < link.believed)
        {
            link.confirmed = seconds;
            Believe(id, link.high, seconds);
        }
    }
}

bool
RateBeliefs::Blame(const Flow& flow, double seconds)
{
    const auto canBe = [](const LinkState& link) { return link.high < FULL_SHARE * link.believed; };
    double most = 0;
    for (const DirectedLinkId id : flow.links)
    {
        const LinkState& link = m_links[id];
        most = canBe(link) ? std::max(most, link.score + link.pending) : most;
    }
    if (most < BLAMED_SCORE)
    {
        return false;
    }
    std::array<DirectedLinkId, MOST_PARTNERS + 1> blamed{};
    uint32_t nBlamed = 0;
    for (const DirectedLinkId id : flow.links)
    {
        const LinkState& link = m_links[id];
        if (nBlamed < blamed.size() && canBe(link) &&
            link.score + link.pending >= SHARED_BLAME * most)
        {
            blamed[nBlamed++] = id;
        }
    }
    for (uint32_t i = 0; i < nBlamed; ++i)
    {
        LinkState& link = m_links[blamed[i]];
        link.isRough = true;
        link.score = 0;
        link.confirmed = link.evidence = seconds;
        link.nPartners = 0;
        std::copy_if(blamed.begin(),
                     blamed.begin() + nBlamed,
                     link.partners.begin(),
                     [&](DirectedLinkId other) { return other != blamed[i]; });
        link.nPartners = nBlamed - 1;
        Believe(blamed[i], link.high, seconds);
    }
    return true;
}

void
RateBeliefs::Clear(DirectedLinkId id, double score, double seconds)
{
    LinkState& link = m_links[id];
    link.score = score;
    link.evidence = seconds;
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
        if (link.high > 1 && link.high < REFUTING_FACTOR * link.believed)
        {
            link.confirmed = seconds; // Flows crawl over it.
        }
        while (seconds - link.confirmed > m_settings.memorySeconds &&
               link.believed < link.announced)
        {
            link.confirmed += m_settings.memorySeconds;
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
