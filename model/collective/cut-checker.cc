/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cut-checker.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Whose part of a chunk is where.
struct ChunkSides
{
    uint32_t root;                //!< the root's side
    std::set<uint32_t> senders;   //!< sides with contributors, the root's among them
    std::set<uint32_t> receivers; //!< sides with receivers, the root's among them
};

ChunkSides
FindSides(const Collective& collective, const CutBound& bound, ChunkId chunk)
{
    ChunkSides sides{bound.side[collective.roots[chunk]], {}, {}};
    for (const NodeId server : collective.sets[collective.contributors[chunk]])
    {
        sides.senders.insert(bound.side[server]);
    }
    for (const NodeId server : collective.sets[collective.receivers[chunk]])
    {
        sides.receivers.insert(bound.side[server]);
    }
    sides.senders.insert(sides.root);
    sides.receivers.insert(sides.root);
    return sides;
}

/// @return how many workloads must cross the only border, in the direction in which they are more
uint64_t
CountOverOneBorder(const Collective& collective, const CutBound& bound)
{
    uint64_t nLeaving = 0;
    uint64_t nEntering = 0;
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const ChunkSides sides = FindSides(collective, bound, chunk);
        const bool isReduced = sides.senders.size() > 1;
        const bool isBroadcast = sides.receivers.size() > 1;
        const bool isRootInside = sides.root != NO_SIDE;
        nLeaving += (isReduced && !isRootInside) + (isBroadcast && isRootInside);
        nEntering += (isReduced && isRootInside) + (isBroadcast && !isRootInside);
    }
    return std::max(nLeaving, nEntering);
}

/// @return how many workloads must go from one side to another
uint64_t
CountBetweenSides(const Collective& collective, const CutBound& bound)
{
    uint64_t count = 0;
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const ChunkSides sides = FindSides(collective, bound, chunk);
        count += sides.senders.size() - 1 + sides.receivers.size() - 1;
    }
    return count;
}

/// @return the servers that may hold a part of some chunk
std::set<NodeId>
FindPossibleHolders(const Topology& topology, const Collective& collective)
{
    std::set<NodeId> holders;
    for (NodeId server = 0; server < topology.GetNServers() && collective.mayRelay; ++server)
    {
        holders.insert(server);
    }
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        for (const uint32_t set : {collective.contributors[chunk], collective.receivers[chunk]})
        {
            holders.insert(collective.sets[set].begin(), collective.sets[set].end());
        }
    }
    return holders;
}

/// @return what all borders let pass in a round, in one direction
uint64_t
MeasureBorders(const Topology& topology, const std::set<NodeId>& holders, const CutBound& bound)
{
    const auto isDead = [&](NodeId node) {
        return topology.IsServer(node) && holders.count(node) == 0;
    };
    uint64_t width = 0;
    for (const Link& link : topology.GetLinks())
    {
        for (const auto& [from, to] : {std::pair(link.a, link.b), std::pair(link.b, link.a)})
        {
            if (!isDead(from) && !isDead(to) && bound.side[from] != NO_SIDE &&
                bound.side[from] != bound.side[to])
            {
                width += link.capacity;
            }
        }
    }
    return width;
}

} // namespace

std::string
FindFlaw(const Topology& topology, const Collective& collective, const CutBound& bound)
{
    std::ostringstream flaw;
    const std::set<NodeId> holders = FindPossibleHolders(topology, collective);
    if (bound.side.size() != topology.GetNNodes())
    {
        flaw << bound.side.size() << " sides of nodes, expected " << topology.GetNNodes();
        return flaw.str();
    }
    const bool isOne = bound.nSides == 1;
    for (const NodeId holder : holders)
    {
        if (!isOne && bound.side[holder] == NO_SIDE)
        {
            flaw << "server " << holder << " is on no side";
            return flaw.str();
        }
    }
    for (const uint32_t side : bound.side)
    {
        if (side != NO_SIDE && side >= bound.nSides)
        {
            flaw << "side " << side << ", expected one below " << bound.nSides;
            return flaw.str();
        }
    }
    const uint64_t crossings =
        isOne ? CountOverOneBorder(collective, bound) : CountBetweenSides(collective, bound);
    const uint64_t width = MeasureBorders(topology, holders, bound);
    if (crossings < bound.crossings)
    {
        flaw << bound.crossings << " workloads over borders, but only " << crossings << " must";
    }
    else if (width > bound.width)
    {
        flaw << "a width of " << bound.width << ", but borders let " << width << " pass";
    }
    return flaw.str();
}

} // namespace ns3::allreduce
