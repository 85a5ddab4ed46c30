/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "transfer-table.h"

#include "ns3/allreduce-error.h"
#include "ns3/server-hops.h"

namespace ns3::allreduce
{

TransferTable::TransferTable(const Topology& topology, const PreferredPaths& preferred)
    : m_topology(topology),
      m_preferred(preferred),
      m_graph(topology),
      m_search(topology),
      m_paths(topology),
      m_ids(topology.GetNServers()),
      m_nTransfersTo(topology.GetNServers()),
      m_nRelayed(topology.GetNServers(), 0)
{
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        m_ids[server].assign(m_graph.GetNeighbors(server).size(), NO_TRANSFER);
    }
}

void
TransferTable::AppendTransfers(NodeId from, NodeId to, std::vector<Id>& transfers)
{
    const uint32_t direct = m_graph.FindNeighbor(from, to);
    if (direct < m_graph.GetNeighbors(from).size())
    {
        transfers.push_back(FindOrAdd(from, direct));
        return;
    }
    std::vector<uint32_t>& nTransfersTo = m_nTransfersTo[to];
    if (nTransfersTo.empty())
    {
        nTransfersTo = ComputeServerHops(m_topology, {to});
    }
    if (nTransfersTo[from] == UNREACHABLE)
    {
        FailInput("server ", from, " cannot reach server ", to);
    }
    for (NodeId here = from; here != to;)
    {
        const uint32_t neighbor = ChooseNeighbor(here, to, nTransfersTo);
        transfers.push_back(FindOrAdd(here, neighbor));
        here = m_graph.GetNeighbors(here)[neighbor];
        m_nRelayed[here] += here != to;
    }
}

uint32_t
TransferTable::ChooseNeighbor(NodeId from,
                              NodeId to,
                              const std::vector<uint32_t>& nTransfersTo) const
{
    if (nTransfersTo[from] == 1)
    {
        return m_graph.FindNeighbor(from, to);
    }
    const std::vector<NodeId>& neighbors = m_graph.GetNeighbors(from);
    uint32_t best = neighbors.size();
    for (uint32_t neighbor = 0; neighbor < neighbors.size(); ++neighbor)
    {
        const NodeId next = neighbors[neighbor];
        if (nTransfersTo[next] + 1 == nTransfersTo[from] &&
            (best == neighbors.size() || m_nRelayed[next] < m_nRelayed[neighbors[best]]))
        {
            best = neighbor;
        }
    }
    return best;
}

TransferTable::Id
TransferTable::FindOrAdd(NodeId from, uint32_t neighbor)
{
    Id& id = m_ids[from][neighbor];
    if (id != NO_TRANSFER)
    {
        return id;
    }
    id = m_transfers.size();
    const NodeId to = m_graph.GetNeighbors(from)[neighbor];
    const uint32_t nLinks = m_graph.GetNLinks(from, to);
    const auto hasRoom = [](DirectedLinkId) { return true; };
    m_search.Find(from, to, nLinks, hasRoom, m_found);
    const std::vector<DirectedLinkId> links = FindLinks(m_topology, m_found);
    Transfer transfer{from, to, nLinks, m_paths.Add(links), NO_PATH, NO_LINK, NO_LINK};
    // Searches begin at the server that the link belongs to: they end soon if it has no other.
    transfer.out = HasPathWithout(links.front(), from, to) ? NO_LINK : links.front();
    transfer.in = HasPathWithout(links.back(), to, from) ? NO_LINK : links.back();
    const auto preferred = m_preferred.find({from, to});
    if (preferred != m_preferred.end())
    {
        transfer.preferred = m_paths.Add(FindLinks(m_topology, preferred->second));
    }
    m_transfers.push_back(transfer);
    return id;
}

bool
TransferTable::HasPathWithout(DirectedLinkId link, NodeId from, NodeId to)
{
    const auto isOther = [&](DirectedLinkId other) { return GetLinkId(other) != GetLinkId(link); };
    return m_search.Find(from, to, SwitchPathSearch::ANY_LENGTH, isOther, m_found);
}

bool
TransferTable::FindPath(Id id, const AllReduceState& state, uint32_t detour, Path& path)
{
    const Transfer& transfer = m_transfers[id];
    if (IsFull(id, state))
    {
        return false;
    }
    if (transfer.preferred != NO_PATH && HasRoom(transfer.preferred, state))
    {
        m_paths.GetNodes(transfer.preferred, path);
        return true;
    }
    // A search would find the usual path: what is full can only make it prefer that to others.
    if (HasRoom(transfer.usual, state))
    {
        m_paths.GetNodes(transfer.usual, path);
        return true;
    }
    return FindFreePath(m_search,
                        state,
                        transfer.from,
                        transfer.to,
                        transfer.nLinks + detour,
                        path);
}

bool
TransferTable::HasRoom(PathId path, const AllReduceState& state) const
{
    for (const DirectedLinkId link : m_paths.GetLinks(path))
    {
        if (state.GetFreeCapacity(link) == 0)
        {
            return false;
        }
    }
    return true;
}

} // namespace ns3::allreduce
