/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-capacities.h"

#include "allreduce-error.h"
#include "allreduce-units.h"
#include "topology-builder.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Products of rates and capacities, which must be exact.
__extension__ using Wide = unsigned __int128;

/// The unit rate is a whole part of the slowest rate, and not a smaller one than this.
constexpr uint32_t MOST_PARTS = 16;

/// @return whether x has less rate for each of its unit flows than y
bool
HasLessRatePerFlow(const Link& x, const Link& y)
{
    return Wide{x.rateBps} * y.capacity < Wide{y.rateBps} * x.capacity;
}

bool
HasLessRate(const Link& x, const Link& y)
{
    return x.rateBps < y.rateBps;
}

/**
 * @param worst the link with the most rate for each unit flow, so the one that loses most
 * @param unit a link that unit flows fill exactly
 * @return whether the loss is at most MOST_ROUNDING_LOSS_PERCENT
 */
bool
IsLossSmall(const Link& worst, const Link& unit)
{
    constexpr uint32_t least = 100 - MOST_ROUNDING_LOSS_PERCENT;
    return Wide{100} * worst.capacity * unit.rateBps >= Wide{least} * worst.rateBps * unit.capacity;
}

/**
 * @param links the links
 * @param unit a link that unit flows fill exactly
 * @return the link that loses most, with the capacity that it would have
 */
Link
FindWorst(const std::vector<Link>& links, const Link& unit)
{
    Link worst = unit;
    for (Link link : links)
    {
        link.capacity = CountUnitFlows(link.rateBps, unit);
        worst = HasLessRatePerFlow(worst, link) ? link : worst;
    }
    return worst;
}

/// @return the slowest link, its capacity the number of unit flows that it should carry
Link
ChooseUnit(const std::vector<Link>& links)
{
    Link unit = *std::min_element(links.begin(), links.end(), HasLessRate);
    Link best;
    Wide bestFlows = 0;
    Wide bestRate = 1;
    for (unit.capacity = 1; unit.capacity <= MOST_PARTS; ++unit.capacity)
    {
        const Link worst = FindWorst(links, unit);
        if (IsLossSmall(worst, unit))
        {
            return unit;
        }
        // What the worst link uses of its rate, but for the slowest rate, which is a factor of all.
        const Wide rate = Wide{worst.rateBps} * unit.capacity;
        if (worst.capacity * bestRate > bestFlows * rate)
        {
            best = unit;
            bestFlows = worst.capacity;
            bestRate = rate;
        }
    }
    return best;
}

double
GetRatePerFlow(const Link& link)
{
    return static_cast<double>(link.rateBps) / link.capacity;
}

} // namespace

void
DeriveCapacities(std::vector<Link>& links)
{
    if (links.empty())
    {
        return;
    }
    const Link unit = ChooseUnit(links);
    for (Link& link : links)
    {
        link.capacity = CountUnitFlows(link.rateBps, unit);
    }
}

const Link&
FindUnitLink(const std::vector<Link>& links)
{
    return *std::min_element(links.begin(), links.end(), HasLessRatePerFlow);
}

uint32_t
CountUnitFlows(uint64_t rateBps, const Link& unit)
{
    const Wide flows = Wide{rateBps} * unit.capacity / unit.rateBps;
    return std::min<Wide>(flows, TopologyBuilder::MAX_CAPACITY);
}

void
CheckCapacities(const std::vector<Link>& links, const std::string& source)
{
    if (links.empty())
    {
        return;
    }
    const Link& unit = FindUnitLink(links);
    for (const Link& link : links)
    {
        const uint32_t expected = CountUnitFlows(link.rateBps, unit);
        if (link.capacity != expected)
        {
            FailInput(source,
                      ": link ",
                      FormatPath({link.a, link.b}),
                      ": capacity ",
                      link.capacity,
                      " at ",
                      FormatRate(link.rateBps),
                      " contradicts link ",
                      FormatPath({unit.a, unit.b}),
                      ", capacity ",
                      unit.capacity,
                      " at ",
                      FormatRate(unit.rateBps),
                      ": with unit flows of ",
                      FormatRoughRate(GetRatePerFlow(unit)),
                      " expected capacity ",
                      expected,
                      ", or leave the capacities out");
        }
    }
}

CapacityRounding
ComputeCapacityRounding(const Topology& topology)
{
    const std::vector<Link>& links = topology.GetLinks();
    if (links.empty())
    {
        return {};
    }
    const auto worst = std::max_element(links.begin(), links.end(), HasLessRatePerFlow);
    const Link& unit = FindUnitLink(links);
    const Wide whole = Wide{worst->rateBps} * unit.capacity;
    const Wide used = Wide{unit.rateBps} * worst->capacity;
    return {GetRatePerFlow(unit),
            static_cast<double>(whole - used) / static_cast<double>(whole),
            static_cast<LinkId>(worst - links.begin())};
}

} // namespace ns3::allreduce
