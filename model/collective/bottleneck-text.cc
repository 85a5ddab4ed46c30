/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bottleneck-text.h"

#include <algorithm>

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

/// @return the links that have a price, as "7-17"
std::vector<std::string>
ListPricedLinks(const Topology& topology, const PriceBound& bound)
{
    std::vector<std::string> links;
    for (LinkId id = 0; id < topology.GetNLinks(); ++id)
    {
        if (bound.prices[id] > 0)
        {
            const Link& link = topology.GetLink(id);
            links.push_back(FormatPath({std::min(link.a, link.b), std::max(link.a, link.b)}));
        }
    }
    return links;
}

} // namespace

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
    const std::vector<std::string> links = ListPricedLinks(topology, bound);
    if (bound.parts.size() == topology.GetNServers() && topology.GetNServers() > 2)
    {
        return "the ports of all servers";
    }
    if (bound.parts.size() == 2)
    {
        const bool isFirst = bound.parts[0].size() <= bound.parts[1].size();
        return DescribeServers(bound.parts[isFirst ? 0 : 1]) + " behind link" +
               (links.size() == 1 ? " " : "s ") + Join(links, ", ");
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
    return std::to_string(parts.size()) + " parts with " + std::to_string(links.size()) +
           " links between them: " + Join(parts, " | ");
}

} // namespace ns3::allreduce
