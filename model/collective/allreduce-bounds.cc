/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-bounds.h"

#include "bottleneck-text.h"
#include "head-tail-bound.h"
#include "reduce-growth.h"
#include "server-hops.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Refuse what no schedule exists for.
void
CheckInput(const Topology& topology, const std::vector<NodeId>& chunkRoots)
{
    const uint32_t nServers = topology.GetNServers();
    for (std::size_t chunk = 0; chunk < chunkRoots.size(); ++chunk)
    {
        if (chunkRoots[chunk] >= nServers)
        {
            FailInput(topology.GetName(),
                      ": chunk ",
                      chunk,
                      " has root ",
                      chunkRoots[chunk],
                      ", expected a server below ",
                      nServers);
        }
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
    std::ostringstream text;
    text << "the way into " << DescribeServers(bound.servers) << ", of capacity " << bound.width
         << ", from round " << bound.head << " on";
    return {"head-tail", bound.rounds, text.str()};
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

} // namespace

const LowerBound&
LowerBounds::GetBest() const
{
    return *std::max_element(all.begin(), all.end(), [](const LowerBound& x, const LowerBound& y) {
        return x.rounds < y.rounds;
    });
}

LowerBounds
ComputeLowerBounds(const Topology& topology, const std::vector<NodeId>& chunkRoots)
{
    CheckInput(topology, chunkRoots);
    LowerBounds bounds;
    if (topology.GetNServers() < 2 || chunkRoots.empty())
    {
        bounds.all.push_back({"prices", 0, "nothing to do"});
        bounds.prices.prices.resize(topology.GetNLinks(), 0);
        return bounds;
    }
    const std::vector<uint64_t> nChunks = CountChunks(topology, chunkRoots);
    const ReduceGrowth growth(topology);
    bounds.prices = FindLinkPrices(topology);
    bounds.all.push_back(MakePriceBound(topology, bounds.prices, chunkRoots.size()));
    bounds.all.push_back(MakeHeadTailBound(topology, growth, nChunks, bounds.prices));
    bounds.all.push_back(MakeHopBound(growth, nChunks));
    return bounds;
}

} // namespace ns3::allreduce
