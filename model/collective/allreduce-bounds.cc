/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-bounds.h"

#include "bottleneck-text.h"
#include "head-tail-bound.h"
#include "reduce-growth.h"
#include "server-flow.h"
#include "server-hops.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <set>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Refuse what no schedule exists for.
void
CheckInput(const Topology& topology, const Collective& collective)
{
    const uint32_t nServers = topology.GetNServers();
    const std::string fault = collective.roots.empty() ? "" : FindFault(collective, topology);
    if (!fault.empty())
    {
        FailInput(topology.GetName(), ": ", fault);
    }
    if (nServers > 0)
    {
        const std::vector<uint32_t> hops = ComputeServerHops(topology, {0});
        const auto lost = std::find(hops.begin(), hops.end(), UNREACHABLE);
        if (lost != hops.end())
        {
            FailInput(topology.GetName(),
                      ": server 0 and server ",
                      lost - hops.begin(),
                      " cannot reach each other, expected all servers to be connected");
        }
    }
}

/// @return by node: whether a chunk can come there from its root if nobody else may relay
std::vector<bool>
FindReach(const Topology& topology, NodeId root, const std::vector<bool>& mayHold)
{
    std::vector<bool> isReached(topology.GetNNodes(), false);
    std::vector<NodeId> queue{root};
    isReached[root] = true;
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        for (const Topology::Port& port : topology.GetPorts(queue[i]))
        {
            const bool mayPass = !topology.IsServer(port.neighbor) || mayHold[port.neighbor];
            if (mayPass && !isReached[port.neighbor])
            {
                isReached[port.neighbor] = true;
                queue.push_back(port.neighbor);
            }
        }
    }
    return isReached;
}

/// @return by server: how many chunks have it for their root
std::vector<uint64_t>
CountChunks(const Topology& topology, const std::vector<NodeId>& chunkRoots)
{
    std::vector<uint64_t> nChunks(topology.GetNServers(), 0);
    for (const NodeId root : chunkRoots)
    {
        ++nChunks[root];
    }
    return nChunks;
}

LowerBound
MakePriceBound(const Topology& topology, const PriceBound& prices, uint64_t nChunks)
{
    const uint64_t rounds =
        (nChunks * prices.treePrice + prices.widthPrice - 1) / prices.widthPrice;
    return {"prices", rounds, DescribeBottleneck(topology, prices)};
}

LowerBound
MakeHeadTailBound(const Topology& topology,
                  const ReduceGrowth& growth,
                  const std::vector<uint64_t>& nChunks,
                  const PriceBound& prices)
{
    std::vector<std::vector<NodeId>> sets;
    std::copy_if(prices.parts.begin(),
                 prices.parts.end(),
                 std::back_inserter(sets),
                 [](const std::vector<NodeId>& part) { return part.size() > 1; });
    const HeadTailBound bound = ComputeHeadTailBound(topology, growth, nChunks, sets);
    return {"head-tail",
            bound.rounds,
            DescribeWayInto(topology, bound.servers) + ", from round " +
                std::to_string(bound.head) + " on"};
}

LowerBound
MakeHopBound(const ReduceGrowth& growth, const std::vector<uint64_t>& nChunks)
{
    NodeId farthest = 0;
    uint64_t rounds = 0;
    for (NodeId root = 0; root < nChunks.size(); ++root)
    {
        if (nChunks[root] > 0 && 2 * growth.GetFinalRound(root) > rounds)
        {
            farthest = root;
            rounds = 2 * growth.GetFinalRound(root);
        }
    }
    return {"hops", rounds, "root " + std::to_string(farthest)};
}

LowerBound
MakeCutBound(const Topology& topology, const CutBound& cut)
{
    return {"cut",
            (cut.crossings + cut.width - 1) / cut.width,
            DescribeBottleneck(topology, cut) + ": " + std::to_string(cut.crossings) +
                " workloads over a capacity of " + std::to_string(cut.width)};
}

