/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-bounds.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/graph/boykov_kolmogorov_max_flow.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// The number of workloads to a server that cannot be reached.
constexpr uint32_t NO_WAY = std::numeric_limits<uint32_t>::max();

/// @return numerator / denominator, rounded up
uint64_t
DivideUp(uint64_t numerator, uint64_t denominator)
{
    return (numerator + denominator - 1) / denominator;
}

/// A network whose links are as wide as a caller says: capacities, or rates.
struct WideNetwork
{
    const Topology& topology;          //!< nodes and links
    const std::vector<int64_t>& width; //!< by link

    /// @return the number of servers
    uint32_t GetNServers() const
    {
        return topology.GetNServers();
    }
};

/// @return by server: the sum of the widths of its links
std::vector<int64_t>
GetPortWidths(const WideNetwork& network)
{
    std::vector<int64_t> widths(network.GetNServers(), 0);
    for (NodeId server = 0; server < network.GetNServers(); ++server)
    {
        for (const Topology::Port& port : network.topology.GetPorts(server))
        {
            widths[server] += network.width[port.out / 2];
        }
    }
    return widths;
}

/// A set of servers and what limits the traffic over its border.
struct ServerSet
{
    std::vector<NodeId> servers; //!< ascending
    int64_t cut{0};              //!< width of the least cut to the other servers
};

/**
 * The network as a flow problem: besides its links there is an edge from a source to each server
 * and from each server to a sink, with capacities to be set.
 */
