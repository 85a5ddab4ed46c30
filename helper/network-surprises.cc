/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "network-surprises.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace ns3::allreduce
{

namespace
{

/// Something that changes what a directed link can carry.
struct CapacityEvent
{
    int64_t atNs;         //!< when
    uint64_t rateBps{0};  //!< the rate from then on; 0: as before
    double loadChange{0}; //!< by how much the share of other traffic grows
    int holdChange{0};    //!< how many more hold the link
};

/// By directed link: what happens to it, not in order.
using CapacityEvents = std::map<DirectedLinkId, std::vector<CapacityEvent>>;

void
AddOutage(LinkId link, int64_t beginNs, std::optional<int64_t> endNs, CapacityEvents& events)
{
    for (const DirectedLinkId direction : {2 * link, 2 * link + 1})
    {
        events[direction].push_back({beginNs, 0, 0, 1});
        if (endNs)
        {
            events[direction].push_back({*endNs, 0, 0, -1});
        }
    }
}

CapacityEvents
CollectEvents(const Topology& topology, const Surprises& surprises)
{
    CapacityEvents events;
    for (const RateChange& change : surprises.rateChanges)
    {
        events[change.link].push_back({change.atNs, change.rateBps});
    }
    for (const Burst& burst : surprises.bursts)
    {
        events[burst.link].push_back({burst.begin.GetNanoSeconds(), 0, burst.load});
        events[burst.link].push_back({burst.end.GetNanoSeconds(), 0, -burst.load});
    }
    for (const LinkFault& fault : surprises.faults)
    {
        AddOutage(fault.link,
                  fault.down.GetNanoSeconds(),
                  fault.up ? std::optional(fault.up->GetNanoSeconds()) : std::nullopt,
                  events);
    }
    for (const LateServer& late : surprises.lateServers)
    {
        for (const Topology::Port& port : topology.GetPorts(late.server))
        {
            AddOutage(port.out / 2, 0, late.readyNs, events);
        }
    }
    return events;
}

/// What a directed link can carry while its events pass by.
class LinkCapacity
{
  public:
    explicit LinkCapacity(uint64_t rateBps)
        : m_rateBps(rateBps)
    {
    }

    void Apply(const CapacityEvent& event)
    {
        m_rateBps = event.rateBps > 0 ? event.rateBps : m_rateBps;
        m_load += event.loadChange;
        m_nHolds += event.holdChange;
    }

    uint64_t GetBps() const
    {
        const double left = m_rateBps * std::max(0.0, 1 - m_load);
        return m_nHolds > 0 ? 0 : m_load > 0 ? std::llround(left) : m_rateBps;
    }

  private:
    uint64_t m_rateBps; //!< without bursts and outages
    double m_load{0};   //!< share of bursts
    int m_nHolds{0};    //!< outages
};

/// Adds what a link can carry over time. @param events its own
void
AddLinkChanges(DirectedLinkId link,
               uint64_t rateBps,
               std::vector<CapacityEvent> events,
               Time begin,
               std::vector<RateChange>& changes)
{
    for (CapacityEvent& event : events)
    {
        event.atNs = std::max<int64_t>(0, event.atNs - begin.GetNanoSeconds());
    }
    std::stable_sort(events.begin(), events.end(), [](const auto& x, const auto& y) {
        return x.atNs < y.atNs;
    });
    LinkCapacity capacity(rateBps);
    uint64_t known = rateBps;
    for (std::size_t i = 0; i < events.size(); ++i)
    {
        capacity.Apply(events[i]);
        const bool isLastOfTime = i + 1 == events.size() || events[i + 1].atNs > events[i].atNs;
        if (isLastOfTime && capacity.GetBps() != known)
        {
            known = capacity.GetBps();
            changes.push_back({link, events[i].atNs, known});
        }
    }
}

void
CheckRateChange(const Topology& topology, const RateChange& change)
{
    if (change.link >= topology.GetNDirectedLinks() || change.atNs < 0)
    {
        FailInput("rateChanges: directed link ",
                  change.link,
                  " at ",
                  change.atNs,
                  " ns, expected one of the ",
                  topology.GetNDirectedLinks(),
                  " of ",
                  topology.GetName(),
                  " at 0 ns or later");
    }
    // Beyond the rates of the topology no ideal would hold.
    const uint64_t most = topology.GetLinkOf(change.link).rateBps;
    if (change.rateBps == 0 || change.rateBps > most)
    {
        FailInput("rateChanges: directed link ",
                  change.link,
                  " of ",
                  topology.GetName(),
                  " gets ",
                  change.rateBps,
                  " bit/s, expected 1 to ",
                  most,
                  "; what carries nothing is one of faults");
    }
}

void
CheckBursts(const BurstModel& bursts)
{
    const bool isShare = bursts.share >= 0 && bursts.share <= 1;
    const bool isLoad = bursts.load >= 0 && bursts.load < 1;
    if (!isShare || !isLoad || !bursts.meanOn.IsStrictlyPositive() ||
        !bursts.meanOff.IsStrictlyPositive())
    {
        FailInput("bursts: share ",
                  bursts.share,
                  ", load ",
                  bursts.load,
                  ", times ",
                  bursts.meanOn.GetSeconds(),
                  " and ",
                  bursts.meanOff.GetSeconds(),
                  " s, expected 0 to 1, less than 1 and times above 0");
    }
}

} // namespace

void
CheckSurprises(const Topology& topology, const ExperimentSettings& settings)
{
    for (const RateChange& change : settings.rateChanges)
    {
        CheckRateChange(topology, change);
    }
    if (settings.bursts)
    {
        CheckBursts(*settings.bursts);
    }
    for (const LateServer& late : settings.lateServers)
    {
        if (late.server >= topology.GetNServers() || late.readyNs < 0)
        {
            FailInput("lateServers: server ",
                      late.server,
                      " at ",
                      late.readyNs,
                      " ns, expected one of the ",
                      topology.GetNServers(),
                      " of ",
                      topology.GetName(),
                      " at 0 ns or later");
        }
    }
}

Surprises
DrawSurprises(const Topology& topology,
              const ExperimentSettings& settings,
              Time faultHorizon,
              Time burstHorizon)
{
    Surprises surprises{settings.faults, settings.rateChanges, {}, settings.lateServers};
    const auto drawn =
        DrawFaults(topology, settings.nRandomFaults, settings.faultSeed, faultHorizon);
    surprises.faults.insert(surprises.faults.end(), drawn.begin(), drawn.end());
    if (settings.bursts)
    {
        surprises.bursts = DrawBursts(topology, *settings.bursts, burstHorizon);
    }
    return surprises;
}

std::vector<RateChange>
ListCapacityChanges(const Topology& topology, const Surprises& surprises, Time begin)
{
    std::vector<RateChange> changes;
    for (const auto& [link, events] : CollectEvents(topology, surprises))
    {
        AddLinkChanges(link, topology.GetLinkOf(link).rateBps, events, begin, changes);
    }
    std::stable_sort(changes.begin(), changes.end(), [](const auto& x, const auto& y) {
        return x.atNs < y.atNs;
    });
    return changes;
}

std::vector<RateChange>
ListRates(const Topology& topology, const Surprises& surprises)
{
    auto rates = ListCapacityChanges(topology, {{}, surprises.rateChanges, surprises.bursts, {}});
    for (RateChange& rate : rates)
    {
        rate.rateBps = std::max<uint64_t>(rate.rateBps, 1);
    }
    return rates;
}

} // namespace ns3::allreduce
