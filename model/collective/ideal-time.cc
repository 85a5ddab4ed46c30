/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ideal-time.h"

#include "allreduce-schedule.h"
#include "cut-bound.h"
#include "link-prices.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <set>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// @return seconds for which the links are busy with a gradient, at least
double
ComputeVolume(const Topology& topology, const Collective& collective, uint64_t bytes)
{
    std::vector<uint64_t> rates;
    for (const Link& link : topology.GetLinks())
    {
        rates.push_back(link.rateBps);
    }
    if (!collective.IsOfAll())
    {
        const CutBound cut = FindBestCut(topology, collective, rates);
        return 8.0 * (bytes / collective.GetNChunks()) * cut.crossings / cut.width;
    }
    const PriceBound bound = FindLinkPrices(topology, rates);
    return 8.0 * bytes * bound.treePrice / bound.widthPrice;
}

/// Finds the quickest ways from a server to all others.
class QuickestWays
{
  public:
    explicit QuickestWays(const Topology& topology)
        : m_topology(topology)
    {
    }

    /**
     * @param from a server
     * @param bits size of a workload
     * @return by node: the least seconds until a server has it all, or a switch the first of it
     */
    const std::vector<double>& Find(NodeId from, double bits)
    {
        m_seconds.assign(m_topology.GetNNodes(), std::numeric_limits<double>::infinity());
        m_seconds[from] = 0;
        m_queue.push({0, from});
        while (!m_queue.empty())
        {
            const auto [seconds, node] = m_queue.top();
            m_queue.pop();
            if (seconds == m_seconds[node])
            {
                Leave(node, bits);
            }
        }
        return m_seconds;
    }

  private:
    /// When something is where.
    struct Arrival
    {
        double seconds; //!< when
        NodeId node;    //!< where

        /// Later arrivals come later out of a priority queue.
        bool operator<(const Arrival& other) const
        {
            return seconds > other.seconds;
        }
    };

    void Leave(NodeId node, double bits)
    {
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const Link& link = m_topology.GetLinkOf(port.out);
            const double sending = m_topology.IsServer(node) ? bits / link.rateBps : 0;
            const double arrival = m_seconds[node] + sending + 1e-9 * link.delayNs;
            if (arrival < m_seconds[port.neighbor])
            {
                m_seconds[port.neighbor] = arrival;
                m_queue.push({arrival, port.neighbor});
            }
        }
    }

    const Topology& m_topology;           //!< the network
    std::vector<double> m_seconds;        //!< by node: the least found so far
    std::priority_queue<Arrival> m_queue; //!< nodes to leave from
};

/// @return the least delay of a path between two servers
double
FindLeastDelay(const Topology& topology)
{
    QuickestWays ways(topology);
    double least = std::numeric_limits<double>::infinity();
    for (NodeId from = 0; from < topology.GetNServers(); ++from)
    {
        const std::vector<double>& seconds = ways.Find(from, 0);
        for (NodeId to = from + 1; to < topology.GetNServers(); ++to)
        {
            least = std::min(least, seconds[to]);
        }
    }
    return least;
}

/// @return the longest way to a server of a set
double
FindLongest(const std::vector<double>& seconds, const std::vector<NodeId>& servers)
{
    double longest = 0;
    for (const NodeId server : servers)
    {
        longest = std::max(longest, seconds[server]);
    }
    return longest;
}

/// @return see IdealTime::latency
double
ComputeLatency(const Topology& topology, const Collective& collective, uint64_t bytes)
{
    QuickestWays ways(topology);
    std::vector<NodeId> all(topology.GetNServers());
    std::iota(all.begin(), all.end(), 0);
    std::set<std::tuple<NodeId, uint32_t, uint32_t>> done; // root, contributors, receivers
    double longest = 0;
    // Of the chunks with the same root and sets the first is the largest.
    const uint32_t nChunks = collective.GetNChunks();
    for (std::size_t chunk = 0; chunk < std::min<uint64_t>(nChunks, bytes); ++chunk)
    {
        const NodeId root = collective.roots[chunk];
        const bool isOfAll = collective.IsOfAll();
        const uint32_t contributors = isOfAll ? 0 : collective.contributors[chunk];
        const uint32_t receivers = isOfAll ? 0 : collective.receivers[chunk];
        if (done.insert({root, contributors, receivers}).second)
        {
            const double bits = 8.0 * GetChunkBytes(bytes, nChunks, chunk);
            const std::vector<double>& seconds = ways.Find(root, bits);
            longest =
                std::max(longest,
                         FindLongest(seconds, isOfAll ? all : collective.sets[contributors]) +
                             FindLongest(seconds, isOfAll ? all : collective.sets[receivers]));
        }
    }
    return longest;
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
    ideal.volume = ComputeVolume(topology, collective, bytes) + FindLeastDelay(topology);
    ideal.latency = ComputeLatency(topology, collective, bytes);
    ideal.seconds = std::max(ideal.volume, ideal.latency);
    const std::string ofVolume = collective.IsOfAll() ? "prices" : "cut";
    ideal.bottleneck = ideal.latency > ideal.volume ? "hops" : ofVolume;
    return ideal;
}

} // namespace ns3::allreduce
