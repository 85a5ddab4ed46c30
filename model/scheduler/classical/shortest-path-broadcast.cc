/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "shortest-path-broadcast.h"

#include "ns3/allreduce-error.h"

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
      m_transfers(m_topology, NO_PREFERENCE),
      m_random(seed),
      m_detour(detour),
      m_isNearestFirst(isNearestFirst),
      m_receivers(m_nServers),
      m_order(m_nServers),
      m_isReady(m_nServers, state.GetNChunks())
{
    MeasureDistances();
    ListTransfers();
    FindMostLinks();
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
            m_farthest = std::max(m_farthest, distances[other]);
        }
    }
    for (Receiver& receiver : m_receivers)
    {
        receiver.ready.resize(m_isNearestFirst ? m_farthest + 1 : 1);
        receiver.nMissing = m_state.GetNChunks();
    }
}

void
ShortestPathBroadcast::ListTransfers()
{
    const ServerGraph& graph = m_transfers.GetGraph();
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (const NodeId sender : graph.GetNeighbors(server))
        {
            m_receivers[server].transfers.push_back(
                m_transfers.FindOrAdd(sender, graph.FindNeighbor(sender, server)));
        }
        const auto& transfers = m_receivers[server].transfers;
        m_receivers[server].hasOneLength =
            std::all_of(transfers.begin(), transfers.end(), [&](TransferId transfer) {
                return m_transfers.Get(transfer).nLinks ==
                       m_transfers.Get(transfers.front()).nLinks;
            });
    }
}

void
ShortestPathBroadcast::FindMostLinks()
{
    m_mostLinks.assign(m_distances.size(), 0);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const auto& transfers = m_receivers[server].transfers;
        for (NodeId root = 0; root < m_nServers && !m_receivers[server].hasOneLength; ++root)
        {
            // A sender that is no closer to the root may itself wait for this server.
            const auto nearest =
                std::find_if(transfers.begin(), transfers.end(), [&](TransferId transfer) {
                    return GetDistance(root, m_transfers.Get(transfer).from) <
                           GetDistance(root, server);
                });
            if (nearest != transfers.end())
            {
                m_mostLinks[std::size_t{server} * m_nServers + root] =
                    m_transfers.Get(*nearest).nLinks + m_detour;
            }
        }
    }
}

void
ShortestPathBroadcast::Spread(ChunkId chunk, NodeId server)
{
    const NodeId root = m_state.GetRoots()[chunk];
    if (m_detour == 0 && GetDistance(root, server) == m_farthest)
    {
        return; // Nobody is farther.
    }
    const ServerGraph& graph = m_transfers.GetGraph();
    for (const NodeId next : graph.GetNeighbors(server))
    {
        if (next != root && IsAllowed(root, server, next) && !m_isReady.Test(next, chunk) &&
            graph.GetNLinks(server, next) <= GetMostLinks(root, next))
        {
            m_isReady.Set(next, chunk);
            m_receivers[next].ready[m_isNearestFirst ? GetDistance(root, next) : 0].push_back(
                chunk);
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
    if (nLeft == 0 || !HasRoom(server))
    {
        return;
    }
    m_openTransfers = m_receivers[server].transfers;
    DropFullTransfers();
    for (uint32_t i = 0; i < MOST_TRIES && nLeft > 0 && HasRoom(server); ++i)
    {
        std::swap(ready[m_random.Modulo(nLeft)], ready[nLeft - 1]);
        --nLeft;
        PrefetchTries(server, ready, nLeft);
        if (Deliver(ready[nLeft], server, round))
        {
            ready[nLeft] = ready.back();
            ready.pop_back();
            DropFullTransfers();
        }
    }
}

void
ShortestPathBroadcast::PrefetchTries(NodeId server,
                                     const std::vector<ChunkId>& ready,
                                     std::size_t nLeft) const
{
    if (nLeft < 2)
    {
        return;
    }
    // The chunk after the next, and for the next, of which it is known, where it may come from.
    __builtin_prefetch(&ready[m_random.LookAhead(1) % (nLeft - 1)]);
    const NodeId root = m_state.GetRoots()[ready[m_random.LookAhead(0) % nLeft]];
    __builtin_prefetch(&m_distances[std::size_t{server} * m_nServers + root]);
    for (const TransferId transfer : m_openTransfers)
    {
        __builtin_prefetch(
            &m_distances[std::size_t{m_transfers.Get(transfer).from} * m_nServers + root]);
    }
}

void
ShortestPathBroadcast::DropFullTransfers()
{
    m_openTransfers.erase(std::remove_if(m_openTransfers.begin(),
                                         m_openTransfers.end(),
                                         [this](TransferId transfer) {
                                             return m_transfers.IsFull(transfer, m_state);
                                         }),
                          m_openTransfers.end());
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
    const uint32_t mostLinks = GetMostLinks(root, server);
    for (const TransferId id : m_openTransfers)
    {
        const TransferTable::Transfer& transfer = m_transfers.Get(id);
        if (transfer.nLinks > mostLinks)
        {
            break;
        }
        if (IsAllowed(root, transfer.from, server) &&
            m_state.GetFinals().Test(transfer.from, chunk) &&
            m_transfers.FindPath(id, m_state, 0, m_path))
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
