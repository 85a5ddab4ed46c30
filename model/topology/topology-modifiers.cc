/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-modifiers.h"

#include "allreduce-error.h"
#include "allreduce-units.h"
#include "link-capacities.h"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

void
CheckFraction(const Topology& topology, const char* modifier, double fraction)
{
    if (!(fraction >= 0 && fraction <= 1))
    {
        FailInput(modifier,
                  " of ",
                  topology.GetName(),
                  ": fraction ",
                  fraction,
                  ", expected 0 to 1");
    }
}

std::string
MakeName(const Topology& topology, const char* modifier, double fraction, uint64_t seed)
{
    std::ostringstream name;
    name << topology.GetName() << " " << modifier << "=" << fraction;
    if (seed != 1)
    {
        name << "," << seed;
    }
    return name.str();
}

/// @return the ids of all links in random order
std::vector<LinkId>
ShuffleLinks(const Topology& topology, uint64_t seed)
{
    std::vector<LinkId> order(topology.GetNLinks());
    std::iota(order.begin(), order.end(), 0);
    std::mt19937_64 random(seed);
    // std::shuffle is not the same in every standard library.
    for (std::size_t i = order.size(); i > 1; --i)
    {
        boost::random::uniform_int_distribution<std::size_t> draw(0, i - 1);
        std::swap(order[i - 1], order[draw(random)]);
    }
    return order;
}

/**
 * @param topology the network
 * @param order all links
 * @return by link: whether it is in the spanning forest that prefers the links last in the order
 */
std::vector<bool>
FindSpanningForest(const Topology& topology, const std::vector<LinkId>& order)
{
    std::vector<uint32_t> rank(topology.GetNNodes());
    std::vector<NodeId> parent(topology.GetNNodes());
    boost::disjoint_sets components(rank.data(), parent.data());
    for (NodeId node = 0; node < topology.GetNNodes(); ++node)
    {
        components.make_set(node);
    }
    std::vector<bool> inForest(topology.GetNLinks(), false);
    for (auto id = order.rbegin(); id != order.rend(); ++id)
    {
        const Link& link = topology.GetLink(*id);
        if (components.find_set(link.a) != components.find_set(link.b))
        {
            components.union_set(link.a, link.b);
            inForest[*id] = true;
        }
    }
    return inForest;
}

/**
 * Remove links that only lead to switches, outermost first.
 *
 * @param topology the network
 * @param [in,out] removed by link; the others must be a forest
 * @param left how many links to remove at most
 */
void
PruneSwitches(const Topology& topology, std::vector<bool>& removed, uint32_t left)
{
    auto findOnlyLink = [&](NodeId node) {
        std::optional<LinkId> only;
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            if (!removed[port.out / 2])
            {
                if (only)
                {
                    return std::optional<LinkId>();
                }
                only = port.out / 2;
            }
        }
        return only;
    };
    for (NodeId start = topology.GetNServers(); start < topology.GetNNodes(); ++start)
    {
        NodeId node = start;
        while (left > 0 && !topology.IsServer(node))
        {
            const auto link = findOnlyLink(node);
            if (!link)
            {
                break;
            }
            removed[*link] = true;
            --left;
            node = topology.GetLink(*link).a + topology.GetLink(*link).b - node;
        }
    }
}

/**
 * Double rate and capacity. Where the capacity was the rate rounded down, what was lost, doubled,
 * can make one more unit flow.
 *
 * @param [in,out] link the link
 * @param unit a link that unit flows fill exactly
 */
void
Widen(Link& link, const Link& unit)
{
    const bool isRounded = link.capacity == CountUnitFlows(link.rateBps, unit);
    link.rateBps *= 2;
    link.capacity = isRounded ? CountUnitFlows(link.rateBps, unit) : 2 * link.capacity;
}

} // namespace

Topology
Degrade(const Topology& topology, double fraction, uint64_t seed)
{
    CheckFraction(topology, "degrade", fraction);
    if (!topology.AreServersConnected())
    {
        FailInput("degrade of ", topology.GetName(), ": its servers are not connected");
    }
    uint32_t left = std::lround(fraction * topology.GetNLinks());
    left = fraction > 0 ? std::max(left, 1u) : 0;
    const uint32_t nAsked = left;

    const std::vector<LinkId> order = ShuffleLinks(topology, seed);
    const std::vector<bool> inForest = FindSpanningForest(topology, order);
    std::vector<bool> removed(topology.GetNLinks(), false);
    for (const LinkId id : order)
    {
        if (left > 0 && !inForest[id])
        {
            removed[id] = true;
            --left;
        }
    }
    PruneSwitches(topology, removed, left);

    std::vector<Link> links;
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        if (!removed[id])
        {
            links.push_back(topology.GetLink(id));
        }
    }
    const uint32_t nRemoved = topology.GetNLinks() - links.size();
    if (nRemoved < nAsked)
    {
        // Not as many could go; the name says what was done, to two digits.
        fraction = std::round(100.0 * nRemoved / topology.GetNLinks()) / 100;
    }
    return topology.WithLinks(MakeName(topology, "degrade", fraction, seed), std::move(links));
}

Topology
MixCapacity(const Topology& topology, double fraction, uint64_t seed)
{
    CheckFraction(topology, "mixed", fraction);
    std::vector<Link> links = topology.GetLinks();
    const Link unit = links.empty() ? Link() : FindUnitLink(links);
    const std::vector<LinkId> order = ShuffleLinks(topology, seed);
    for (uint32_t i = 0; i < std::lround(fraction * links.size()); ++i)
    {
        Widen(links[order[i]], unit);
    }
    return topology.WithLinks(MakeName(topology, "mixed", fraction, seed), std::move(links));
}

Topology
WithUnitRate(const Topology& topology, uint64_t unitRateBps)
{
    std::vector<Link> links = topology.GetLinks();
    const Link unit = links.empty() ? Link() : FindUnitLink(links);
    for (Link& link : links)
    {
        const auto rate = static_cast<long double>(link.rateBps) * unit.capacity / unit.rateBps;
        if (rate * unitRateBps > Link::MAX_RATE_BPS)
        {
            FailInput(topology.GetName(),
                      ": link ",
                      link.a,
                      "-",
                      link.b,
                      ": with unit flows of ",
                      FormatRate(unitRateBps),
                      " it would be too fast, expected at most ",
                      FormatRate(Link::MAX_RATE_BPS));
        }
        link.rateBps = std::max(1LL, std::llroundl(rate * unitRateBps));
    }
    return topology.WithLinks(topology.GetName(), std::move(links));
}

Topology
WithDelay(const Topology& topology, int64_t delayNs)
{
    std::vector<Link> links = topology.GetLinks();
    for (Link& link : links)
    {
        link.delayNs = delayNs;
    }
    return topology.WithLinks(topology.GetName(), std::move(links));
}

} // namespace ns3::allreduce
