/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "reduce-growth.h"

#include "server-hops.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

ReduceGrowth::ReduceGrowth(const Topology& topology)
    : m_nServers(topology.GetNServers()),
      m_most(1, std::vector<uint32_t>(m_nServers, 1)),
      m_finalRound(m_nServers, 0)
{
    CountNear(topology);
    FindSegments(topology);
    auto isSmall = [&](uint32_t most) { return most < m_nServers; };
    while (std::any_of(m_most.back().begin(), m_most.back().end(), isSmall))
    {
        FindLargest(topology);
        std::vector<uint32_t> next;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            const std::size_t round = std::min(m_most.size(), m_near[server].size() - 1);
            next.push_back(std::min<uint64_t>(m_near[server][round], Grow(topology, server)));
            m_finalRound[server] += isSmall(m_most.back()[server]);
        }
        m_most.push_back(std::move(next));
    }
}

uint32_t
ReduceGrowth::GetMost(NodeId server, uint32_t nRounds) const
{
    return nRounds < m_most.size() ? m_most[nRounds][server] : m_nServers;
}

uint32_t
ReduceGrowth::GetFinalRound(NodeId root) const
{
    return m_finalRound[root];
}

void
ReduceGrowth::CountNear(const Topology& topology)
{
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const std::vector<uint32_t> hops = ComputeServerHops(topology, {server});
        std::vector<uint32_t> count(*std::max_element(hops.begin(), hops.end()) + 1, 0);
        for (const uint32_t h : hops)
        {
            ++count[h];
        }
        std::partial_sum(count.begin(), count.end(), count.begin());
        m_near.push_back(std::move(count));
    }
}

void
ReduceGrowth::FindSegments(const Topology& topology)
{
    const uint32_t none = topology.GetNSwitches();
    m_segmentOf.assign(none, none);
    uint32_t nSegments = 0;
    std::vector<NodeId> left;
    for (NodeId first = m_nServers; first < topology.GetNNodes(); ++first)
    {
        if (m_segmentOf[first - m_nServers] != none)
        {
            continue;
        }
        m_segmentOf[first - m_nServers] = nSegments;
        left.assign(1, first);
        while (!left.empty())
        {
            const NodeId node = left.back();
            left.pop_back();
            for (const Topology::Port& port : topology.GetPorts(node))
            {
                if (!topology.IsServer(port.neighbor) &&
                    m_segmentOf[port.neighbor - m_nServers] == none)
                {
                    m_segmentOf[port.neighbor - m_nServers] = nSegments;
                    left.push_back(port.neighbor);
                }
            }
        }
        ++nSegments;
    }
    m_segments.resize(nSegments);
}

void
ReduceGrowth::FindLargest(const Topology& topology)
{
    std::fill(m_segments.begin(), m_segments.end(), Segment());
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const uint32_t most = m_most.back()[server];
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            if (topology.IsServer(port.neighbor))
            {
                continue;
            }
            Segment& segment = m_segments[m_segmentOf[port.neighbor - m_nServers]];
            if (most > segment.most)
            {
                segment.second = segment.holder == server ? segment.second : segment.most;
                segment.most = most;
                segment.holder = server;
            }
            else if (segment.holder != server)
            {
                segment.second = std::max(segment.second, most);
            }
        }
    }
}

uint64_t
ReduceGrowth::Grow(const Topology& topology, NodeId server) const
{
    uint64_t sum = m_most.back()[server];
    for (const Topology::Port& port : topology.GetPorts(server))
    {
        uint64_t most = 0;
        if (topology.IsServer(port.neighbor))
        {
            most = m_most.back()[port.neighbor];
        }
        else
        {
            const Segment& segment = m_segments[m_segmentOf[port.neighbor - m_nServers]];
            most = segment.holder == server ? segment.second : segment.most;
        }
        sum += topology.GetCapacity(port.out) * most;
    }
    return sum;
}

} // namespace ns3::allreduce
