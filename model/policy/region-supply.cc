/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "region-supply.h"

#include "ns3/breadth-first-search.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/biconnected_components.hpp>

namespace ns3::allreduce
{

namespace
{

/// Regions that a server's slack is counted for: the tightest that it is in.
constexpr std::size_t MOST_REGIONS = 6;

/// The links that are up, each with the component that it is in.
using LinkGraph = boost::adjacency_list<boost::vecS,
                                        boost::vecS,
                                        boost::undirectedS,
                                        boost::no_property,
                                        boost::property<boost::edge_index_t, std::size_t>>;

/// @return the links, by one of their directions, that are the only ones between their sides
std::vector<DirectedLinkId>
FindBridges(const Topology& topology, const std::vector<uint32_t>& capacity)
{
    LinkGraph graph(topology.GetNNodes());
    std::vector<DirectedLinkId> links;
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); link += 2)
    {
        if (capacity[link] > 0 || capacity[Reverse(link)] > 0)
        {
            boost::add_edge(topology.GetSource(link),
                            topology.GetTarget(link),
                            links.size(),
                            graph);
            links.push_back(link);
        }
    }
    std::vector<std::size_t> componentOf(links.size());
    const auto components = boost::make_iterator_property_map(componentOf.begin(),
                                                              boost::get(boost::edge_index, graph));
    std::vector<uint32_t> size(boost::biconnected_components(graph, components), 0);
    for (const std::size_t component : componentOf)
    {
        ++size[component];
    }
    std::vector<DirectedLinkId> bridges;
    for (std::size_t i = 0; i < links.size(); ++i)
    {
        if (size[componentOf[i]] == 1)
        {
            bridges.push_back(links[i]);
        }
    }
    return bridges;
}

} // namespace

RegionSupply::RegionSupply(const Topology& topology,
                           const std::vector<uint32_t>& capacity,
                           uint32_t nChunks)
    : m_topology(topology),
      m_capacity(capacity),
      m_regionsOf(topology.GetNServers())
{
    AddRacks();
    AddSides();
    KeepTightest();
    m_present = BitMatrix(m_regions.size(), nChunks);
    m_wanted = BitMatrix(m_regions.size(), nChunks);
}

void
RegionSupply::AddRegion(const std::vector<bool>& isInside)
{
    Region region;
    for (DirectedLinkId link = 0; link < m_topology.GetNDirectedLinks(); ++link)
    {
        if (!isInside[m_topology.GetSource(link)] && isInside[m_topology.GetTarget(link)])
        {
            region.inLinks.push_back(link);
            region.inCapacity += m_capacity[link];
        }
    }
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        if (isInside[server])
        {
            ++region.nServers;
            m_regionsOf[server].push_back(m_regions.size());
        }
    }
    m_regions.push_back(std::move(region));
    m_isInside.push_back(isInside);
}

void
RegionSupply::AddRacks()
{
    std::vector<std::vector<bool>> racks(m_topology.GetNNodes());
    for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
    {
        const auto ports = m_topology.GetPorts(server);
        const bool isAlone = ports.size() != 1 || m_topology.IsServer(ports.begin()->neighbor);
        const NodeId entrance = isAlone ? server : ports.begin()->neighbor;
        racks[entrance].resize(m_topology.GetNNodes(), false);
        racks[entrance][entrance] = true;
        racks[entrance][server] = true;
    }
    for (const std::vector<bool>& rack : racks)
    {
        if (!rack.empty())
        {
            AddRegion(rack);
        }
    }
}

void
RegionSupply::AddSides()
{
    for (const DirectedLinkId link : FindBridges(m_topology, m_capacity))
    {
        for (const DirectedLinkId direction : {link, Reverse(link)})
        {
            const NodeId start = m_topology.GetTarget(direction);
            if (m_topology.IsServer(start) || m_topology.IsServer(m_topology.GetSource(direction)))
            {
                continue; // a port of a server, which is a limit anyway
            }
            AddRegion(FindSide(start, direction));
        }
    }
}

std::vector<bool>
RegionSupply::FindSide(NodeId start, DirectedLinkId without) const
{
    const auto mayPass = [&](NodeId, const Topology::Port& next) {
        const bool isUp = m_capacity[next.out] > 0 || m_capacity[Reverse(next.out)] > 0;
        return isUp && next.out != Reverse(without);
    };
    std::vector<bool> isInside(m_topology.GetNNodes(), false);
    for (const NodeId node : SearchBreadthFirst(m_topology, start, mayPass).order)
    {
        isInside[node] = true;
    }
    return isInside;
}

void
RegionSupply::KeepTightest()
{
    // By what must come in over a link if every server outside has as much to send.
    const auto getPressure = [this](uint32_t region) {
        const Region& r = m_regions[region];
        return static_cast<double>(m_topology.GetNServers() - r.nServers) /
               std::max(1U, r.inCapacity);
    };
    for (std::vector<uint32_t>& regions : m_regionsOf)
    {
        std::stable_sort(regions.begin(), regions.end(), [&](uint32_t x, uint32_t y) {
            return getPressure(x) > getPressure(y);
        });
        regions.resize(std::min(regions.size(), MOST_REGIONS));
    }
}

void
RegionSupply::Bring(NodeId server, ChunkId chunk)
{
    for (const uint32_t region : m_regionsOf[server])
    {
        m_present.Set(region, chunk);
        if (m_wanted.Test(region, chunk))
        {
            m_wanted.Clear(region, chunk);
            --m_regions[region].nWanted;
        }
    }
}

void
RegionSupply::Want(NodeId server, ChunkId chunk)
{
    for (const uint32_t region : m_regionsOf[server])
    {
        if (!m_present.Test(region, chunk) && !m_wanted.Test(region, chunk))
        {
            m_wanted.Set(region, chunk);
            ++m_regions[region].nWanted;
        }
    }
}

int64_t
RegionSupply::CountSlackOf(uint32_t region, const RoomLeft& room) const
{
    const Region& r = m_regions[region];
    int64_t slack = room.roundsAfter * r.inCapacity - static_cast<int64_t>(r.nWanted);
    for (const DirectedLinkId link : r.inLinks)
    {
        slack += room.free[link];
    }
    return slack;
}

template <typename Counts>
int64_t
RegionSupply::FindLeast(NodeId receiver, const RoomLeft& room, Counts counts) const
{
    int64_t least = NO_LIMIT;
    for (const uint32_t region : m_regionsOf[receiver])
    {
        if (counts(region))
        {
            least = std::min(least, CountSlackOf(region, room));
        }
    }
    return least;
}

int64_t
RegionSupply::CountSlack(NodeId receiver, const RoomLeft& room) const
{
    return FindLeast(receiver, room, [](uint32_t) { return true; });
}

int64_t
RegionSupply::CountSlack(NodeId sender, NodeId receiver, const RoomLeft& room) const
{
    return FindLeast(receiver, room, [&](uint32_t region) { return !m_isInside[region][sender]; });
}

int64_t
RegionSupply::CountSlack(NodeId sender, NodeId receiver, ChunkId chunk, const RoomLeft& room) const
{
    return FindLeast(receiver, room, [&](uint32_t region) {
        return !m_isInside[region][sender] && !m_present.Test(region, chunk);
    });
}

} // namespace ns3::allreduce
