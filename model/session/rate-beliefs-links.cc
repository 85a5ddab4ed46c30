/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * What RateBeliefs concludes of links.
 */

#include "rate-beliefs.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

namespace
{

/// A link that carries so many times what is believed is faster than believed.
constexpr double REFUTING_FACTOR = 1.15;
/// A link over which a flow of this share of its rate is not slow is as fast as announced.
constexpr double CLEARING_PACE_SHARE = 0.5;
/// Links that flows over them have made lack so many frames are blamed.
constexpr double BLAMED_SCORE = 12;
/// Links with this share of the highest score on a path share the blame.
constexpr double SHARED_BLAME = 0.7;
/// Score of a link that was slow, and is tried again.
constexpr double SUSPECT_SCORE = 6;
/// A link that turns out to be slow again and again is believed so for so many times as long.
constexpr double MOST_MEMORY = 64;
/// How much of a new window goes into what is believed.
constexpr double NEW_SHARE = 0.25;

} // namespace

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
    const auto isPossible = [&](std::size_t i) {
        return FindMostCarried(flow, i, sight) < FULL_SHARE * m_links[flow.links[i]].believed;
    };
    double most = 0;
    for (std::size_t i = 0; i < flow.links.size(); ++i)
    {
        const LinkState& link = m_links[flow.links[i]];
        most = isPossible(i) ? std::max(most, link.score + link.pending) : most;
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
        if (nBlamed < blamed.size() && isPossible(i) &&
            link.score + link.pending >= SHARED_BLAME * most)
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

} // namespace ns3::allreduce
