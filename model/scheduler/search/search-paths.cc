/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "search-paths.h"

#include "ns3/breadth-first-search.h"
#include "ns3/link-prices.h"

#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Shortest paths between two servers that are worth knowing.
constexpr uint32_t MOST_PATHS = 4;
/// What a link costs that is in nobody's way is 1; each unit of its price in the bound costs this.
constexpr uint32_t PRICE_WEIGHT = 4;

/// Adds paths from one server, going back from where they end.
class PathsFrom
{
  public:
    PathsFrom(const Topology& topology, NodeId source, PathIndex& paths)
        : m_topology(topology),
          m_paths(paths)
    {
        const auto mayPass = [&](NodeId node, const Topology::Port&) {
            return node == source || !topology.IsServer(node);
        };
        m_distances = SearchBreadthFirst(topology, source, mayPass).distance;
    }

    void AddTo(NodeId server)
    {
        m_nAdded = 0;
        if (m_distances[server] != 0 && m_distances[server] != UNREACHABLE)
        {
            GoBack(server);
        }
    }

  private:
    void GoBack(NodeId node)
    {
        if (m_distances[node] == 0)
        {
            m_paths.FindOrAdd({m_links.rbegin(), m_links.rend()});
            ++m_nAdded;
            return;
        }
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const uint32_t distance = m_distances[port.neighbor];
            const bool mayPass = distance == 0 || !m_topology.IsServer(port.neighbor);
            if (distance + 1 == m_distances[node] && mayPass && m_nAdded < MOST_PATHS)
            {
                m_links.push_back(Reverse(port.out));
                GoBack(port.neighbor);
                m_links.pop_back();
            }
        }
    }

    const Topology& m_topology;
    PathIndex& m_paths;
    std::vector<uint32_t> m_distances;   //!< by node: from the source
    std::vector<DirectedLinkId> m_links; //!< from the present node on, the last one first
    uint32_t m_nAdded{0};                //!< to the present server
};

} // namespace

void
AddShortestPaths(const Topology& topology, PathIndex& paths)
{
    for (NodeId source = 0; source < topology.GetNServers(); ++source)
    {
        PathsFrom pathsFrom(topology, source, paths);
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            pathsFrom.AddTo(server);
        }
    }
}

SearchPaths::SearchPaths(const Topology& topology, PathTable paths)
    : PathTable(std::move(paths)),
      m_pathsTo(topology.GetNServers())
{
    const std::vector<uint64_t> prices = FindLinkPrices(topology).prices;
    for (PathId path = 0; path < GetSize(); path += 2)
    {
        m_pathsTo[GetTarget(path)].push_back(path);
        uint32_t price = 0;
        for (const DirectedLinkId link : GetLinks(path))
        {
            price += 1 + PRICE_WEIGHT * prices[GetLinkId(link)];
        }
        m_prices.push_back(price);
    }
}

} // namespace ns3::allreduce
