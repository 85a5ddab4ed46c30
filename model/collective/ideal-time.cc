/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ideal-time.h"

#include "allreduce-schedule.h"
#include "bottleneck-text.h"
#include "cut-bound.h"
#include "link-prices.h"

#include "ns3/allreduce-units.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <queue>
#include <sstream>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// @return a set of all servers, ascending
std::vector<NodeId>
MakeAllServers(const Topology& topology)
{
    std::vector<NodeId> servers(topology.GetNServers());
    std::iota(servers.begin(), servers.end(), 0);
    return servers;
}

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

/// Finds the least delays from a server to all nodes.
class LeastDelays
{
  public:
    explicit LeastDelays(const Topology& topology)
        : m_topology(topology)
    {
    }

    /// @return by node: the least delay of a path from a server, over servers and switches
    const std::vector<int64_t>& Find(NodeId from)
    {
        m_delays.assign(m_topology.GetNNodes(), std::numeric_limits<int64_t>::max());
        m_delays[from] = 0;
        m_queue.push({0, from});
        while (!m_queue.empty())
        {
            const auto [delay, node] = m_queue.top();
            m_queue.pop();
            if (delay == m_delays[node])
            {
                Leave(node);
            }
        }
        return m_delays;
    }

  private:
    using Arrival = std::pair<int64_t, NodeId>; // when, where

    void Leave(NodeId node)
    {
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const int64_t delay = m_delays[node] + m_topology.GetLinkOf(port.out).delayNs;
            if (delay < m_delays[port.neighbor])
            {
                m_delays[port.neighbor] = delay;
                m_queue.push({delay, port.neighbor});
            }
        }
    }

    const Topology& m_topology;
    std::vector<int64_t> m_delays; //!< by node: the least found so far
    std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> m_queue; //!< to leave from
};

/// Data that goes from the same contributors to the same receivers.
struct DataKind
{
    std::vector<NodeId> contributors; //!< ascending
    std::vector<NodeId> receivers;    //!< ascending
    uint64_t bytes{0};                //!< of all its chunks
};

/// @return the kinds of data of a collective, those without a byte left out
std::vector<DataKind>
ListKinds(const Topology& topology, const Collective& collective, uint64_t bytes)
{
    if (collective.IsOfAll())
    {
        return {{MakeAllServers(topology), MakeAllServers(topology), bytes}};
    }
    std::map<std::pair<uint32_t, uint32_t>, uint64_t> bytesOf; // contributors, receivers
    const uint32_t nChunks = collective.GetNChunks();
    for (ChunkId chunk = 0; chunk < std::min<uint64_t>(nChunks, bytes); ++chunk)
    {
        bytesOf[{collective.contributors[chunk], collective.receivers[chunk]}] +=
            GetChunkBytes(bytes, nChunks, chunk);
    }
    std::vector<DataKind> kinds;
    for (const auto& [sets, size] : bytesOf)
    {
        kinds.push_back({collective.sets[sets.first], collective.sets[sets.second], size});
    }
    return kinds;
}

/// What a server must send to others, or receive from them.
struct Obligation
{
    uint64_t bytes{0};     //!< how much
    int64_t delayNs{0};    //!< the least time that its last byte travels, whichever that is
    int64_t farthestNs{0}; //!< how long some byte travels
    NodeId farthest{0};    //!< to or from whom

    /// Add data that goes to, or comes from, some servers. @param self whose obligation it is
    void Add(uint64_t size,
             NodeId self,
             const std::vector<NodeId>& others,
             const std::vector<int64_t>& delays)
    {
        const auto isNearer = [&](NodeId x, NodeId y) { return delays[x] < delays[y]; };
        const NodeId last = *std::max_element(others.begin(), others.end(), isNearer);
        if (others.size() == 1 && last == self)
        {
            return;
        }
        delayNs = bytes == 0 ? delays[last] : std::min(delayNs, delays[last]);
        bytes += size;
        if (delays[last] >= farthestNs)
        {
            farthestNs = delays[last];
            farthest = last;
        }
    }
};

bool
Contains(const std::vector<NodeId>& set, NodeId server)
{
    return std::binary_search(set.begin(), set.end(), server);
}

/// Finds what the distances between servers cost.
class LatencySearch
{
  public:
    LatencySearch(const Topology& topology, std::vector<DataKind> kinds)
        : m_topology(topology),
          m_kinds(std::move(kinds)),
          m_rates(SumPortRates(topology))
    {
    }

    /// Look at all servers. @param ideal gets the latency and what it is about
    void Run(IdealTime& ideal)
    {
        LeastDelays search(m_topology);
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            const std::vector<int64_t>& delays = search.Find(server);
            for (NodeId other = server + 1; other < m_topology.GetNServers(); ++other)
            {
                m_leastDelayNs = std::min(m_leastDelayNs, delays[other]);
            }
            Obligation toSend;
            Obligation toReceive;
            for (const DataKind& kind : m_kinds)
            {
                if (Contains(kind.contributors, server))
                {
                    toSend.Add(kind.bytes, server, kind.receivers, delays);
                }
                if (Contains(kind.receivers, server))
                {
                    toReceive.Add(kind.bytes, server, kind.contributors, delays);
                }
            }
            Keep(server, toSend, ideal);
            Keep(server, toReceive, ideal);
        }
    }

    /// @return the least delay between two servers, in seconds
    double GetLeastDelay() const
    {
        return 1e-9 * m_leastDelayNs;
    }

  private:
    void Keep(NodeId server, const Obligation& obligation, IdealTime& ideal) const
    {
        const double passing = 8.0 * obligation.bytes / m_rates[server];
        const double latency =
            std::max(passing + 1e-9 * obligation.delayNs, 1e-9 * obligation.farthestNs);
        if (obligation.bytes > 0 && latency > ideal.latency)
        {
            ideal.latency = latency;
            std::ostringstream text;
            text << "server " << server << " and server " << obligation.farthest << ", "
                 << FormatTime(obligation.farthestNs) << " apart";
            ideal.farthest = text.str();
        }
    }

    const Topology& m_topology;
    const std::vector<DataKind> m_kinds; //!< what goes from whom to whom
    const std::vector<double> m_rates;   //!< by server: of its ports, in bit/s
    int64_t m_leastDelayNs{std::numeric_limits<int64_t>::max()}; //!< between two servers
};

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
    LatencySearch search(topology, ListKinds(topology, collective, bytes));
    search.Run(ideal);
    ideal.bandwidth += search.GetLeastDelay();
    ideal.seconds = std::max(ideal.bandwidth, ideal.latency);
    return ideal;
}

} // namespace ns3::allreduce
