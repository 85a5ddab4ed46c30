/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "drawn-network.h"

#include "ns3/topology-racks.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ns3::allreduce
{

namespace
{

/// More racks, or more switches in a row, are drawn together.
constexpr uint32_t MOST_APART = 32;
/// With more lines than this between them, fewer are drawn apart.
constexpr std::size_t MOST_LINES = 400;
/// How many are left of them then, at most.
constexpr uint32_t MOST_GROUPS = 16;
/// With more heights than this the switches do not stand in rows.
constexpr std::size_t MOST_ROWS = 8;

/**
 * @param count things in a row
 * @param mostApart so many need not be put together
 * @return how many of them to draw as one, all groups of one size if possible
 */
uint32_t
ChooseGroupSize(uint32_t count, uint32_t mostApart)
{
    if (count <= mostApart)
    {
        return 1;
    }
    const uint32_t least = (count + MOST_GROUPS - 1) / MOST_GROUPS;
    for (uint32_t size = least; size <= 2 * least; ++size)
    {
        if (count % size == 0)
        {
            return size;
        }
    }
    return least;
}

/// Decides which nodes are drawn as one.
class Grouping
{
  public:
    Grouping(const Topology& topology, uint32_t mostApart)
        : m_topology(topology),
          m_mostApart(mostApart),
          m_groupOf(topology.GetNNodes(), DrawnNetwork::INSIDE)
    {
        AddRacks();
        AddSwitches();
    }

    std::vector<uint32_t> Get() const
    {
        return m_groupOf;
    }

  private:
    void AddRacks()
    {
        const Racks racks = FindRacks(m_topology);
        const uint32_t size = ChooseGroupSize(racks.count, m_mostApart);
        for (NodeId id = 0; id < m_topology.GetNNodes(); ++id)
        {
            if (racks.rackOf[id] != Racks::NONE)
            {
                m_groupOf[id] = racks.rackOf[id] / size;
            }
        }
        m_nGroups = (racks.count + size - 1) / size;
    }

    void AddSwitches()
    {
        std::map<double, std::vector<NodeId>> rows;
        std::vector<NodeId> all;
        for (NodeId node = m_topology.GetNServers(); node < m_topology.GetNNodes(); ++node)
        {
            if (m_groupOf[node] == DrawnNetwork::INSIDE)
            {
                rows[m_topology.GetPositions()[node].y].push_back(node);
                all.push_back(node);
            }
        }
        if (rows.size() > MOST_ROWS)
        {
            rows = {{0, all}};
        }
        for (const auto& [y, row] : rows)
        {
            const uint32_t size = ChooseGroupSize(row.size(), m_mostApart);
            for (std::size_t i = 0; i < row.size(); ++i)
            {
                m_groupOf[row[i]] = m_nGroups + i / size;
            }
            m_nGroups += (row.size() + size - 1) / size;
        }
    }

    const Topology& m_topology;      //!< the network
    uint32_t m_mostApart;            //!< racks or switches of a row that need not be put together
    std::vector<uint32_t> m_groupOf; //!< by node
    uint32_t m_nGroups{0};           //!< so far
};

/// @return "3", "0-9" if there are several, or "0+9" if these are not neighbors
std::string
MakeLabel(NodeId first, NodeId last, uint32_t count)
{
    const std::string name = std::to_string(first);
    if (count == 1)
    {
        return name;
    }
    const bool areNeighbors = last - first + 1 == count;
    return name + (areNeighbors ? "-" + std::to_string(last) : "+" + std::to_string(count - 1));
}

/// A group with servers is named after these and stands where they do.
void
AddNodes(const Topology& topology, DrawnNetwork& drawn)
{
    drawn.nodes.resize(1 + *std::max_element(drawn.nodeOf.begin(), drawn.nodeOf.end()));
    std::vector<NodeId> first(drawn.nodes.size(), DrawnNetwork::INSIDE);
    std::vector<uint32_t> nPlaced(drawn.nodes.size(), 0);
    for (NodeId id = 0; id < topology.GetNNodes(); ++id)
    {
        const uint32_t group = drawn.nodeOf[id];
        DrawnNode& node = drawn.nodes[group];
        (topology.IsServer(id) ? node.nServers : node.nSwitches) += 1;
        if (topology.IsServer(id) || node.nServers == 0)
        {
            first[group] = std::min(first[group], id);
            const double n = ++nPlaced[group];
            node.label = MakeLabel(first[group], id, nPlaced[group]);
            const Position position = topology.GetPositions()[id];
            node.position.x += (position.x - node.position.x) / n;
            node.position.y += (position.y - node.position.y) / n;
        }
    }
}

void
AddLinks(const Topology& topology, DrawnNetwork& drawn)
{
    std::map<std::pair<uint32_t, uint32_t>, uint32_t> lines;
    drawn.directedOf.assign(topology.GetNDirectedLinks(), DrawnNetwork::INSIDE);
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        const uint32_t from = drawn.nodeOf[topology.GetSource(link)];
        const uint32_t to = drawn.nodeOf[topology.GetTarget(link)];
        if (from == to)
        {
            continue;
        }
        const auto ends = std::minmax(from, to);
        const auto [line, isNew] = lines.emplace(ends, drawn.links.size());
        if (isNew)
        {
            drawn.links.push_back({ends.first, ends.second, 0});
        }
        drawn.directedOf[link] = 2 * line->second + (from > to);
        drawn.links[line->second].capacity += from < to ? topology.GetCapacity(link) : 0;
    }
}

/// @return the network with nodes drawn as one
DrawnNetwork
DrawGroups(const Topology& topology, std::vector<uint32_t> nodeOf)
{
    DrawnNetwork drawn;
    drawn.nodeOf = std::move(nodeOf);
    AddNodes(topology, drawn);
    AddLinks(topology, drawn);
    return drawn;
}

} // namespace

DrawnNetwork
DrawNetwork(const Topology& topology, uint32_t mostServers)
{
    if (topology.GetNServers() <= mostServers)
    {
        std::vector<uint32_t> each(topology.GetNNodes());
        std::iota(each.begin(), each.end(), 0);
        return DrawGroups(topology, std::move(each));
    }
    DrawnNetwork drawn = DrawGroups(topology, Grouping(topology, MOST_APART).Get());
    if (drawn.links.size() > MOST_LINES)
    {
        drawn = DrawGroups(topology, Grouping(topology, MOST_GROUPS).Get());
    }
    drawn.isAggregated = true;
    return drawn;
}

} // namespace ns3::allreduce
