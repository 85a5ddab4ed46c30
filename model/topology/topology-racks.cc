/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-racks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace ns3::allreduce
{

namespace
{

using SwitchSet = std::vector<NodeId>;

/// @return the switches that a server has a link to, in their order
SwitchSet
GetSwitches(const Topology& topology, NodeId server)
{
    SwitchSet switches;
    for (const Topology::Port& port : topology.GetPorts(server))
    {
        if (!topology.IsServer(port.neighbor))
        {
            switches.push_back(port.neighbor);
        }
    }
    return switches;
}

/// Tells for each server what it has in common with the others of its rack.
class RackKeys
{
  public:
    explicit RackKeys(const Topology& topology)
        : m_topology(topology)
    {
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            ++m_nServers[GetSwitches(topology, server)];
        }
        for (const auto& [switches, nServers] : m_nServers)
        {
            for (const NodeId id : switches)
            {
                if (nServers > 1)
                {
                    m_sharedBy.emplace(id, switches);
                }
            }
        }
    }

    SwitchSet Get(NodeId server) const
    {
        SwitchSet switches = GetSwitches(m_topology, server);
        if (switches.empty())
        {
            return {server};
        }
        if (m_nServers.at(switches) > 1)
        {
            return switches;
        }
        const auto shared = m_sharedBy.find(switches.front());
        return shared == m_sharedBy.end() ? SwitchSet{switches.front()} : shared->second;
    }

  private:
    const Topology& m_topology;
    std::map<SwitchSet, uint32_t> m_nServers; //!< by switches: the servers with just these
    std::map<NodeId, SwitchSet> m_sharedBy;   //!< by switch: a set with it that several have
};

/// @return the rack of all servers of a switch; nothing if there is not one
std::optional<uint32_t>
FindCommonRack(const Topology& topology, const Racks& racks, NodeId id)
{
    std::optional<uint32_t> common;
    for (const Topology::Port& port : topology.GetPorts(id))
    {
        if (!topology.IsServer(port.neighbor))
        {
            continue;
        }
        const uint32_t rack = racks.rackOf[port.neighbor];
        if (common && *common != rack)
        {
            return {};
        }
        common = rack;
    }
    return common;
}

/// @return by node: how many links it is away from the nearest server
std::vector<uint32_t>
ComputeHeights(const Topology& topology)
{
    std::vector<uint32_t> heights(topology.GetNNodes(), topology.GetNNodes());
    std::vector<NodeId> queue;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        heights[server] = 0;
        queue.push_back(server);
    }
    for (std::size_t i = 0; i < queue.size(); ++i)
    {
        for (const Topology::Port& port : topology.GetPorts(queue[i]))
        {
            if (heights[port.neighbor] == topology.GetNNodes())
            {
                heights[port.neighbor] = heights[queue[i]] + 1;
                queue.push_back(port.neighbor);
            }
        }
    }
    return heights;
}

/// Nodes one above the other; servers are the lowest row.
using Rows = std::vector<std::vector<NodeId>>;

/// @return the nodes by row, racks in their order, the switches of racks apart from others
Rows
MakeRows(const Topology& topology, const Racks& racks)
{
    const std::vector<uint32_t> heights = ComputeHeights(topology);
    std::map<std::pair<uint32_t, bool>, std::vector<NodeId>> byHeight;
    for (NodeId id = 0; id < topology.GetNNodes(); ++id)
    {
        byHeight[{heights[id], racks.rackOf[id] == Racks::NONE}].push_back(id);
    }
    Rows rows;
    for (auto& [height, row] : byHeight)
    {
        std::stable_sort(row.begin(), row.end(), [&](NodeId x, NodeId y) {
            return racks.rackOf[x] < racks.rackOf[y];
        });
        rows.push_back(std::move(row));
    }
    return rows;
}

/// Places the servers, with room for one between racks. @return by rack: where it begins and ends
std::vector<std::pair<double, double>>
PlaceServers(const std::vector<NodeId>& servers,
             const Racks& racks,
             std::vector<Position>& positions)
{
    const double width = servers.size() + racks.count;
    std::vector<std::pair<double, double>> spans(racks.count);
    for (std::size_t i = 0; i < servers.size(); ++i)
    {
        const uint32_t rack = racks.rackOf[servers[i]];
        const double x = (i + rack + 1) / width;
        auto& span = spans[rack];
        span.first = span.second == 0 ? x : span.first;
        span.second = x;
        positions[servers[i]] = {x, 1};
    }
    return spans;
}

/// Places a row of switches: those of a rack above its servers, others evenly.
void
PlaceSwitches(const std::vector<NodeId>& row,
              const Racks& racks,
              const std::vector<std::pair<double, double>>& spans,
              double y,
              std::vector<Position>& positions)
{
    std::map<uint32_t, uint32_t> nInRack;
    for (const NodeId id : row)
    {
        ++nInRack[racks.rackOf[id]];
    }
    std::map<uint32_t, uint32_t> nPlaced;
    for (const NodeId id : row)
    {
        const uint32_t rack = racks.rackOf[id];
        const double share = (nPlaced[rack]++ + 0.5) / nInRack[rack];
        const auto [left, right] = rack == Racks::NONE ? std::pair(0.0, 1.0) : spans[rack];
        positions[id] = {left + (right - left) * share, y};
    }
}