class FlowNetwork
{
  public:
    /**
     * @param network the network
     * @param scale what the width of each link is multiplied by
     */
    FlowNetwork(const WideNetwork& network, int64_t scale)
        : m_nServers(network.GetNServers()),
          m_source(network.topology.GetNNodes()),
          m_sink(m_source + 1)
    {
        const Topology& topology = network.topology;
        std::vector<std::pair<uint32_t, uint32_t>> edges;
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            edges.emplace_back(topology.GetSource(link), topology.GetTarget(link));
            m_capacity.push_back(scale * network.width[link / 2]);
        }
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            edges.insert(
                edges.end(),
                {{m_source, server}, {server, m_source}, {server, m_sink}, {m_sink, server}});
        }
        m_capacity.resize(edges.size(), 0);
        Build(edges);
    }

    /// Set the capacity of the edge from the source to a server.
    void SetSupply(NodeId server, int64_t capacity)
    {
        m_capacity[m_place[FirstTerminalEdge(server)]] = capacity;
    }

    /// Set the capacity of the edge from a server to the sink.
    void SetDemand(NodeId server, int64_t capacity)
    {
        m_capacity[m_place[FirstTerminalEdge(server) + 2]] = capacity;
    }

    /// @return the maximum flow from the source to the sink
    int64_t Run()
    {
        const auto vertex = get(boost::vertex_index, m_graph);
        const auto edge = get(boost::edge_index, m_graph);
        return boost::boykov_kolmogorov_max_flow(
            m_graph,
            boost::make_iterator_property_map(m_capacity.begin(), edge),
            boost::make_iterator_property_map(m_residual.begin(), edge),
            boost::make_iterator_property_map(m_reverse.begin(), edge),
            boost::make_iterator_property_map(m_predecessor.begin(), vertex),
            boost::make_iterator_property_map(m_color.begin(), vertex),
            boost::make_iterator_property_map(m_distance.begin(), vertex),
            vertex,
            m_source,
            m_sink);
    }

    /// @return the servers on the source's side of the minimum cut that Run found
    std::vector<NodeId> GetSourceSide() const
    {
        std::vector<NodeId> servers;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            if (m_color[server] == boost::black_color)
            {
                servers.push_back(server);
            }
        }
        return servers;
    }

  private:
    using Graph = boost::compressed_sparse_row_graph<boost::directedS,
                                                     boost::no_property,
                                                     boost::no_property,
                                                     boost::no_property,
                                                     uint32_t,
                                                     uint32_t>;
    using Edge = boost::graph_traits<Graph>::edge_descriptor;

    /// @return the first of the four edges between a server and the terminals, as listed
    uint32_t FirstTerminalEdge(NodeId server) const
    {
        return m_place.size() - 4 * (m_nServers - server);
    }

    /**
     * Lay out the graph.
     *
     * @param edges the edges, each followed or preceded by its reverse
     */
    void Build(const std::vector<std::pair<uint32_t, uint32_t>>& edges)
    {
        std::vector<uint32_t> order(edges.size());
        std::iota(order.begin(), order.end(), 0);
        std::stable_sort(order.begin(), order.end(), [&](uint32_t x, uint32_t y) {
            return edges[x].first < edges[y].first;
        });
        std::vector<std::pair<uint32_t, uint32_t>> sorted;
        std::vector<int64_t> capacity;
        m_place.resize(edges.size());
        for (const uint32_t id : order)
        {
            m_place[id] = sorted.size();
            sorted.push_back(edges[id]);
            capacity.push_back(m_capacity[id]);
        }
        m_capacity = std::move(capacity);
        m_reverse.resize(edges.size());
        for (uint32_t id = 0; id < edges.size(); ++id)
        {
            m_reverse[m_place[id]] = Edge(edges[id].second, m_place[id ^ 1]);
        }
        m_graph = Graph(boost::edges_are_sorted, sorted.begin(), sorted.end(), m_sink + 1);
        m_residual.resize(edges.size());
        m_predecessor.resize(m_sink + 1);
        m_color.resize(m_sink + 1);
        m_distance.resize(m_sink + 1);
    }

    uint32_t m_nServers;                            //!< number of servers
    uint32_t m_source;                              //!< the source's vertex
    uint32_t m_sink;                                //!< the sink's vertex
    Graph m_graph;                                  //!< nodes, source and sink
    std::vector<uint32_t> m_place;                  //!< edge as listed -> edge in m_graph
    std::vector<int64_t> m_capacity;                //!< by edge in m_graph
    std::vector<int64_t> m_residual;                //!< by edge in m_graph
    std::vector<Edge> m_reverse;                    //!< by edge in m_graph
    std::vector<Edge> m_predecessor;                //!< by vertex, for Boost
    std::vector<boost::default_color_type> m_color; //!< by vertex; black: the source's side
    std::vector<uint32_t> m_distance;               //!< by vertex, for Boost
};

/// @return by server: the least number of workloads, one after another, from or to another one
std::vector<uint32_t>
ComputeHops(const Topology& topology, NodeId from)
{
    std::vector<uint32_t> hops(topology.GetNNodes(), NO_WAY);
    std::vector<NodeId> servers{from};
    std::vector<NodeId> switches;
    hops[from] = 0;
    auto reachNeighbors = [&](NodeId node, uint32_t value) {
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            if (hops[port.neighbor] == NO_WAY)
            {
                hops[port.neighbor] = value;
                (topology.IsServer(port.neighbor) ? servers : switches).push_back(port.neighbor);
            }
        }
    };
    for (std::size_t i = 0; i < servers.size(); ++i)
    {
        const uint32_t next = hops[servers[i]] + 1;
        reachNeighbors(servers[i], next);
        while (!switches.empty())
        {
            const NodeId node = switches.back();
            switches.pop_back();
            reachNeighbors(node, next);
        }
    }
    hops.resize(topology.GetNServers());
    return hops;
}

