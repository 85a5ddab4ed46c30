/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-faults.h"

#include "ns3/abort.h"
#include "ns3/allreduce-error.h"
#include "ns3/bit-mix.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace ns3::allreduce
{

namespace
{

constexpr std::size_t MOST_BURSTS = 1'000'000;

/// The times of one directed link's bursts; the standard fixes the numbers of the generator, but
/// not those of its distributions.
class BurstTimes
{
  public:
    BurstTimes(const BurstModel& model, DirectedLinkId link)
        : m_model(model),
          m_link(link),
          m_random(MixBits(MixBits(model.seed) + link))
    {
    }

    /// Add the bursts that begin before a time. A later time adds more, and changes none.
    void Draw(Time horizon, std::vector<Burst>& bursts)
    {
        const double on = m_model.meanOn.GetSeconds();
        const double off = m_model.meanOff.GetSeconds();
        bool isOn = DrawUnit() * (on + off) <= on;
        for (Time begin; begin < horizon; isOn = !isOn)
        {
            const Time end = begin + DrawTime(isOn ? m_model.meanOn : m_model.meanOff);
            if (isOn)
            {
                bursts.push_back({m_link, begin, end, m_model.load});
            }
            begin = end;
            if (bursts.size() > MOST_BURSTS)
            {
                FailInput("bursts: more than ",
                          MOST_BURSTS,
                          " until ",
                          horizon.GetSeconds(),
                          " s, expected longer times, or fewer links that have them");
            }
        }
    }

  private:
    /// @return a number above 0, up to 1
    double DrawUnit()
    {
        constexpr int BITS = 53;
        return std::ldexp((m_random() >> (64 - BITS)) + 1.0, -BITS);
    }

    /// @return a time of a nanosecond or more with an exponential distribution
    Time DrawTime(Time mean)
    {
        return NanoSeconds(1 + std::llround(-std::log(DrawUnit()) * mean.GetNanoSeconds()));
    }

    const BurstModel& m_model;   //!< how long they are
    const DirectedLinkId m_link; //!< where
    std::mt19937_64 m_random;    //!< draws
};

} // namespace

void
ScheduleFaults(Ptr<AllReduceNetwork> network, const std::vector<LinkFault>& faults)
{
    for (const LinkFault& fault : faults)
    {
        const auto duration = fault.up ? std::optional(*fault.up - fault.down) : std::nullopt;
        network->ScheduleOutage(fault.link, fault.down, duration);
    }
}

uint32_t
CountLateFaults(const std::vector<LinkFault>& faults)
{
    return std::count_if(faults.begin(), faults.end(), [](const LinkFault& fault) {
        return fault.down > Simulator::Now();
    });
}

std::vector<LinkFault>
DrawFaults(const Topology& topology, uint32_t count, uint64_t seed, Time horizon)
{
    // The standard fixes the numbers of the generator, but not those of its distributions.
    std::mt19937_64 random(seed);
    const auto drawTime = [&](int64_t limit) {
        return NanoSeconds(random() % std::max<int64_t>(limit, 1));
    };
    std::vector<LinkId> links(topology.GetNLinks());
    NS_ABORT_MSG_IF(count > links.size(),
                    "DrawFaults: " << count << " links, expected at most the " << links.size()
                                   << " of " << topology.GetName());
    std::iota(links.begin(), links.end(), 0);
    std::vector<LinkFault> faults;
    for (uint32_t i = 0; i < count; ++i)
    {
        std::swap(links[i], links[i + random() % (links.size() - i)]);
        LinkFault fault;
        fault.link = links[i];
        fault.down = drawTime(horizon.GetNanoSeconds());
        if (random() % 2 == 0)
        {
            fault.up = fault.down + NanoSeconds(1) + drawTime(horizon.GetNanoSeconds() / 2);
        }
        faults.push_back(fault);
    }
    return faults;
}

std::vector<Burst>
DrawBursts(const Topology& topology, const BurstModel& model, Time horizon)
{
    std::mt19937_64 random(model.seed);
    std::vector<DirectedLinkId> links(topology.GetNDirectedLinks());
    std::iota(links.begin(), links.end(), 0);
    const auto count = std::max<std::size_t>(1, std::llround(model.share * links.size()));
    std::vector<Burst> bursts;
    for (std::size_t i = 0; i < std::min(count, links.size()); ++i)
    {
        std::swap(links[i], links[i + random() % (links.size() - i)]);
        BurstTimes(model, links[i]).Draw(horizon, bursts);
    }
    return bursts;
}

void
ScheduleRateChanges(Ptr<AllReduceNetwork> network, const std::vector<RateChange>& changes)
{
    std::vector<RateChange> sorted = changes;
    std::stable_sort(sorted.begin(), sorted.end(), [](const RateChange& x, const RateChange& y) {
        return x.atNs < y.atNs;
    });
    for (const RateChange& change : sorted)
    {
        const Time wait = NanoSeconds(change.atNs) - Simulator::Now();
        if (wait.IsStrictlyPositive())
        {
            Simulator::Schedule(wait,
                                &AllReduceNetwork::SetLinkRate,
                                network,
                                change.link,
                                change.rateBps);
        }
        else
        {
            network->SetLinkRate(change.link, change.rateBps);
        }
    }
}

uint32_t
CountLateChanges(const std::vector<RateChange>& changes)
{
    std::set<LinkId> late;
    for (const RateChange& change : changes)
    {
        late.insert(change.link / 2);
    }
    for (const RateChange& change : changes)
    {
        if (NanoSeconds(change.atNs) <= Simulator::Now())
        {
            late.erase(change.link / 2);
        }
    }
    return late.size();
}

} // namespace ns3::allreduce
