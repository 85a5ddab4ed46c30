/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "believed-network.h"

#include "ns3/ideal-time.h"
#include "ns3/link-capacities.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Links are taken to be no slower than this: else rounds would be long for all others.
constexpr uint64_t MOST_SLOWER = 32;
/// Links that are slower than announced by this factor may be left out.
constexpr uint64_t USELESS_FACTOR = 3;
/// So much longer may the rest take for it.
constexpr double MOST_LONGER_WITHOUT = 1.05;
/// The slowest so many links are considered.
constexpr std::size_t MOST_USELESS = 16;
/// The rate of a link that carries nothing.
constexpr uint64_t NO_BPS = 1;

/// Rates that fit together make small capacities. Where they do not, many transfers share each
/// link, which fill queues as soon as one of them is slower than believed.
/// @return about the rate, as the announced one over a power of two
uint64_t
RoundRate(uint64_t bps, uint64_t announcedBps)
{
    constexpr double TOLERANCE = 0.4; // A link that is a third faster or slower is as good.
    const double slower = std::log2(static_cast<double>(announcedBps) / bps);
    return announcedBps >> static_cast<uint32_t>(std::max(0.0, std::ceil(slower - TOLERANCE)));
}

double
ComputeBandwidth(const Topology& topology,
                 const std::vector<Link>& links,
                 const Collective& collective,
                 uint64_t bytes)
{
    return ComputeIdealTime(topology.WithLinks(topology.GetName(), links), collective, bytes)
        .bandwidth;
}

std::vector<LinkId>
FindUseless(const Topology& announced,
            const std::vector<Link>& links,
            const Collective& collective,
            uint64_t bytes)
{
    std::vector<LinkId> slow;
    for (LinkId link = 0; link < links.size(); ++link)
    {
        if (links[link].rateBps < announced.GetLink(link).rateBps / USELESS_FACTOR)
        {
            slow.push_back(link);
        }
    }
    if (slow.empty())
    {
        return slow;
    }
    std::sort(slow.begin(), slow.end(), [&](LinkId x, LinkId y) {
        return std::make_pair(links[x].rateBps, x) < std::make_pair(links[y].rateBps, y);
    });
    slow.resize(std::min(slow.size(), MOST_USELESS));
    std::vector<Link> left = links;
    const double most = MOST_LONGER_WITHOUT * ComputeBandwidth(announced, links, collective, bytes);
    std::vector<LinkId> useless;
    for (const LinkId link : slow)
    {
        const uint64_t rate = std::exchange(left[link].rateBps, NO_BPS);
        if (ComputeBandwidth(announced, left, collective, bytes) <= most)
        {
            useless.push_back(link);
        }
        else
        {
            left[link].rateBps = rate;
        }
    }
    return useless;
}

} // namespace

Topology
MakeWithRates(const Topology& announced, const std::vector<uint64_t>& believedBps)
{
    std::vector<Link> links = announced.GetLinks();
    for (LinkId link = 0; link < links.size(); ++link)
    {
        const uint64_t rate = std::min(believedBps[2 * link], believedBps[2 * link + 1]);
        links[link].rateBps = std::max(rate, links[link].rateBps / MOST_SLOWER);
    }
    return announced.WithLinks(announced.GetName(), std::move(links));
}

BelievedNetwork
MakeBelievedNetwork(const Topology& announced,
                    const std::vector<uint64_t>& believedBps,
                    const Collective& collective,
                    uint64_t bytes)
{
    std::vector<Link> links = MakeWithRates(announced, believedBps).GetLinks();
    for (LinkId link = 0; link < links.size(); ++link)
    {
        links[link].rateBps = RoundRate(links[link].rateBps, announced.GetLink(link).rateBps);
    }
    std::vector<LinkId> useless = FindUseless(announced, links, collective, bytes);
    for (const LinkId link : useless)
    {
        links[link].rateBps = announced.GetLink(link).rateBps; // Its rate shapes no rounds.
    }
    DeriveCapacities(links);
    return {announced.WithLinks(announced.GetName(), std::move(links)), std::move(useless)};
}

} // namespace ns3::allreduce
