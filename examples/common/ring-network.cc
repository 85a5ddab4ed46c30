/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-network.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ns3::allreduce
{

RingNetwork::RingNetwork(Ptr<AllReduceNetwork> network,
                         const RingEmbedding& ring,
                         uint64_t reservedBps)
    : m_network(network),
      m_nodes(ring.servers)
{
    const Topology& whole = network->GetTopology();
    std::map<NodeId, NodeId> ownIds;
    const auto getOwnId = [&](NodeId node) {
        const auto [place, isNew] = ownIds.emplace(node, ownIds.size());
        if (isNew && place->second >= m_nodes.size())
        {
            m_nodes.push_back(node);
        }
        return place->second;
    };
    std::for_each(ring.servers.begin(), ring.servers.end(), getOwnId);
    for (const Path& path : ring.paths)
    {
        Path own(path.size());
        std::transform(path.begin(), path.end(), own.begin(), getOwnId);
        m_paths.push_back(own);
    }
    std::map<DirectedLinkId, uint32_t> nCrossings;
    for (const DirectedLinkId link : allreduce::GetLinks(whole, ring))
    {
        m_links.push_back(link / 2);
        ++nCrossings[link];
    }
    std::sort(m_links.begin(), m_links.end());
    m_links.erase(std::unique(m_links.begin(), m_links.end()), m_links.end());
    std::vector<Link> links;
    for (const LinkId id : m_links)
    {
        Link link = whole.GetLink(id);
        link.a = ownIds.at(link.a);
        link.b = ownIds.at(link.b);
        link.capacity = std::max(nCrossings[2 * id], nCrossings[2 * id + 1]);
        if (reservedBps > 0)
        {
            link.rateBps = std::min(link.rateBps, reservedBps * link.capacity);
        }
        links.push_back(link);
    }
    const uint32_t nServers = ring.servers.size();
    m_topology.emplace("ring of job " + std::to_string(ring.job),
                       nServers,
                       m_nodes.size() - nServers,
                       std::move(links));
}

const Topology&
RingNetwork::GetTopology() const
{
    return *m_topology;
}

Ptr<Node>
RingNetwork::GetNode(NodeId node) const
{
    return m_network->GetNode(m_nodes[node]);
}

Ptr<NetDevice>
RingNetwork::GetDevice(DirectedLinkId link) const
{
    return m_network->GetDevice(2 * m_links[link / 2] + link % 2);
}

Ipv4Address
RingNetwork::GetServerAddress(NodeId server) const
{
    return m_network->GetServerAddress(m_nodes[server]);
}

PinnedPathTag
RingNetwork::MakePathTag(const Path& path) const
{
    return m_network->MakePathTag(ToWhole(path));
}

void
RingNetwork::PinFlow(const Path& path,
                     uint8_t protocol,
                     uint16_t sourcePort,
                     uint16_t destinationPort)
{
    m_network->PinFlow(ToWhole(path), protocol, sourcePort, destinationPort);
}

void
RingNetwork::DoSetLinkUp(LinkId link, bool isUp)
{
    m_network->SetLinkUp(m_links[link], isUp);
}

Path
RingNetwork::ToWhole(const Path& path) const
{
    Path whole(path.size());
    std::transform(path.begin(), path.end(), whole.begin(), [this](NodeId node) {
        return m_nodes[node];
    });
    return whole;
}

AllReduceSchedule
RingNetwork::MakeSchedule() const
{
    const uint32_t n = m_paths.size();
    AllReduceSchedule schedule;
    schedule.roots.resize(n);
    std::iota(schedule.roots.begin(), schedule.roots.end(), 0);
    for (const WorkloadKind kind : {WorkloadKind::REDUCE, WorkloadKind::BROADCAST})
    {
        // Sums come home to their root after n-1 hops, and leave from there.
        const uint32_t first = kind == WorkloadKind::REDUCE ? 1 : 0;
        for (uint32_t hop = 0; hop + 1 < n; ++hop)
        {
            WorkloadList round;
            for (ChunkId chunk = 0; chunk < n; ++chunk)
            {
                round.Add(chunk, kind, m_paths[(chunk + first + hop) % n]);
            }
            schedule.rounds.push_back(std::move(round));
        }
    }
    return schedule;
}

} // namespace ns3::allreduce
