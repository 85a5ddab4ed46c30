/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "server-obligations.h"

#include "allreduce-schedule.h"

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

/// Add data that goes to, or comes from, some servers.
/// @param obligation gets it @param self whose it is @param delays by node: from that server
void
AddObligation(Obligation& obligation,
              uint64_t size,
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
    obligation.delayNs =
        obligation.bytes == 0 ? delays[last] : std::min(obligation.delayNs, delays[last]);
    obligation.bytes += size;
    if (delays[last] >= obligation.farthestNs)
    {
        obligation.farthestNs = delays[last];
        obligation.farthest = last;
    }
}

bool
HasServer(const std::vector<NodeId>& set, NodeId server)
{
    return std::binary_search(set.begin(), set.end(), server);
}

/// @return what a server owes @param delays by node: from that server
ServerObligations
ListOf(NodeId server, const std::vector<DataKind>& kinds, const std::vector<int64_t>& delays)
{
    ServerObligations obligations;
    for (const DataKind& kind : kinds)
    {
        if (HasServer(kind.contributors, server))
        {
            AddObligation(obligations.toSend, kind.bytes, server, kind.receivers, delays);
        }
        if (HasServer(kind.receivers, server))
        {
            AddObligation(obligations.toReceive, kind.bytes, server, kind.contributors, delays);
        }
    }
    return obligations;
}

} // namespace

ObligationList
ListObligations(const Topology& topology, const Collective& collective, uint64_t bytes)
{
    const std::vector<DataKind> kinds = ListKinds(topology, collective, bytes);
    LeastDelays search(topology);
    ObligationList list;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const std::vector<int64_t>& delays = search.Find(server);
        for (NodeId other = server + 1; other < topology.GetNServers(); ++other)
        {
            list.leastDelayNs = std::min(list.leastDelayNs, delays[other]);
        }
        list.servers.push_back(ListOf(server, kinds, delays));
    }
    return list;
}

void
NoteLatency(NodeId server, const Obligation& obligation, double passing, IdealTime& ideal)
{
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

} // namespace ns3::allreduce
