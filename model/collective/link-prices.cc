/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-prices.h"

#include "server-flow.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <queue>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Widths as small as they can be told apart, so that no flow overflows.
std::vector<int64_t>
ShrinkWidths(const std::vector<uint64_t>& widths, uint32_t nServers)
{
    uint64_t unit = 0;
    double total = 0;
    for (const uint64_t width : widths)
    {
        unit = std::gcd(unit, width);
        total += width;
    }
    const double most = static_cast<double>(std::numeric_limits<int64_t>::max()) / 32 / nServers;
    while (total / unit > most)
    {
        unit *= 2;
    }
    std::vector<int64_t> shrunk;
    for (const uint64_t width : widths)
    {
        shrunk.push_back(width / unit + (width % unit != 0));
    }
    return shrunk;
}

/// @return by directed link: the width of its link
std::vector<int64_t>
GiveBothDirections(const std::vector<int64_t>& widths)
{
    std::vector<int64_t> directed;
    for (const int64_t width : widths)
    {
        directed.insert(directed.end(), 2, width);
    }
    return directed;
}

/// A partition of the servers and the sum of its parts' cuts.
struct Partition
{
    std::vector<uint32_t> part; //!< by server: its part, 0 to nParts - 1
    uint32_t nParts{0};         //!< number of parts
    int64_t cuts{0};            //!< sum of B(part), of what leaves it
};

/// Finds partitions of the servers that cost little to keep apart.
class PartitionSearch
{
  public:
    /**
     * @param topology a connected network of two servers or more
     * @param widths by directed link
     */
    PartitionSearch(const Topology& topology, std::vector<int64_t> widths)
        : m_topology(topology),
          m_widths(std::move(widths)),
          m_nServers(topology.GetNServers()),
          m_flow(topology, std::vector<int64_t>(topology.GetNLinks(), 0))
    {
    }

    /// @return the partition with the largest 2 (k - 1) / sum of cuts
    Partition FindBest()
    {
        Partition best = MakeSimple();
        while (auto better = FindBetter(best))
        {
            best = std::move(*better);
        }
        return best;
    }

    /**
     * @param partition a partition
     * @return by node: the part whose side of the cut it is on, or nParts
     */
    std::vector<uint32_t> FindSides(const Partition& partition)
    {
        std::vector<uint32_t> side(m_topology.GetNNodes(), partition.nParts);
        std::copy(partition.part.begin(), partition.part.end(), side.begin());
        if (m_topology.GetNSwitches() == 0)
        {
            return side;
        }
        m_flow.SetDirectedWidths(m_widths);
        for (uint32_t part = 0; part < partition.nParts; ++part)
        {
            RunCut(partition, part);
            for (NodeId node = m_nServers; node < m_topology.GetNNodes(); ++node)
            {
                if (m_flow.IsOnSourceSide(node))
                {
                    side[node] = part;
                }
            }
        }
        return side;
    }

    /**
     * @param partition a partition
     * @return by part, then by node: whether that is on the part's side of the cut. If the widths
     *         of directions differ, a node can be on several sides.
     */
    std::vector<std::vector<bool>> FindEachSide(const Partition& partition)
    {
        std::vector<std::vector<bool>> sides(partition.nParts);
        m_flow.SetDirectedWidths(m_widths);
        for (uint32_t part = 0; part < partition.nParts; ++part)
        {
            RunCut(partition, part);
            for (NodeId node = 0; node < m_topology.GetNNodes(); ++node)
            {
                sides[part].push_back(m_flow.IsOnSourceSide(node));
            }
        }
        return sides;
    }

  private:
    /// @return one server apart from the others or, if that has a better ratio, every server apart
    Partition MakeSimple() const
    {
        std::vector<int64_t> leaving(m_nServers, 0);
        std::vector<int64_t> both(m_nServers, 0);
        for (DirectedLinkId link = 0; link < m_widths.size(); ++link)
        {
            const NodeId from = m_topology.GetSource(link);
            if (m_topology.IsServer(from))
            {
                leaving[from] += m_widths[link];
                both[from] += m_widths[link] + m_widths[Reverse(link)];
            }
        }
        Partition apart{std::vector<uint32_t>(m_nServers), m_nServers, 0};
        std::iota(apart.part.begin(), apart.part.end(), 0);
        apart.cuts = std::accumulate(leaving.begin(), leaving.end(), int64_t{0});
        const auto least = std::min_element(both.begin(), both.end());
        if (apart.cuts < static_cast<int64_t>(m_nServers - 1) * *least)
        {
            return apart;
        }
        Partition one{std::vector<uint32_t>(m_nServers, 1), 2, *least};
        one.part[least - both.begin()] = 0;
        return one;
    }

