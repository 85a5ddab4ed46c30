/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "hop-table.h"

#include "ns3/allreduce-error.h"
#include "ns3/server-hops.h"

namespace ns3::allreduce
{

HopTable::HopTable(const Topology& topology, const PreferredPaths& preferred)
    : m_topology(topology),
      m_preferred(preferred),
      m_graph(topology),
      m_search(topology),
      m_paths(topology),
      m_names(topology.GetNServers()),
      m_hopsTo(topology.GetNServers()),
      m_nRelayed(topology.GetNServers(), 0)
{
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        m_names[server].assign(m_graph.GetNeighbors(server).size(), NO_HOP);
    }
}

void
HopTable::AppendWay(NodeId from, NodeId to, std::vector<HopId>& way)
{
    const uint32_t direct = m_graph.FindNeighbor(from, to);
    if (direct < m_graph.GetNeighbors(from).size())
    {
        way.push_back(FindOrAdd(from, direct));
        return;
    }
    std::vector<uint32_t>& hopsTo = m_hopsTo[to];
    if (hopsTo.empty())
    {
        hopsTo = ComputeServerHops(m_topology, {to});
    }
    if (hopsTo[from] == UNREACHABLE)
    {
        FailInput("server ", from, " cannot reach server ", to);
    }
    for (NodeId here = from; here != to;)
    {
        const uint32_t place = ChooseNeighbor(here, to, hopsTo);
        way.push_back(FindOrAdd(here, place));
        here = m_graph.GetNeighbors(here)[place];
        m_nRelayed[here] += here != to;
    }
}

uint32_t
HopTable::ChooseNeighbor(NodeId from, NodeId to, const std::vector<uint32_t>& hopsTo) const
{
    if (hopsTo[from] == 1)
    {
        return m_graph.FindNeighbor(from, to);
    }
    const std::vector<NodeId>& neighbors = m_graph.GetNeighbors(from);
    uint32_t best = neighbors.size();
    for (uint32_t place = 0; place < neighbors.size(); ++place)
    {
        const NodeId next = neighbors[place];
        if (hopsTo[next] + 1 == hopsTo[from] &&
            (best == neighbors.size() || m_nRelayed[next] < m_nRelayed[neighbors[best]]))
        {
            best = place;
        }
    }
    return best;
}

HopId
HopTable::FindOrAdd(NodeId from, uint32_t place)
{
    HopId& name = m_names[from][place];
    if (name != NO_HOP)
    {
        return name;
    }
    name = m_hops.size();
    const NodeId to = m_graph.GetNeighbors(from)[place];
    const uint32_t nLinks = m_graph.GetNLinks(from, to);
    const auto hasRoom = [](DirectedLinkId) { return true; };
    m_search.Find(from, to, nLinks, hasRoom, m_found);
    const std::vector<DirectedLinkId> links = FindLinks(m_topology, m_found);
    Hop hop{from, to, nLinks, m_paths.Add(links), NO_PATH, NO_LINK, NO_LINK};
    // Searches begin at the server that the link belongs to: they end soon if it has no other.
    hop.out = HasPathWithout(links.front(), from, to) ? NO_LINK : links.front();
    hop.in = HasPathWithout(links.back(), to, from) ? NO_LINK : links.back();
    const auto preferred = m_preferred.find({from, to});
    if (preferred != m_preferred.end())
    {
        hop.preferred = m_paths.Add(FindLinks(m_topology, preferred->second));
    }
    m_hops.push_back(hop);
    return name;
}

bool
HopTable::HasPathWithout(DirectedLinkId link, NodeId from, NodeId to)
{
    const auto isOther = [&](DirectedLinkId other) { return GetLinkId(other) != GetLinkId(link); };
    return m_search.Find(from, to, SwitchPathSearch::ANY_LENGTH, isOther, m_found);
}

bool
HopTable::FindPath(HopId name, const AllReduceState& state, uint32_t detour, Path& path)
{
    const Hop& hop = m_hops[name];
    if (IsFull(name, state))
    {
        return false;
    }
    if (hop.preferred != NO_PATH && HasRoom(hop.preferred, state))
    {
        m_paths.GetNodes(hop.preferred, path);
        return true;
    }
    // A search would find the usual path: what is full can only make it prefer that to others.
    if (HasRoom(hop.usual, state))
    {
        m_paths.GetNodes(hop.usual, path);
        return true;
    }
    return FindFreePath(m_search, state, hop.from, hop.to, hop.nLinks + detour, path);
}

bool
HopTable::HasRoom(PathId path, const AllReduceState& state) const
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
