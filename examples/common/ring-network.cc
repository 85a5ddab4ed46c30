/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-network.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Gives the nodes of a ring ids of their own, the ring's servers first.
class OwnIds
{
  public:
    explicit OwnIds(const std::vector<NodeId>& servers)
    {
        std::for_each(servers.begin(), servers.end(), [this](NodeId node) { Get(node); });
    }

    NodeId Get(NodeId node)
    {
        const auto [place, isNew] = m_ids.emplace(node, m_nodes.size());
        if (isNew)
        {
            m_nodes.push_back(node);
        }
        return place->second;
    }

    Path Get(const Path& path)
    {
        Path own(path.size());
        std::transform(path.begin(), path.end(), own.begin(), [this](NodeId n) { return Get(n); });
        return own;
    }

    /// @return by own id: which it is in the whole network
    const std::vector<NodeId>& GetNodes() const
    {
        return m_nodes;
    }

  private:
    std::map<NodeId, NodeId> m_ids; //!< by id in the whole network
    std::vector<NodeId> m_nodes;    //!< by own id
};

/// @param paths from each server to the next
AllReduceSchedule
MakeSchedule(const std::vector<Path>& paths)
{
    const uint32_t n = paths.size();
    AllReduceSchedule schedule;
    schedule.collective.roots.resize(n);
    std::iota(schedule.collective.roots.begin(), schedule.collective.roots.end(), 0);
    for (const WorkloadKind kind : {WorkloadKind::REDUCE, WorkloadKind::BROADCAST})
    {
        // Sums come home to their root after n-1 hops, and leave from there.
        const uint32_t first = kind == WorkloadKind::REDUCE ? 1 : 0;
        for (uint32_t hop = 0; hop + 1 < n; ++hop)
        {
            WorkloadList round;
            for (ChunkId chunk = 0; chunk < n; ++chunk)
            {
                round.Add(chunk, kind, paths[(chunk + first + hop) % n]);
            }
            schedule.rounds.push_back(std::move(round));
        }
    }
    return schedule;
}

} // namespace

RingNetwork
MakeRingNetwork(const AllReduceNetwork& whole, const RingEmbedding& ring, uint64_t reservedBps)
{
    OwnIds ids(ring.servers);
    std::vector<Path> paths;
    for (const Path& path : ring.paths)
    {
        paths.push_back(ids.Get(path));
    }
    std::map<LinkId, std::array<uint32_t, 2>> nCrossings;
    for (const DirectedLinkId link : GetLinks(whole.GetTopology(), ring))
    {
        ++nCrossings[GetLinkId(link)][link % 2];
    }
    std::vector<Link> links;
    NetDeviceContainer devices;
    for (const auto& [id, counts] : nCrossings)
    {
        Link link = whole.GetTopology().GetLink(id);
        link.a = ids.Get(link.a);
        link.b = ids.Get(link.b);
        link.capacity = std::max(counts[0], counts[1]);
        if (reservedBps > 0)
        {
            link.rateBps = std::min(link.rateBps, reservedBps * link.capacity);
        }
        links.push_back(link);
        devices.Add(whole.GetDevice(2 * id));
        devices.Add(whole.GetDevice(2 * id + 1));
    }
    NodeContainer nodes;
    for (const NodeId node : ids.GetNodes())
    {
        nodes.Add(whole.GetNode(node));
    }
    const uint32_t nServers = ring.servers.size();
    Topology topology("ring of job " + std::to_string(ring.job),
                      nServers,
                      nodes.GetN() - nServers,
                      std::move(links));
    return {CreateObject<AllReduceNetwork>(std::move(topology), nodes, devices),
            MakeSchedule(paths)};
}

} // namespace ns3::allreduce