    /**
     * Look for a partition with a better ratio than a / b: one for which the sum over its parts S
     * of a B(S) - 2 b, which is the largest x(all servers) with x(S) <= a B(S) - 2 b for all S, is
     * less than -2 b. Servers get their x one after another, as large as the sets of servers
     * before allow; the sets that did not allow more are joined.
     */
    std::optional<Partition> FindBetter(const Partition& last)
    {
        const int64_t divisor = std::gcd<int64_t>(2 * (last.nParts - 1), last.cuts);
        const int64_t a = 2 * (last.nParts - 1) / divisor;
        const int64_t b = last.cuts / divisor;
        Prepare(a);
        int64_t sum = 0;
        int64_t supply = 0;
        std::vector<uint32_t> part(m_nServers);
        std::iota(part.begin(), part.end(), 0);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            m_flow.SetSupply(server, m_flow.GetUnlimited());
            m_flow.SetDemand(server, 0);
            const int64_t x = m_flow.Run() - supply - 2 * b;
            Join(server, part);
            m_flow.SetSupply(server, std::max<int64_t>(x, 0));
            m_flow.SetDemand(server, std::max<int64_t>(-x, 0));
            supply += std::max<int64_t>(x, 0);
            sum += x;
        }
        if (sum >= -2 * b)
        {
            return std::nullopt;
        }
        Partition better = Number(part);
        better.cuts = (sum + 2 * b * better.nParts) / a;
        return better;
    }

    /// Scale the links; all servers are outside of what is looked at.
    void Prepare(int64_t scale)
    {
        std::vector<int64_t> scaled;
        for (const int64_t width : m_widths)
        {
            scaled.push_back(scale * width);
        }
        m_flow.SetDirectedWidths(scaled);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            m_flow.SetSupply(server, 0);
            m_flow.SetDemand(server, m_flow.GetUnlimited());
        }
    }

    /// Join the parts of all servers up to this one that are on its side of the last flow's cut.
    void Join(NodeId server, std::vector<uint32_t>& part) const
    {
        std::vector<bool> isJoined(server + 1, false);
        for (NodeId other = 0; other <= server; ++other)
        {
            if (m_flow.IsOnSourceSide(other))
            {
                isJoined[part[other]] = true;
            }
        }
        for (NodeId other = 0; other <= server; ++other)
        {
            if (isJoined[part[other]])
            {
                part[other] = server;
            }
        }
    }

    /// @return the partition, its parts in the order of their first servers
    Partition Number(const std::vector<uint32_t>& part) const
    {
        Partition partition{{}, 0, 0};
        std::vector<uint32_t> number(m_nServers, m_nServers);
        for (const uint32_t name : part)
        {
            if (number[name] == m_nServers)
            {
                number[name] = partition.nParts++;
            }
            partition.part.push_back(number[name]);
        }
        return partition;
    }

    /// Find the least cut around a part.
    void RunCut(const Partition& partition, uint32_t part)
    {
        std::vector<bool> isInside;
        for (const uint32_t other : partition.part)
        {
            isInside.push_back(other == part);
        }
        m_flow.FindCut(isInside);
    }

    const Topology& m_topology;
    const std::vector<int64_t> m_widths; //!< by directed link
    uint32_t m_nServers;                 //!< number of servers
    ServerFlow m_flow;                   //!< finds cuts
};

/// @return by link: how many sides it leaves
std::vector<uint64_t>
MakePrices(const Topology& topology, const std::vector<uint32_t>& side, uint32_t nParts)
{
    std::vector<uint64_t> prices;
    for (const Link& link : topology.GetLinks())
    {
        const bool isAcross = side[link.a] != side[link.b];
        prices.push_back(isAcross * ((side[link.a] < nParts) + (side[link.b] < nParts)));
    }
    const bool isEven = std::find(prices.begin(), prices.end(), 1) == prices.end();
    for (uint64_t& price : prices)
    {
        price /= isEven ? 2 : 1;
    }
    return prices;
}

