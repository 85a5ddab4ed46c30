/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "shortest-path-broadcast.h"

#include "ns3/allreduce-error.h"
#include "ns3/topology-metrics.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

const PreferredPaths NO_PREFERENCE;

/// Chunks of a distance that a server looks at in a round before it gives up.
constexpr uint32_t MOST_TRIES = 64;

} // namespace

ShortestPathBroadcast::ShortestPathBroadcast(const AllReduceState& state,
                                             uint64_t seed,
                                             uint32_t detour,
                                             bool isNearestFirst)
    : m_topology(state.GetTopology()),
      m_state(AllReduceState::MakeReduced(m_topology, state.GetRoots())),
      m_nServers(m_topology.GetNServers()),
      m_hops(m_topology, NO_PREFERENCE),
      m_random(seed),
      m_detour(detour),
      m_isNearestFirst(isNearestFirst),
      m_receivers(m_nServers),
      m_order(m_nServers),
      m_isReady(m_nServers, state.GetNChunks())
{
    MeasureDistances();
    NameHops();
    std::iota(m_order.begin(), m_order.end(), 0);
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        const NodeId root = state.GetRoots()[chunk];
        --m_receivers[root].nMissing;
        Spread(chunk, root);
    }
}

void
ShortestPathBroadcast::MeasureDistances()
{
    uint32_t farthest = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const std::vector<uint32_t> distances = ComputeDistances(m_topology, server);
        for (NodeId other = 0; other < m_nServers; ++other)
        {
            if (distances[other] == UNREACHABLE)
            {
                FailInput("server ", other, " cannot reach server ", server);
            }
            m_distances.push_back(distances[other]);
            farthest = std::max(farthest, distances[other]);
        }
    }
    for (Receiver& receiver : m_receivers)
    {
        receiver.ready.resize(m_isNearestFirst ? farthest + 1 : 1);
        receiver.nMissing = m_state.GetNChunks();
    }
}

void
ShortestPathBroadcast::NameHops()
{
    const ServerGraph& graph = m_hops.GetGraph();
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (const NodeId sender : graph.GetNeighbors(server))
        {
            m_receivers[server].hops.push_back(
                m_hops.FindOrAdd(sender, graph.FindNeighbor(sender, server)));
        }
    }
}

uint32_t
ShortestPathBroadcast::GetDistance(NodeId root, NodeId server) const
{
    return m_distances[std::size_t{root} * m_nServers + server];
}

bool
ShortestPathBroadcast::IsAllowed(NodeId root, const Hop& hop) const
{
    return GetDistance(root, hop.from) + (m_detour == 0) <= GetDistance(root, hop.to);
}

uint32_t
ShortestPathBroadcast::FindMostLinks(NodeId root, NodeId server) const
{
    for (const HopId id : m_receivers[server].hops)
    {
        // A sender that is no closer to the root may itself wait for this server.
        if (GetDistance(root, m_hops.Get(id).from) < GetDistance(root, server))
        {
            return m_hops.Get(id).nLinks + m_detour;
        }
    }
    return UNREACHABLE;
}

void
ShortestPathBroadcast::Spread(ChunkId chunk, NodeId server)
{
    const NodeId root = m_state.GetRoots()[chunk];
    const ServerGraph& graph = m_hops.GetGraph();
    for (const NodeId next : graph.GetNeighbors(server))
    {
        const uint32_t distance = GetDistance(root, next);
        if (GetDistance(root, server) + (m_detour == 0) <= distance && next != root &&
            !m_isReady.Test(next, chunk) &&
            graph.GetNLinks(server, next) <= FindMostLinks(root, next))
        {
            m_isReady.Set(next, chunk);
            m_receivers[next].ready[m_isNearestFirst ? distance : 0].push_back(chunk);
        }
    }
}

std::vector<WorkloadList>
ShortestPathBroadcast::Run()
{
    std::vector<WorkloadList> rounds;
    while (!m_state.IsDone())
    {
        rounds.push_back(MakeRound());
    }
    return rounds;
}

WorkloadList
ShortestPathBroadcast::MakeRound()
{
    WorkloadList round;
    std::shuffle(m_order.begin(), m_order.end(), m_random);
    std::stable_sort(m_order.begin(), m_order.end(), [this](NodeId x, NodeId y) {
        return m_receivers[x].nMissing > m_receivers[y].nMissing;
    });
    for (uint32_t distance = 0; distance < m_receivers.front().ready.size(); ++distance)
    {
        for (const NodeId server : m_order)
        {
            Receive(server, distance, round);
        }
    }
    m_state.EndRound();
    for (const auto& [chunk, server] : m_arrivals)
    {
        --m_receivers[server].nMissing;
        Spread(chunk, server);
    }
    m_arrivals.clear();
    return round;
}

void
ShortestPathBroadcast::Receive(NodeId server, uint32_t distance, WorkloadList& round)
{
    std::vector<ChunkId>& ready = m_receivers[server].ready[distance];
    // Chunks that were tried are kept behind those that were not.
    std::size_t nLeft = ready.size();
    for (uint32_t i = 0; i < MOST_TRIES && nLeft > 0 && HasRoom(server); ++i)
    {
        std::swap(ready[m_random() % nLeft], ready[nLeft - 1]);
        --nLeft;
        if (Deliver(ready[nLeft], server, round))
        {
            ready[nLeft] = ready.back();
            ready.pop_back();
        }
    }
}

bool
ShortestPathBroadcast::HasRoom(NodeId server) const
{
    const auto ports = m_topology.GetPorts(server);
    return std::any_of(ports.begin(), ports.end(), [this](const Topology::Port& port) {
        return m_state.GetFreeCapacity(Reverse(port.out)) > 0;
    });
}

bool
ShortestPathBroadcast::Deliver(ChunkId chunk, NodeId server, WorkloadList& round)
{
    const NodeId root = m_state.GetRoots()[chunk];
    const uint32_t mostLinks = FindMostLinks(root, server);
    for (const HopId id : m_receivers[server].hops)
    {
        const Hop& hop = m_hops.Get(id);
        if (hop.nLinks > mostLinks)
        {
            break;
        }
        if (IsAllowed(root, hop) && m_state.GetFinals().Test(hop.from, chunk) &&
            m_hops.FindPath(id, m_state, 0, m_path))
        {
            Workload workload;
            workload.chunk = chunk;
            workload.kind = WorkloadKind::BROADCAST;
            workload.path = {m_path.data(), m_path.data() + m_path.size()};
            m_state.Start(workload);
            round.Add(workload);
            m_arrivals.emplace_back(chunk, server);
            return true;
        }
    }
    return false;
}

} // namespace ns3::allreduce
