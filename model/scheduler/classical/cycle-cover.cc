/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cycle-cover.h"

#include <algorithm>
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/push_relabel_max_flow.hpp>
#include <numeric>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// The flow problem: servers are split, as a unit that has arrived goes no further.
class CoverFlow
{
  public:
    CoverFlow(const Topology& topology, const std::vector<uint32_t>& capacities, uint32_t nCovers)
        : m_topology(topology),
          m_graph(topology.GetNNodes() + topology.GetNServers() + 2),
          m_source(topology.GetNNodes() + topology.GetNServers()),
          m_sink(m_source + 1),
          m_capacities(capacities),
          m_nCovers(nCovers)
    {
    }

    /// @return by directed link its flow, unless there are too few units
    std::optional<std::vector<uint32_t>> Run(PlannerRandom& random)
    {
        std::vector<DirectedLinkId> links(m_capacities.size());
        std::iota(links.begin(), links.end(), 0);
        std::shuffle(links.begin(), links.end(), random);
        std::vector<Edge> edgeOf(m_capacities.size());
        for (const DirectedLinkId link : links)
        {
            const NodeId from = m_topology.GetSource(link);
            edgeOf[link] = AddEdge(m_topology.IsServer(from) ? GetSendingSide(from) : from,
                                   m_topology.GetTarget(link),
                                   m_capacities[link]);
        }
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            AddEdge(m_source, GetSendingSide(server), m_nCovers);
            AddEdge(server, m_sink, m_nCovers);
        }
        if (boost::push_relabel_max_flow(m_graph, m_source, m_sink) !=
            int64_t{m_nCovers} * m_topology.GetNServers())
        {
            return std::nullopt;
        }
        std::vector<uint32_t> flow(m_capacities.size());
        for (const DirectedLinkId link : links)
        {
            flow[link] =
                m_capacities[link] - get(boost::edge_residual_capacity, m_graph, edgeOf[link]);
        }
        return flow;
    }

  private:
    using Traits = boost::adjacency_list_traits<boost::vecS, boost::vecS, boost::directedS>;
    using Edge = Traits::edge_descriptor;
    using EdgeProperties =
        boost::property<boost::edge_capacity_t,
                        int64_t,
                        boost::property<boost::edge_residual_capacity_t,
                                        int64_t,
                                        boost::property<boost::edge_reverse_t, Edge>>>;
    using Graph = boost::adjacency_list<boost::vecS,
                                        boost::vecS,
                                        boost::directedS,
                                        boost::no_property,
                                        EdgeProperties>;

    uint32_t GetSendingSide(NodeId server) const
    {
        return m_topology.GetNNodes() + server;
    }

    Edge AddEdge(uint32_t from, uint32_t to, int64_t capacity)
    {
        const Edge edge = add_edge(from, to, m_graph).first;
        const Edge back = add_edge(to, from, m_graph).first;
        put(boost::edge_capacity, m_graph, edge, capacity);
        put(boost::edge_capacity, m_graph, back, 0);
        put(boost::edge_reverse, m_graph, edge, back);
        put(boost::edge_reverse, m_graph, back, edge);
        return edge;
    }

    const Topology& m_topology;
    Graph m_graph;                             //!< nodes, sending sides of servers, source, sink
    uint32_t m_source;                         //!< vertex
    uint32_t m_sink;                           //!< vertex
    const std::vector<uint32_t>& m_capacities; //!< by directed link
    uint32_t m_nCovers;                        //!< units that each server sends and receives
};

/// Takes flow apart into paths from server to server.
class FlowPaths
{
  public:
    /// @param random decides between links, or nullptr: all nodes do as others of their kind
    FlowPaths(const Topology& topology, std::vector<uint32_t> flow, PlannerRandom* random)
        : m_topology(topology),
          m_flow(std::move(flow)),
          m_random(random)
    {
    }

    /// Take out a unit. @return the path that it takes, no node twice
    Path Take(NodeId from)
    {
        Path path{from};
        NodeId before = from;
        do
        {
            const Topology::Port port = ChoosePort(path.back(), before);
            --m_flow[port.out];
            if (!m_topology.IsServer(port.neighbor))
            {
                path.erase(std::find(path.begin(), path.end(), port.neighbor), path.end());
            }
            before = path.empty() ? before : path.back();
            path.push_back(port.neighbor);
        } while (!m_topology.IsServer(path.back()));
        return path;
    }