/**
 * Switches neither merge nor copy, so a link that two edges of the tree pass is paid twice: the
 * tree is a minimum spanning tree of the servers in the metric closure over switches. It grows from
 * server 0, always by the nearest server (Prim), which a search over switches finds.
 *
 * @return the price of the cheapest tree that joins all servers by paths over switches
 */
uint64_t
PriceTree(const Topology& topology, const std::vector<uint64_t>& prices)
{
    using Visit = std::pair<uint64_t, NodeId>; // price from the tree, node
    std::priority_queue<Visit, std::vector<Visit>, std::greater<>> heap;
    std::vector<uint64_t> best(topology.GetNNodes(), std::numeric_limits<uint64_t>::max());
    uint32_t nJoined = 0;
    uint64_t sum = 0;
    for (heap.emplace(0, 0); !heap.empty();)
    {
        auto [price, node] = heap.top();
        heap.pop();
        if (price > best[node])
        {
            continue;
        }
        if (topology.IsServer(node))
        {
            ++nJoined;
            sum += price;
            best[node] = price = 0; // from here on it is part of the tree
        }
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            const uint64_t there = price + prices[GetLinkId(port.out)];
            if (there < best[port.neighbor])
            {
                best[port.neighbor] = there;
                heap.emplace(there, port.neighbor);
            }
        }
    }
    if (nJoined < topology.GetNServers())
    {
        FailInput(topology.GetName(), ": no tree joins all servers, expected them connected");
    }
    return sum;
}

/// @return the sum of width * price
uint64_t
SumPrices(const Topology& topology,
          const std::vector<uint64_t>& widths,
          const std::vector<uint64_t>& prices)
{
    uint64_t sum = 0;
    for (LinkId link = 0; link < widths.size(); ++link)
    {
        const uint64_t room = std::numeric_limits<uint64_t>::max() - sum;
        if (prices[link] > 0 && widths[link] > room / prices[link])
        {
            FailInput(topology.GetName(), ": widths of links exceed 2^64 together, expected less");
        }
        sum += widths[link] * prices[link];
    }
    return sum;
}

} // namespace

PriceBound
FindLinkPrices(const Topology& topology, const std::vector<uint64_t>& widths)
{
    const std::vector<int64_t> shrunk = ShrinkWidths(widths, topology.GetNServers());
    PartitionSearch search(topology, GiveBothDirections(shrunk));
    const Partition partition = search.FindBest();
    PriceBound bound;
    bound.side = search.FindSides(partition);
    bound.prices = MakePrices(topology, bound.side, partition.nParts);
    bound.treePrice = PriceTree(topology, bound.prices);
    bound.widthPrice = SumPrices(topology, widths, bound.prices);
    bound.parts.resize(partition.nParts);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        bound.parts[partition.part[server]].push_back(server);
    }
    return bound;
}

std::vector<std::vector<bool>>
FindSidesToLeave(const Topology& topology, const std::vector<uint64_t>& widths)
{
    PartitionSearch search(topology, ShrinkWidths(widths, topology.GetNServers()));
    return search.FindEachSide(search.FindBest());
}

std::vector<bool>
FindNarrowestSide(const Topology& topology, const std::vector<uint64_t>& widths)
{
    ServerFlow flow(topology, std::vector<int64_t>(topology.GetNLinks(), 0));
    flow.SetDirectedWidths(ShrinkWidths(widths, topology.GetNServers()));
    int64_t least = flow.GetUnlimited();
    std::vector<bool> narrowest;
    for (NodeId server = 1; server < topology.GetNServers(); ++server)
    {
        for (const NodeId inside : {NodeId{0}, server})
        {
            const NodeId outside = server - inside;
            flow.SetSupply(inside, flow.GetUnlimited());
            flow.SetDemand(outside, flow.GetUnlimited());
            if (const int64_t width = flow.Run(); width < least)
            {
                least = width;
                narrowest.clear();
                for (NodeId node = 0; node < topology.GetNNodes(); ++node)
                {
                    narrowest.push_back(flow.IsOnSourceSide(node));
                }
            }
            flow.SetSupply(inside, 0);
            flow.SetDemand(outside, 0);
        }
    }
    return narrowest;
}

PriceBound
FindLinkPrices(const Topology& topology)
{
    const std::vector<int64_t> capacities = GetCapacities(topology);
    return FindLinkPrices(topology, {capacities.begin(), capacities.end()});
}

} // namespace ns3::allreduce
