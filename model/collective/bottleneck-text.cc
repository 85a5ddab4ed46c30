/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bottleneck-text.h"

#include "server-flow.h"

#include <algorithm>
#include <sstream>

namespace ns3::allreduce
{

namespace
{

/// Longer lists are cut off.
constexpr std::size_t MAX_LISTED = 8;

/// @return the pieces, joined; after MAX_LISTED of them "..."
std::string
Join(const std::vector<std::string>& pieces, const std::string& separator)
{
    std::string text;
    for (std::size_t i = 0; i < pieces.size(); ++i)
    {
        text += (i == 0 ? "" : separator) + (i < MAX_LISTED ? pieces[i] : "...");
        if (i == MAX_LISTED)
        {
            break;
        }
    }
    return text;
}

std::string
FormatGbps(uint64_t bps)
{
    std::ostringstream text;
    text << bps / 1e9 << " Gb/s";
    return text.str();
}

/// @return the links over borders of sides @param side by node
std::vector<LinkId>
ListBorder(const Topology& topology, const std::vector<uint32_t>& side)
{
    std::vector<LinkId> links;
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        const Link& link = topology.GetLink(id);
        if (side[link.a] != side[link.b])
        {
            links.push_back(id);
        }
    }
    return links;
}

/// @return the servers, or all others if those are fewer
std::vector<NodeId>
TakeSmallerSide(const Topology& topology, const std::vector<NodeId>& servers)
{
    if (2 * servers.size() <= topology.GetNServers())
    {
        return servers;
    }
    std::vector<NodeId> others;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (!std::binary_search(servers.begin(), servers.end(), server))
        {
            others.push_back(server);
        }
    }
    return others;
}

} // namespace

std::string
DescribeLinks(const Topology& topology, const std::vector<LinkId>& links)
{
    const auto isSlower = [&](LinkId x, LinkId y) {
        return topology.GetLink(x).rateBps < topology.GetLink(y).rateBps;
    };
    const auto [slowest, fastest] = std::minmax_element(links.begin(), links.end(), isSlower);
    const uint64_t least = topology.GetLink(*slowest).rateBps;
    const uint64_t most = topology.GetLink(*fastest).rateBps;
    const Link& first = topology.GetLink(links[0]);
    const std::string rates =
        " of " + (least < most ? FormatGbps(least) + " to " : "") + FormatGbps(most);
    return links.size() == 1
               ? "link " + FormatPath({std::min(first.a, first.b), std::max(first.a, first.b)}) +
                     rates
               : std::to_string(links.size()) + " links" + rates;
}

std::string
DescribeServers(const std::vector<NodeId>& servers)
{
    std::vector<std::string> ranges;
    for (std::size_t first = 0, last = 0; first < servers.size(); first = last + 1)
    {
        for (last = first; last + 1 < servers.size() && servers[last + 1] == servers[last] + 1;)
        {
            ++last;
        }
        const std::string separator = last == first + 1 ? ", " : " to ";
        const std::string end = last == first ? "" : separator + std::to_string(servers[last]);
        ranges.push_back(std::to_string(servers[first]) + end);
    }
    return (servers.size() == 1 ? "server " : "servers ") + Join(ranges, ", ");
}

std::string
DescribeBottleneck(const Topology& topology, const PriceBound& bound)
{
    std::vector<LinkId> links;
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        if (bound.prices[id] > 0)
        {
            links.push_back(id);
        }
    }
    const std::string text = DescribeLinks(topology, links);
    if (bound.parts.size() == topology.GetNServers() && topology.GetNServers() > 2)
    {
        return "the ports of all servers, " + text;
    }
    if (bound.parts.size() == 2)
    {
        return DescribeServers(TakeSmallerSide(topology, bound.parts[0])) + ", " + text;
    }
    std::vector<std::string> parts;
    for (const std::vector<NodeId>& part : bound.parts)
    {
        parts.push_back(DescribeServers(part));
    }
    // The parts of many servers tell more than single ones.
    std::stable_sort(parts.begin(), parts.end(), [](const std::string& x, const std::string& y) {
        return (x.find("servers") == 0) > (y.find("servers") == 0);
    });
    return std::to_string(parts.size()) + " parts, " + text +
           " between them: " + Join(parts, " | ");
}

std::string
DescribeBottleneck(const Topology& topology, const CutBound& cut)
{
    const std::string links = DescribeLinks(topology, ListBorder(topology, cut.side));
    if (cut.nSides > 1)
    {
        return std::to_string(cut.nSides) + " parts of the network, " + links + " between them";
    }
    std::vector<NodeId> servers;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (cut.side[server] != NO_SIDE)
        {
            servers.push_back(server);
        }
    }
    return DescribeServers(TakeSmallerSide(topology, servers)) + ", " + links;
}

std::string
DescribeWayInto(const Topology& topology, const std::vector<NodeId>& servers)
{
    std::vector<bool> isInside(topology.GetNServers(), false);
    for (const NodeId server : servers)
    {
        isInside[server] = true;
    }
    ServerFlow flow(topology, GetCapacities(topology));
    flow.FindCut(isInside);
    std::vector<uint32_t> side;
    for (NodeId node = 0; node < topology.GetNNodes(); ++node)
    {
        side.push_back(flow.IsOnSourceSide(node));
    }
    const std::vector<NodeId> smaller = TakeSmallerSide(topology, servers);
    return (smaller == servers ? "the way into " : "the way out of ") + DescribeServers(smaller) +
           ", " + DescribeLinks(topology, ListBorder(topology, side));
}

} // namespace ns3::allreduce