/// Refuse what no schedule exists for.
void
CheckInput(const Topology& topology, const std::vector<NodeId>& chunkRoots)
{
    const uint32_t nServers = topology.GetNServers();
    for (std::size_t chunk = 0; chunk < chunkRoots.size(); ++chunk)
    {
        if (chunkRoots[chunk] >= nServers)
        {
            FailInput(topology.GetName(),
                      ": chunk ",
                      chunk,
                      " has root ",
                      chunkRoots[chunk],
                      ", expected a server below ",
                      nServers);
        }
    }
    if (nServers > 0)
    {
        const std::vector<uint32_t> hops = ComputeHops(topology, 0);
        const auto lost = std::find(hops.begin(), hops.end(), NO_WAY);
        if (lost != hops.end())
        {
            FailInput(topology.GetName(),
                      ": server 0 and server ",
                      lost - hops.begin(),
                      " cannot reach each other, expected all servers to be connected");
        }
    }
}

/// @return the smaller side of the cut
std::vector<NodeId>
GetSmallerSide(std::vector<NodeId> side, uint32_t nServers)
{
    if (2 * side.size() <= nServers)
    {
        return side;
    }
    std::vector<NodeId> all(nServers);
    std::iota(all.begin(), all.end(), 0);
    std::vector<NodeId> other;
    std::set_difference(all.begin(),
                        all.end(),
                        side.begin(),
                        side.end(),
                        std::back_inserter(other));
    return other;
}

/**
 * Find the minimum cut that separates any two servers: it separates server 0 from some other one.
 *
 * @param wide a connected network of two servers or more
 * @param ports by server: the width of its links
 * @return the smaller side of the cut
 */
ServerSet
FindMinimumCut(const WideNetwork& wide, const std::vector<int64_t>& ports)
{
    const int64_t unlimited = std::accumulate(ports.begin(), ports.end(), int64_t{0});
    const auto least = std::min_element(ports.begin(), ports.end());
    ServerSet best{{static_cast<NodeId>(least - ports.begin())}, *least};
    FlowNetwork network(wide, 1);
    network.SetSupply(0, unlimited);
    for (NodeId server = 1; server < wide.GetNServers(); ++server)
    {
        // More than the best cut need not be told apart.
        network.SetDemand(server, best.cut);
        const int64_t flow = network.Run();
        if (flow < best.cut)
        {
            best = {network.GetSourceSide(), flow};
        }
        network.SetDemand(server, 0);
    }
    best.servers = GetSmallerSide(std::move(best.servers), wide.GetNServers());
    return best;
}

/// A fraction, kept exactly.
struct Ratio
{
    int64_t numerator;   //!< above the line
    int64_t denominator; //!< below it
};

/**
 * Find a set S of servers for which value(S) = p (P(S) + B(S)) - 2 q |S| is negative and as small
 * as it can be, where p / q is the ratio: servers with p P(v) < 2 q pull themselves into S, the
 * others out of it.
 *
 * @param wide the network
 * @param ports by server: the width of its links
 * @param ratio what 2 |S| / (P(S) + B(S)) must exceed
 * @return the set, if there is one
 */
std::optional<ServerSet>
FindBetterRegion(const WideNetwork& wide, const std::vector<int64_t>& ports, Ratio ratio)
{
    FlowNetwork network(wide, ratio.numerator);
    auto getWeight = [&](NodeId server) {
        return ratio.numerator * ports[server] - 2 * ratio.denominator;
    };
    int64_t supply = 0;
    for (NodeId server = 0; server < wide.GetNServers(); ++server)
    {
        const int64_t weight = getWeight(server);
        network.SetSupply(server, std::max<int64_t>(-weight, 0));
        network.SetDemand(server, std::max<int64_t>(weight, 0));
        supply += std::max<int64_t>(-weight, 0);
    }
    const int64_t value = network.Run() - supply;
    if (value == 0)
    {
        return std::nullopt;
    }
    ServerSet region{network.GetSourceSide(), value};
    for (const NodeId server : region.servers)
    {
        region.cut -= getWeight(server);
    }
    region.cut /= ratio.numerator;
    return region;
}

