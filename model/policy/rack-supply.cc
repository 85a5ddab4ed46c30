/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "rack-supply.h"

#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t NO_RACK = std::numeric_limits<uint32_t>::max();

} // namespace

RackSupply::RackSupply(const Topology& topology,
                       const std::vector<uint32_t>& capacity,
                       uint32_t nChunks)
{
    std::vector<uint32_t> rackOfSwitch(topology.GetNNodes(), NO_RACK);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const auto ports = topology.GetPorts(server);
        const bool isAlone = ports.size() != 1 || topology.IsServer(ports.begin()->neighbor);
        const NodeId entrance = isAlone ? server : ports.begin()->neighbor;
        if (rackOfSwitch[entrance] == NO_RACK)
        {
            rackOfSwitch[entrance] = m_racks.size();
            m_racks.emplace_back();
        }
        m_rackOf.push_back(rackOfSwitch[entrance]);
    }
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        const uint32_t rack = rackOfSwitch[topology.GetTarget(link)];
        const NodeId source = topology.GetSource(link);
        if (rack != NO_RACK && !(topology.IsServer(source) && m_rackOf[source] == rack))
        {
            m_racks[rack].inLinks.push_back(link);
            m_racks[rack].inCapacity += capacity[link];
        }
    }
    m_present = BitMatrix(m_racks.size(), nChunks);
    m_wanted = BitMatrix(m_racks.size(), nChunks);
}

void
RackSupply::Bring(NodeId server, ChunkId chunk)
{
    const uint32_t rack = m_rackOf[server];
    m_present.Set(rack, chunk);
    if (m_wanted.Test(rack, chunk))
    {
        m_wanted.Clear(rack, chunk);
        --m_racks[rack].nWanted;
    }
}

void
RackSupply::Want(NodeId server, ChunkId chunk)
{
    const uint32_t rack = m_rackOf[server];
    if (!m_present.Test(rack, chunk) && !m_wanted.Test(rack, chunk))
    {
        m_wanted.Set(rack, chunk);
        ++m_racks[rack].nWanted;
    }
}

int64_t
RackSupply::CountSlack(NodeId server, const std::vector<uint32_t>& free, int64_t roundsAfter) const
{
    const Rack& rack = m_racks[m_rackOf[server]];
    int64_t slack = roundsAfter * rack.inCapacity - static_cast<int64_t>(rack.nWanted);
    for (const DirectedLinkId link : rack.inLinks)
    {
        slack += free[link];
    }
    return slack;
}

} // namespace ns3::allreduce
