/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "price-checker.h"

#include <functional>
#include <queue>
#include <sstream>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Wide enough for sums of as many prices of 64 bits as there can be links and servers.
__extension__ typedef unsigned __int128 Sum;

/// More than any path costs.
constexpr Sum UNREACHED = ~Sum{0};

/**
 * Find the price of the cheapest spanning tree by Prim's algorithm: the tree takes in the nearest
 * server over switches, again and again.
 *
 * @return the price, or UNREACHED if some server cannot be reached
 */
Sum
GrowTree(const Topology& topology, const std::vector<uint64_t>& prices)
{
    using Reach = std::pair<Sum, NodeId>;
    std::priority_queue<Reach, std::vector<Reach>, std::greater<>> queue;
    std::vector<Sum> cheapest(topology.GetNNodes(), UNREACHED);
    std::vector<bool> isInTree(topology.GetNServers(), false);
    Sum total = 0;
    uint32_t nInTree = 0;
    if (!isInTree.empty())
    {
        queue.push({0, 0});
        cheapest[0] = 0;
    }
    while (!queue.empty())
    {
        const auto [price, node] = queue.top();
        queue.pop();
        const bool isServer = topology.IsServer(node);
        if (price > cheapest[node] || (isServer && isInTree[node]))
        {
            continue;
        }
        if (isServer)
        {
            isInTree[node] = true;
            ++nInTree;
            total += price;
        }
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            const Sum next = (isServer ? 0 : price) + prices[port.out / 2];
            if (next < cheapest[port.neighbor])
            {
                cheapest[port.neighbor] = next;
                queue.push({next, port.neighbor});
            }
        }
    }
    return nInTree == topology.GetNServers() ? total : UNREACHED;
}

/// @return the sum of capacity * price
Sum
AddUp(const Topology& topology, const std::vector<uint64_t>& prices)
{
    Sum sum = 0;
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        sum += Sum{prices[link]} * topology.GetLink(link).capacity;
    }
    return sum;
}

/// @return the number, or that it is larger than numbers of 64 bits
std::string
Format(Sum number)
{
    return number >> 64 ? "more than 2^64" : std::to_string(static_cast<uint64_t>(number));
}

} // namespace

std::string
FindFlaw(const Topology& topology, const PriceClaim& claim)
{
    std::ostringstream flaw;
    flaw << topology.GetName() << ": ";
    if (claim.prices.size() != topology.GetNLinks())
    {
        flaw << claim.prices.size() << " prices, expected one for each of " << topology.GetNLinks()
             << " links";
        return flaw.str();
    }
    const Sum tree = GrowTree(topology, claim.prices);
    if (tree == UNREACHED)
    {
        flaw << "no tree joins all servers, expected them connected";
        return flaw.str();
    }
    if (claim.treePrice > tree)
    {
        flaw << "a spanning tree costs " << Format(tree) << ", expected " << claim.treePrice
             << " or more";
        return flaw.str();
    }
    const Sum width = AddUp(topology, claim.prices);
    if (claim.widthPrice < width)
    {
        flaw << "capacities times prices are " << Format(width) << ", expected " << claim.widthPrice
             << " or less";
        return flaw.str();
    }
    // T rounds are too few if T * widthPrice < nChunks * treePrice; the claim is that rounds - 1
    // are.
    if (claim.rounds > 0 &&
        Sum{claim.rounds - 1} * claim.widthPrice >= Sum{claim.nChunks} * claim.treePrice)
    {
        flaw << "the prices do not prove " << claim.rounds << " rounds, expected fewer";
        return flaw.str();
    }
    return "";
}

} // namespace ns3::allreduce