/// @return the hops to the farthest server of a set
uint32_t
FindFarthest(const std::vector<uint32_t>& hops, const std::vector<NodeId>& set)
{
    uint32_t farthest = 0;
    for (const NodeId server : set)
    {
        farthest = std::max(farthest, hops[server]);
    }
    return farthest;
}

LowerBound
MakeGroupHopBound(const Topology& topology, const Collective& collective)
{
    LowerBound best{"hops", 0, ""};
    std::vector<std::vector<uint32_t>> hops(topology.GetNServers());
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const NodeId root = collective.roots[chunk];
        if (hops[root].empty())
        {
            hops[root] = ComputeServerHops(topology, {root});
        }
        const uint64_t rounds =
            FindFarthest(hops[root], collective.sets[collective.contributors[chunk]]) +
            FindFarthest(hops[root], collective.sets[collective.receivers[chunk]]);
        if (rounds > best.rounds)
        {
            best = {"hops", rounds, "root " + std::to_string(root)};
        }
    }
    return best;
}

LowerBounds
ComputeGroupBounds(const Topology& topology, const Collective& collective)
{
    CheckGroupsConnected(topology, collective);
    const std::vector<int64_t> capacities = GetCapacities(topology);
    LowerBounds bounds;
    bounds.cut = FindBestCut(topology, collective, {capacities.begin(), capacities.end()});
    bounds.all.push_back(MakeCutBound(topology, bounds.cut));
    bounds.all.push_back(MakeGroupHopBound(topology, collective));
    return bounds;
}

} // namespace

const LowerBound&
LowerBounds::GetBest() const
{
    return *std::max_element(all.begin(), all.end(), [](const LowerBound& x, const LowerBound& y) {
        return x.rounds < y.rounds;
    });
}

void
CheckGroupsConnected(const Topology& topology, const Collective& collective)
{
    if (collective.mayRelay || collective.IsOfAll())
    {
        return;
    }
    std::set<std::pair<uint32_t, uint32_t>> done; // contributors, receivers
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const uint32_t contributors = collective.contributors[chunk];
        const uint32_t receivers = collective.receivers[chunk];
        if (!done.insert({contributors, receivers}).second)
        {
            continue;
        }
        const std::vector<NodeId> servers = GetMembers(collective, chunk);
        std::vector<bool> mayHold(topology.GetNServers(), false);
        for (const NodeId server : servers)
        {
            mayHold[server] = true;
        }
        const auto isReached = FindReach(topology, collective.roots[chunk], mayHold);
        for (const NodeId server : servers)
        {
            if (!isReached[server])
            {
                FailInput(topology.GetName(),
                          ": server ",
                          server,
                          " cannot reach server ",
                          collective.roots[chunk],
                          " over servers of its group, expected relays to be allowed");
            }
        }
    }
}

LowerBounds
ComputeLowerBounds(const Topology& topology, const Collective& collective)
{
    CheckInput(topology, collective);
    if (!collective.IsOfAll())
    {
        return ComputeGroupBounds(topology, collective);
    }
    LowerBounds bounds;
    if (topology.GetNServers() < 2 || collective.roots.empty())
    {
        bounds.all.push_back({"prices", 0, "nothing to do"});
        bounds.prices.prices.resize(topology.GetNLinks(), 0);
        return bounds;
    }
    const std::vector<uint64_t> nChunks = CountChunks(topology, collective.roots);
    const ReduceGrowth growth(topology);
    bounds.prices = FindLinkPrices(topology);
    bounds.all.push_back(MakePriceBound(topology, bounds.prices, collective.GetNChunks()));
    bounds.all.push_back(MakeHeadTailBound(topology, growth, nChunks, bounds.prices));
    bounds.all.push_back(MakeHopBound(growth, nChunks));
    return bounds;
}

} // namespace ns3::allreduce