/**
 * Find the set S of servers with the largest 2 |S| / (P(S) + B(S)) by Dinkelbach's method: each set
 * that beats the ratio gives the next one, until none does.
 *
 * @param wide a connected network of two servers or more
 * @param ports by server: the width of its links
 * @param minimumCut width of the minimum cut that separates two servers
 * @return the bound, if it is larger than the others that count widths
 */
std::optional<WidthBound>
ComputeRegionBound(const WideNetwork& wide, const std::vector<int64_t>& ports, int64_t minimumCut)
{
    const int64_t nServers = wide.GetNServers();
    const int64_t total = std::accumulate(ports.begin(), ports.end(), int64_t{0});
    if (total > std::numeric_limits<int64_t>::max() / (8 * nServers))
    {
        return std::nullopt; // the flows would overflow
    }
    // The set of all servers, which is no region, has this ratio and so cannot be found.
    Ratio ratio{2 * nServers, total};
    if (total > 2 * nServers * minimumCut)
    {
        ratio = {1, minimumCut};
    }
    std::optional<WidthBound> bound;
    while (const auto region = FindBetterRegion(wide, ports, ratio))
    {
        ratio = {2 * static_cast<int64_t>(region->servers.size()), region->cut};
        for (const NodeId server : region->servers)
        {
            ratio.denominator += ports[server];
        }
        bound = {"region", ratio.numerator, ratio.denominator, region->servers};
    }
    return bound;
}

/// @return twice the eccentricity of the root that is farthest from some server
uint64_t
ComputeHopBound(const Topology& topology, const std::vector<NodeId>& roots)
{
    std::vector<bool> done(topology.GetNServers(), false);
    uint64_t eccentricity = 0;
    for (const NodeId root : roots)
    {
        if (!done[root])
        {
            done[root] = true;
            const auto hops = ComputeHops(topology, root);
            eccentricity =
                std::max<uint64_t>(eccentricity, *std::max_element(hops.begin(), hops.end()));
        }
    }
    return 2 * eccentricity;
}

} // namespace

const LowerBound&
LowerBounds::GetBest() const
{
    return *std::max_element(all.begin(), all.end(), [](const LowerBound& x, const LowerBound& y) {
        return x.rounds < y.rounds;
    });
}

std::vector<WidthBound>
ComputeWidthBounds(const Topology& topology, const std::vector<int64_t>& widths)
{
    const int64_t nServers = topology.GetNServers();
    const WideNetwork wide{topology, widths};
    const std::vector<int64_t> ports = GetPortWidths(wide);
    const int64_t total = std::accumulate(ports.begin(), ports.end(), int64_t{0});
    const ServerSet cut = FindMinimumCut(wide, ports);
    std::vector<WidthBound> bounds;
    bounds.push_back({"ports", 2 * (nServers - 1), total, {}});
    bounds.push_back({"cut", 1, cut.cut, cut.servers});
    if (auto region = ComputeRegionBound(wide, ports, cut.cut))
    {
        bounds.push_back(std::move(*region));
    }
    return bounds;
}

LowerBounds
ComputeLowerBounds(const Topology& topology, const std::vector<NodeId>& chunkRoots)
{
    CheckInput(topology, chunkRoots);
    const uint64_t nChunks = chunkRoots.size();
    if (topology.GetNServers() < 2 || nChunks == 0)
    {
        return {{{"ports", 0, {}}}};
    }
    std::vector<int64_t> capacities;
    for (const Link& link : topology.GetLinks())
    {
        capacities.push_back(link.capacity);
    }
    LowerBounds bounds;
    for (WidthBound& bound : ComputeWidthBounds(topology, capacities))
    {
        bounds.all.push_back({bound.name,
                              DivideUp(nChunks * bound.numerator, bound.denominator),
                              std::move(bound.servers)});
    }
    bounds.all.push_back({"hops", ComputeHopBound(topology, chunkRoots), {}});
    return bounds;
}

} // namespace ns3::allreduce
