/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-builder.h"

#include "link-capacities.h"

namespace ns3::allreduce
{

TopologyBuilder::TopologyBuilder(std::string name)
    : m_name(std::move(name))
{
}

uint32_t
TopologyBuilder::CheckSize(uint64_t count) const
{
    Require(count <= MAX_SIZE, "too large, expected at most ", MAX_SIZE, " nodes and links");
    return count;
}

void
TopologyBuilder::CheckServers(uint64_t nServers, uint64_t nLinks) const
{
    Require(nServers >= 2, nServers, " servers, expected 2 or more");
    Require(nLinks + 1 >= nServers,
            nLinks,
            " links cannot join ",
            nServers,
            " servers, expected ",
            nServers - 1,
            " or more");
}

NodeId
TopologyBuilder::AddServers(uint32_t count)
{
    const NodeId first = m_nServers;
    m_nServers += count;
    return first;
}

NodeId
TopologyBuilder::AddSwitches(uint32_t count)
{
    const NodeId first = m_nServers + m_nSwitches;
    m_nSwitches += count;
    return first;
}

void
TopologyBuilder::AddLink(NodeId a, NodeId b, uint64_t rateBps)
{
    Require(rateBps > 0 && rateBps <= Link::MAX_RATE_BPS,
            "link ",
            a,
            "-",
            b,
            ": rate ",
            rateBps,
            " bit/s, expected 1 to ",
            Link::MAX_RATE_BPS);
    Link link;
    link.a = a;
    link.b = b;
    link.rateBps = rateBps;
    m_links.push_back(link);
}

void
TopologyBuilder::Place(NodeId node, Position position)
{
    if (m_positions.size() <= node)
    {
        m_positions.resize(m_nServers + m_nSwitches);
    }
    m_positions[node] = position;
}

void
TopologyBuilder::PlaceInRow(NodeId first, uint32_t count, double y)
{
    for (uint32_t i = 0; i < count; ++i)
    {
        Place(first + i, {(i + 0.5) / count, y});
    }
}

Topology
TopologyBuilder::Build()
{
    DeriveCapacities(m_links);
    Topology topology(m_name, m_nServers, m_nSwitches, std::move(m_links));
    if (!m_positions.empty())
    {
        topology.SetPositions(std::move(m_positions));
    }
    return topology;
}

} // namespace ns3::allreduce
