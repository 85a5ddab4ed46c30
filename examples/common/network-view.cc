/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "network-view.h"

#include "drawn-network.h"

#include "ns3/bottleneck-text.h"
#include "ns3/link-prices.h"
#include "ns3/topology-racks.h"

#include <nlohmann/json.hpp>
#include <set>

namespace ns3::allreduce
{

namespace
{

using Json = nlohmann::ordered_json;

/// @return the nodes of each rack that has several servers
Json
MakeRacksJson(const Topology& topology)
{
    const Racks racks = FindRacks(topology);
    std::vector<std::vector<NodeId>> members(racks.count);
    std::vector<uint32_t> nServers(racks.count, 0);
    for (NodeId id = 0; id < topology.GetNNodes(); ++id)
    {
        if (racks.rackOf[id] != Racks::NONE)
        {
            members[racks.rackOf[id]].push_back(id);
            nServers[racks.rackOf[id]] += topology.IsServer(id);
        }
    }
    Json json = Json::array();
    for (uint32_t rack = 0; rack < racks.count; ++rack)
    {
        if (nServers[rack] > 1)
        {
            json.push_back(members[rack]);
        }
    }
    return json;
}

/// @return what makes an AllReduce slow, in words; by line the mean price of its links; the
/// nodes with links inside that have a price
Json
MakeBottleneckJson(const Topology& topology, const DrawnNetwork& drawn)
{
    const PriceBound bound = FindLinkPrices(topology);
    std::vector<double> prices(drawn.links.size(), 0);
    std::set<uint32_t> nodes;
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        const Link& link = topology.GetLink(id);
        const uint32_t directed = drawn.directedOf[2 * id];
        if (directed != DrawnNetwork::INSIDE)
        {
            prices[directed / 2] += static_cast<double>(bound.prices[id]) * link.capacity /
                                    drawn.links[directed / 2].capacity;
        }
        else if (bound.prices[id] > 0)
        {
            nodes.insert(drawn.nodeOf[link.a]);
        }
    }
    return {{"text", DescribeBottleneck(topology, bound)}, {"prices", prices}, {"nodes", nodes}};
}

} // namespace

Json
MakeNetworkView(const Topology& topology, const DrawnNetwork& drawn)
{
    Json json = {{"topology", topology.GetName()},
                 {"servers", topology.GetNServers()},
                 {"switches", topology.GetNSwitches()},
                 {"is_aggregated", drawn.isAggregated},
                 {"nodes", Json::array()},
                 {"links", Json::array()}};
    for (const DrawnNode& node : drawn.nodes)
    {
        json["nodes"].push_back({{"label", node.label},
                                 {"x", node.position.x},
                                 {"y", node.position.y},
                                 {"servers", node.nServers},
                                 {"switches", node.nSwitches}});
    }
    for (const DrawnLink& link : drawn.links)
    {
        json["links"].push_back({link.a, link.b, link.capacity});
    }
    if (drawn.isAggregated)
    {
        json["node_of"] = drawn.nodeOf;
    }
    else
    {
        json["racks"] = MakeRacksJson(topology);
    }
    if (topology.GetNServers() > 1)
    {
        json["bottleneck"] = MakeBottleneckJson(topology, drawn);
    }
    return json;
}

} // namespace ns3::allreduce