/// @return all servers as one rack, and switches that belong to none
Racks
MakeOneRack(const Topology& topology)
{
    Racks racks;
    racks.count = 1;
    racks.rackOf.assign(topology.GetNNodes(), Racks::NONE);
    std::fill_n(racks.rackOf.begin(), topology.GetNServers(), 0);
    return racks;
}

/// @return whether a link joins nodes of a row that are not next to each other
bool
HasLinkOverNode(const Topology& topology, const Rows& rows)
{
    std::vector<std::pair<std::size_t, std::size_t>> places(topology.GetNNodes()); // row, in it
    for (std::size_t row = 0; row < rows.size(); ++row)
    {
        for (std::size_t i = 0; i < rows[row].size(); ++i)
        {
            places[rows[row][i]] = {row, i};
        }
    }
    const auto& links = topology.GetLinks();
    return std::any_of(links.begin(), links.end(), [&](const Link& link) {
        const auto [a, b] = std::minmax(places[link.a], places[link.b]);
        return a.first == b.first && b.second - a.second > 1;
    });
}

/// @return the middle of a node's neighbors that have a place, or none if it has none of these
std::optional<Position>
FindMiddle(const Topology& topology, const std::vector<Position>& positions, NodeId node)
{
    Position sum{0, 0};
    uint32_t count = 0;
    for (const Topology::Port& port : topology.GetPorts(node))
    {
        const Position& position = positions[port.neighbor];
        const bool isPlaced = position.x != 0 || position.y != 0;
        sum.x += isPlaced ? position.x : 0;
        sum.y += isPlaced ? position.y : 0;
        count += isPlaced;
    }
    return count == 0 ? std::nullopt : std::optional<Position>({sum.x / count, sum.y / count});
}

/// Sort a row of switches such that few lines to lower rows cross.
/// @param key of the middle of a switch's neighbors; one without comes last
template <typename Key>
void
SortByMiddle(const Topology& topology,
             const std::vector<Position>& positions,
             Key key,
             std::vector<NodeId>& row)
{
    std::map<NodeId, double> keys;
    for (const NodeId id : row)
    {
        const auto middle = FindMiddle(topology, positions, id);
        keys[id] = middle ? std::round(1e6 * key(*middle)) : HUGE_VAL;
    }
    std::stable_sort(row.begin(), row.end(), [&](NodeId x, NodeId y) { return keys[x] < keys[y]; });
}

/// @return where a point is on a circle around the middle of the drawing, as a share of a turn
double
GetTurn(const Position& position)
{
    const double turn = std::atan2(position.y - 0.5, position.x - 0.5) / (2 * std::acos(-1.0));
    return turn < -1e-9 ? turn + 1 : turn;
}

/// Places servers on a circle and every further row on a smaller one, a single switch in the
/// middle. So links between servers pass by the other servers.
void
PlaceInRings(const Topology& topology, Rows& rows, std::vector<Position>& positions)
{
    const double turn = 2 * std::acos(-1.0);
    for (std::size_t row = 0; row < rows.size(); ++row)
    {
        if (row > 0)
        {
            SortByMiddle(topology, positions, GetTurn, rows[row]);
        }
        const auto first = FindMiddle(topology, positions, rows[row].front());
        const double aside = 0.35 / rows.front().size(); // of lines through the middle
        const double begin = row > 0 && first ? GetTurn(*first) + aside : 0;
        const bool isMiddle = rows[row].size() == 1 && row + 1 == rows.size();
        const double radius = isMiddle ? 0 : 0.48 * (1 - row / double(rows.size()));
        for (std::size_t i = 0; i < rows[row].size(); ++i)
        {
            const double angle = turn * (begin + double(i) / rows[row].size());
            positions[rows[row][i]] = {0.5 + radius * std::cos(angle),
                                       0.5 + radius * std::sin(angle)};
        }
    }
}

} // namespace

Racks
FindRacks(const Topology& topology)
{
    Racks racks;
    racks.rackOf.assign(topology.GetNNodes(), Racks::NONE);
    const RackKeys keys(topology);
    std::map<SwitchSet, uint32_t> numbers;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const auto place = numbers.emplace(keys.Get(server), racks.count);
        racks.count += place.second;
        racks.rackOf[server] = place.first->second;
    }
    for (NodeId id = topology.GetNServers(); id < topology.GetNNodes(); ++id)
    {
        racks.rackOf[id] = FindCommonRack(topology, racks, id).value_or(Racks::NONE);
    }
    return racks;
}

std::vector<Position>
PlaceByRacks(const Topology& topology)
{
    Racks racks = FindRacks(topology);
    if (racks.count < 2 || 2 * racks.count > topology.GetNServers())
    {
        racks = MakeOneRack(topology);
    }
    Rows rows = MakeRows(topology, racks);
    std::vector<Position> positions(topology.GetNNodes());
    if (rows.size() < 2 || HasLinkOverNode(topology, rows))
    {
        PlaceInRings(topology, rows, positions);
        return positions;
    }
    const auto spans = PlaceServers(rows.front(), racks, positions);
    for (std::size_t row = 1; row < rows.size(); ++row)
    {
        SortByMiddle(
            topology,
            positions,
            [](const Position& middle) { return middle.x; },
            rows[row]);
        PlaceSwitches(rows[row], racks, spans, 1 - row / (rows.size() - 1.0), positions);
    }
    return positions;
}

} // namespace ns3::allreduce
