/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-packing.h"

#include "cover-merging.h"
#include "cycle-cover.h"
#include "tour-search.h"

#include <algorithm>
#include <limits>
#include <optional>

namespace ns3::allreduce
{

namespace
{

/// @return how many rings the server with the fewest ports can be passed by
uint32_t
CountFewestPorts(const Topology& topology)
{
    uint32_t fewest = std::numeric_limits<uint32_t>::max();
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        uint32_t nPorts = 0;
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            nPorts += topology.GetCapacity(port.out);
        }
        fewest = std::min(fewest, nPorts);
    }
    return fewest;
}

/// @return the ring that a cover with one cycle is
Ring
MakeRing(const CycleCover& cover)
{
    Ring ring;
    NodeId server = 0;
    do
    {
        ring.order.push_back(server);
        ring.paths.push_back(cover[server]);
        server = cover[server].back();
    } while (server != 0);
    return ring;
}

/// @return by directed link: its capacity, but no more than the narrowest link has
std::vector<uint32_t>
GetNarrowCapacities(const Topology& topology)
{
    std::vector<uint32_t> capacities = topology.GetCapacities();
    const uint32_t least = *std::min_element(capacities.begin(), capacities.end());
    std::fill(capacities.begin(), capacities.end(), least);
    return capacities;
}

/// @return covers that the links allow, if they do; on narrow ones, which are more regular, if
/// asked
std::optional<std::vector<CycleCover>>
TryCovers(const Topology& topology,
          uint32_t nCovers,
          CoverStyle style,
          bool isNarrow,
          PlannerRandom& random)
{
    if (isNarrow)
    {
        auto covers =
            FindCycleCovers(topology, GetNarrowCapacities(topology), nCovers, style, random);
        if (covers)
        {
            return covers;
        }
    }
    return FindCycleCovers(topology, topology.GetCapacities(), nCovers, style, random);
}

/// @return so many rings out of so many covers, or none if this try does not find them
std::vector<Ring>
FindDirectedRings(const Topology& topology,
                  uint32_t nRings,
                  uint32_t nCovers,
                  uint32_t i,
                  const MergingEffort& effort,
                  PlannerRandom& random)
{
    const CoverStyle style = i % 4 == 0 ? CoverStyle::RANDOM : CoverStyle::REGULAR;
    auto covers = TryCovers(topology, nCovers, style, i % 2 == 1, random);
    if (!covers || !MergeCycles(topology, *covers, nRings, effort, random))
    {
        return {};
    }
    std::vector<Ring> rings(nRings);
    std::transform(covers->begin(), covers->begin() + nRings, rings.begin(), MakeRing);
    return rings;
}

/// @return so many rings out of so many covers, or none if they are not found
std::vector<Ring>
FindRings(const Topology& topology, uint32_t nRings, uint32_t nCovers, PlannerRandom& random)
{
    // Most searches end soon or never: many short ones are better than one long one.
    constexpr uint32_t TRIES = 36;
    const double dearness[] = {1.3, 2, 4};
    const uint32_t nSweeps = std::clamp(50'000 / topology.GetNServers(), 10U, 100U);
    for (uint32_t i = 1; i <= TRIES; ++i)
    {
        const MergingEffort effort{i * nSweeps, dearness[i % 3]};
        std::vector<Ring> rings;
        if (nRings % 2 == 0)
        {
            rings = FindTours(topology, nRings / 2, effort, random);
        }
        if (rings.empty())
        {
            rings = FindDirectedRings(topology, nRings, nCovers, i, effort, random);
        }
        if (!rings.empty())
        {
            return rings;
        }
    }
    return {};
}

} // namespace

std::vector<Ring>
PackRings(const Topology& topology, uint32_t mostRings, uint64_t seed)
{
    if (topology.GetNServers() < 2 || !topology.AreServersConnected())
    {
        return {};
    }
    PlannerRandom random(seed);
    uint32_t nCovers = std::min(mostRings, CountFewestPorts(topology));
    while (nCovers > 1 && !TryCovers(topology, nCovers, CoverStyle::REGULAR, false, random))
    {
        --nCovers;
    }
    constexpr uint32_t BIG_STEPS = 9; // With so many rings, one fewer is not worth a search.
    for (uint32_t nRings = nCovers; nRings > 1; nRings -= 1 + nRings / BIG_STEPS)
    {
        std::vector<Ring> rings = FindRings(topology, nRings, nCovers, random);
        if (!rings.empty())
        {
            return rings;
        }
    }
    return {};
}

} // namespace ns3::allreduce
