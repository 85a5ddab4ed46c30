/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-supply.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace ns3::allreduce
{

namespace
{

__extension__ typedef __int128 RateSum; // exact, so that rates that come and go leave nothing

/// Some rates together become larger or smaller.
struct SupplyChange
{
    int64_t atNs;  //!< when
    RateSum delta; //!< by how much
};

} // namespace

LinkSupply::LinkSupply(const Topology& topology,
                       const std::vector<RateChange>& changes,
                       int64_t slackNs)
{
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        m_steps.push_back({{0, topology.GetLinkOf(link).rateBps}});
    }
    int64_t lastNs = std::numeric_limits<int64_t>::min();
    for (const RateChange& change : changes)
    {
        if (change.atNs < lastNs)
        {
            FailInput(topology.GetName(),
                      ": a rate changes at ",
                      change.atNs,
                      " ns after one at ",
                      lastNs,
                      " ns, expected ascending times");
        }
        lastNs = change.atNs;
        Add(topology, change);
    }
    for (Steps& steps : m_steps)
    {
        if (slackNs > 0 && steps.size() > 1)
        {
            steps = Hasten(steps, slackNs);
        }
    }
}

void
LinkSupply::Add(const Topology& topology, const RateChange& change)
{
    if (change.link >= m_steps.size())
    {
        FailInput(topology.GetName(),
                  ": the rate of directed link ",
                  change.link,
                  " changes, expected less than ",
                  m_steps.size());
    }
    if (change.rateBps > Link::MAX_RATE_BPS)
    {
        FailInput(topology.GetName(),
                  ": directed link ",
                  change.link,
                  " gets a rate of ",
                  change.rateBps,
                  " bit/s, expected at most ",
                  Link::MAX_RATE_BPS);
    }
    Steps& steps = m_steps[change.link];
    const int64_t atNs = std::max<int64_t>(change.atNs, 0);
    if (steps.back().atNs == atNs)
    {
        steps.back().rateBps = change.rateBps;
    }
    else
    {
        steps.push_back({atNs, change.rateBps});
    }
}

/// @return steps to the largest rate from then on until the slack is over
LinkSupply::Steps
LinkSupply::Hasten(const Steps& steps, int64_t slackNs)
{
    std::vector<int64_t> times; // at which that can change
    for (const Step& step : steps)
    {
        times.push_back(step.atNs);
        times.push_back(std::max<int64_t>(0, step.atNs - slackNs));
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    Steps hastened;
    auto first = steps.begin(); // the step at the time
    for (const int64_t atNs : times)
    {
        while (std::next(first) != steps.end() && std::next(first)->atNs <= atNs)
        {
            ++first;
        }
        uint64_t most = 0;
        for (auto step = first; step != steps.end() && step->atNs - slackNs <= atNs; ++step)
        {
            most = std::max(most, step->rateBps);
        }
        if (hastened.empty() || hastened.back().rateBps != most)
        {
            hastened.push_back({atNs, most});
        }
    }
    return hastened;
}

double
LinkSupply::FindSeconds(const std::vector<Part>& parts, double bits) const
{
    std::vector<SupplyChange> changes;
    RateSum rate = 0;
    for (const Part& part : parts)
    {
        uint64_t last = 0;
        for (const Step& step : m_steps[part.link])
        {
            const RateSum delta = RateSum{step.rateBps} - last;
            last = step.rateBps;
            if (step.atNs <= part.fromNs)
            {
                rate += delta;
            }
            else
            {
                changes.push_back({step.atNs - part.fromNs, delta});
            }
        }
    }
    std::sort(changes.begin(), changes.end(), [](const SupplyChange& x, const SupplyChange& y) {
        return x.atNs < y.atNs;
    });
    int64_t timeNs = 0;
    for (const SupplyChange& change : changes)
    {
        const double carried = 1e-9 * static_cast<double>(rate) * (change.atNs - timeNs);
        if (carried >= bits)
        {
            break;
        }
        bits -= carried;
        timeNs = change.atNs;
        rate += change.delta;
    }
    return rate > 0 ? 1e-9 * timeNs + bits / static_cast<double>(rate)
                    : std::numeric_limits<double>::infinity();
}

std::vector<uint64_t>
LinkSupply::ComputeMeanRates(double seconds) const
{
    std::vector<uint64_t> rates;
    for (const Steps& steps : m_steps)
    {
        const double mean = ComputeMeanRate(steps, seconds);
        const uint64_t rate =
            steps.size() == 1 ? steps[0].rateBps : static_cast<uint64_t>(std::ceil(mean));
        rates.push_back(std::clamp<uint64_t>(rate, 1, Link::MAX_RATE_BPS));
    }
    return rates;
}

double
LinkSupply::ComputeMeanRate(const Steps& steps, double seconds)
{
    if (seconds <= 0)
    {
        return steps.front().rateBps;
    }
    double bits = 0;
    for (auto step = steps.begin(); step != steps.end() && 1e-9 * step->atNs < seconds; ++step)
    {
        const auto next = std::next(step);
        const double end = next == steps.end() ? seconds : std::min(seconds, 1e-9 * next->atNs);
        bits += (end - 1e-9 * step->atNs) * step->rateBps;
    }
    return bits / seconds;
}

} // namespace ns3::allreduce
