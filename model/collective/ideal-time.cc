/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ideal-time.h"

#include "allreduce-schedule.h"
#include "bottleneck-text.h"
#include "cut-bound.h"
#include "link-prices.h"
#include "server-obligations.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// @return by server: what it can send, and receive, in bit/s
std::vector<double>
SumPortRates(const Topology& topology)
{
    std::vector<double> rates(topology.GetNServers(), 0);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            rates[server] += topology.GetLinkOf(port.out).rateBps;
        }
    }
    return rates;
}

/// Find what ports and the distances between servers cost.
/// @param ideal gets the latency and what it is about
void
FindLatency(const Topology& topology, const ObligationList& obligations, IdealTime& ideal)
{
    const std::vector<double> rates = SumPortRates(topology);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const auto& [toSend, toReceive] = obligations.servers[server];
        NoteLatency(server, toSend, 8.0 * toSend.bytes / rates[server], ideal);
        NoteLatency(server, toReceive, 8.0 * toReceive.bytes / rates[server], ideal);
    }
}

/// Find for how long the links are busy at least.
/// @param ideal gets it, and what makes it long
void
FindBandwidth(const Topology& topology,
              const Collective& collective,
              uint64_t bytes,
              IdealTime& ideal)
{
    std::vector<uint64_t> rates;
    for (const Link& link : topology.GetLinks())
    {
        rates.push_back(link.rateBps);
    }
    if (collective.IsOfAll())
    {
        const PriceBound bound = FindLinkPrices(topology, rates);
        ideal.bandwidth = 8.0 * bytes * bound.treePrice / bound.widthPrice;
        ideal.bottleneck = DescribeBottleneck(topology, bound);
        return;
    }
    std::vector<uint64_t> chunkBytes;
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        chunkBytes.push_back(GetChunkBytes(bytes, collective.GetNChunks(), chunk));
    }
    const CutBound cut = FindBestCut(topology, collective, rates, chunkBytes);
    ideal.bandwidth = 8.0 * cut.crossings / cut.width;
    ideal.bottleneck = DescribeBottleneck(topology, cut);
}

} // namespace

IdealTime
ComputeIdealTime(const Topology& topology, const Collective& collective, uint64_t bytes)
{
    IdealTime ideal;
    if (topology.GetNServers() < 2 || bytes == 0)
    {
        return ideal;
    }
    FindBandwidth(topology, collective, bytes, ideal);
    const ObligationList obligations = ListObligations(topology, collective, bytes);
    FindLatency(topology, obligations, ideal);
    ideal.bandwidth += 1e-9 * obligations.leastDelayNs;
    ideal.seconds = std::max(ideal.bandwidth, ideal.latency);
    return ideal;
}

} // namespace ns3::allreduce