  private:
    /// @return where a unit goes that came from a neighbor
    Topology::Port ChoosePort(NodeId node, NodeId before)
    {
        std::vector<Topology::Port> ports;
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            if (m_flow[port.out] > 0)
            {
                ports.push_back(port);
            }
        }
        if (m_random)
        {
            return ports[m_random->Modulo(ports.size())];
        }
        if (!m_topology.IsServer(node))
        {
            // The next one in the circle of neighbors.
            const auto next = std::find_if(ports.begin(), ports.end(), [&](const auto& port) {
                return port.neighbor > before;
            });
            return next == ports.end() ? ports.front() : *next;
        }
        // Even directions first, as families of networks number their links.
        return *std::min_element(ports.begin(), ports.end(), [](const auto& x, const auto& y) {
            return std::pair(x.out % 2, x.out) < std::pair(y.out % 2, y.out);
        });
    }

    const Topology& m_topology;
    std::vector<uint32_t> m_flow; //!< by directed link: what is left
    PlannerRandom* m_random;      //!< decides, if it is there
};

/// Gives paths to covers, such that in each every server sends once and receives once.
class PathColouring
{
  public:
    PathColouring(uint32_t nServers, uint32_t nCovers)
        : m_out(nCovers, std::vector<uint32_t>(nServers, NONE)),
          m_in(nCovers, std::vector<uint32_t>(nServers, NONE))
    {
    }

    void Add(Path path)
    {
        const uint32_t id = m_paths.size();
        m_paths.push_back(std::move(path));
        const uint32_t a = FindFree(m_out, m_paths[id].front());
        const uint32_t b = FindFree(m_in, m_paths[id].back());
        if (a != b)
        {
            ExchangeFrom(m_paths[id].back(), a, b);
        }
        Set(id, a);
    }

    std::vector<CycleCover> GetCovers() const
    {
        std::vector<CycleCover> covers(m_out.size());
        for (std::size_t cover = 0; cover < m_out.size(); ++cover)
        {
            for (const uint32_t id : m_out[cover])
            {
                covers[cover].push_back(m_paths[id]);
            }
        }
        return covers;
    }

  private:
    static constexpr uint32_t NONE = ~uint32_t{0};
    using Table = std::vector<std::vector<uint32_t>>; // [cover][server]: a path

    static uint32_t FindFree(const Table& table, NodeId server)
    {
        return std::find_if(table.begin(),
                            table.end(),
                            [&](const auto& row) { return row[server] == NONE; }) -
               table.begin();
    }

    void Set(uint32_t id, uint32_t cover)
    {
        m_out[cover][m_paths[id].front()] = id;
        m_in[cover][m_paths[id].back()] = id;
    }

    /// Exchange two covers along the paths that hang together with what a server receives in one.
    void ExchangeFrom(NodeId server, uint32_t a, uint32_t b)
    {
        std::vector<uint32_t> chain;
        uint32_t id = m_in[a][server];
        for (bool isA = true; id != NONE; isA = !isA)
        {
            chain.push_back(id);
            id = isA ? m_out[b][m_paths[id].front()] : m_in[a][m_paths[id].back()];
        }
        for (std::size_t i = 0; i < chain.size(); ++i)
        {
            const uint32_t old = i % 2 == 0 ? a : b;
            m_out[old][m_paths[chain[i]].front()] = NONE;
            m_in[old][m_paths[chain[i]].back()] = NONE;
        }
        for (std::size_t i = 0; i < chain.size(); ++i)
        {
            Set(chain[i], i % 2 == 0 ? b : a);
        }
    }

    std::vector<Path> m_paths; //!< all, by id
    Table m_out;               //!< what a server sends
    Table m_in;                //!< what a server receives
};

} // namespace

std::optional<std::vector<CycleCover>>
FindCycleCovers(const Topology& topology,
                const std::vector<uint32_t>& capacities,
                uint32_t nCovers,
                CoverStyle style,
                PlannerRandom& random)
{
    auto flow = CoverFlow(topology, capacities, nCovers).Run(random);
    if (!flow)
    {
        return std::nullopt;
    }
    FlowPaths paths(topology, std::move(*flow), style == CoverStyle::RANDOM ? &random : nullptr);
    PathColouring colouring(topology.GetNServers(), nCovers);
    for (uint32_t i = 0; i < nCovers; ++i)
    {
        for (NodeId server = 0; server < topology.GetNServers(); ++server)
        {
            colouring.Add(paths.Take(server));
        }
    }
    return colouring.GetCovers();
}

uint32_t
CountCycles(const CycleCover& cover, std::vector<uint32_t>& cycleOf)
{
    constexpr uint32_t NOT_YET = ~uint32_t{0};
    cycleOf.assign(cover.size(), NOT_YET);
    uint32_t nCycles = 0;
    for (NodeId first = 0; first < cover.size(); ++first)
    {
        if (cycleOf[first] != NOT_YET)
        {
            continue;
        }
        for (NodeId server = first; cycleOf[server] == NOT_YET; server = cover[server].back())
        {
            cycleOf[server] = nCycles;
        }
        ++nCycles;
    }
    return nCycles;
}

} // namespace ns3::allreduce
