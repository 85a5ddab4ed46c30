/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-order.h"

#include "flow-tree.h"

#include "ns3/allreduce-error.h"
#include "ns3/random-source.h"
#include "ns3/switch-path-search.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <numeric>
#include <optional>

namespace ns3::allreduce
{

namespace
{

/// A depth-first tour of a network, and the paths along it.
class DepthFirstTour
{
  public:
    explicit DepthFirstTour(const Topology& topology)
        : m_topology(topology),
          m_parent(topology.GetNNodes(), NONE)
    {
        Visit();
    }

    const std::vector<NodeId>& GetOrder() const
    {
        return m_order;
    }

    /// @return the path from one node to another along the tree that the tour made
    Path FindPath(NodeId from, NodeId to) const
    {
        const Path up = FindPathToStart(from);
        const Path down = FindPathToStart(to);
        std::size_t nCommon = 0;
        while (nCommon < std::min(up.size(), down.size()) &&
               up[up.size() - 1 - nCommon] == down[down.size() - 1 - nCommon])
        {
            ++nCommon;
        }
        Path path(up.begin(), up.end() - nCommon + 1);
        path.insert(path.end(), down.rbegin() + nCommon, down.rend());
        return path;
    }

  private:
    static constexpr NodeId NONE = ~NodeId{0};

    void Visit()
    {
        std::vector<std::pair<NodeId, NodeId>> stack{{0, 0}};
        while (!stack.empty())
        {
            const auto [node, parent] = stack.back();
            stack.pop_back();
            if (m_parent[node] != NONE)
            {
                continue;
            }
            m_parent[node] = parent;
            if (m_topology.IsServer(node))
            {
                m_order.push_back(node);
            }
            const auto ports = m_topology.GetPorts(node);
            for (auto port = ports.end(); port != ports.begin();)
            {
                --port;
                if (m_parent[port->neighbor] == NONE)
                {
                    stack.emplace_back(port->neighbor, node);
                }
            }
        }
        if (m_order.size() != m_topology.GetNServers())
        {
            FailInput(m_topology.GetName(), ": the servers are not connected");
        }
    }

    /// @return the nodes from one to the start of the tour
    Path FindPathToStart(NodeId node) const
    {
        Path path{node};
        while (m_parent[path.back()] != path.back())
        {
            path.push_back(m_parent[path.back()]);
        }
        return path;
    }

    const Topology& m_topology;
    std::vector<NodeId> m_parent; //!< by node: where the tour came from
    std::vector<NodeId> m_order;  //!< servers in the order of the tour
};

/// Replace paths one by one by shortest ones over links that the others leave free.
void
TakeShortCuts(const Topology& topology, std::vector<Path>& paths)
{
    std::vector<uint32_t> used(topology.GetNDirectedLinks(), 0);
    const auto use = [&](const Path& path, int32_t workloads) {
        ForEachLink(topology, path, [&](DirectedLinkId link) { used[link] += workloads; });
    };
    const auto hasRoom = [&](DirectedLinkId link) {
        return used[link] < topology.GetCapacity(link);
    };
    for (const Path& path : paths)
    {
        use(path, 1);
    }
    SwitchPathSearch search(topology);
    for (Path& path : paths)
    {
        use(path, -1);
        search.Find(path.front(), path.back(), path.size() - 1, hasRoom, path);
        use(path, 1);
    }
}

/// Searches a Hamiltonian cycle by extending a path and, where it cannot grow, rotating its end
/// (Posa).
class HamiltonianSearch
{
  public:
    HamiltonianSearch(const std::vector<std::vector<NodeId>>& neighbors, uint64_t seed)
        : m_neighbors(neighbors),
          m_random(seed),
          m_index(neighbors.size(), NOT_YET),
          m_nOpen(neighbors.size())
    {
    }

    std::optional<std::vector<NodeId>> Run()
    {
        for (NodeId server = 0; server < m_neighbors.size(); ++server)
        {
            m_nOpen[server] = m_neighbors[server].size();
        }
        Append(Draw(m_neighbors.size()));
        const uint64_t mostRotations = 1000 + 200 * m_neighbors.size();
        for (uint64_t nRotations = 0; nRotations < mostRotations;)
        {
            if (m_path.size() == m_neighbors.size() && IsNeighbor(m_path.back(), m_path.front()))
            {
                return m_path;
            }
            if (!Extend())
            {
                if (m_neighbors[m_path.back()].empty())
                {
                    return std::nullopt;
                }
                Rotate();
                ++nRotations;
            }
        }
        return std::nullopt;
    }

  private:
    static constexpr uint32_t NOT_YET = ~uint32_t{0};

    uint32_t Draw(uint32_t limit)
    {
        return boost::random::uniform_int_distribution<uint32_t>(0, limit - 1)(m_random);
    }

    bool IsNeighbor(NodeId x, NodeId y) const
    {
        return std::binary_search(m_neighbors[x].begin(), m_neighbors[x].end(), y);
    }

    void Append(NodeId server)
    {
        m_index[server] = m_path.size();
        m_path.push_back(server);
        for (const NodeId neighbor : m_neighbors[server])
        {
            --m_nOpen[neighbor];
        }
    }

    /// Go on to the neighbor with the fewest neighbors left. @return whether there is one
    bool Extend()
    {
        NodeId best = NOT_YET;
        const auto& neighbors = m_neighbors[m_path.back()];
        const uint32_t start = neighbors.empty() ? 0 : Draw(neighbors.size());
        for (std::size_t i = 0; i < neighbors.size(); ++i)
        {
            const NodeId next = neighbors[(start + i) % neighbors.size()];
            if (m_index[next] == NOT_YET && (best == NOT_YET || m_nOpen[next] < m_nOpen[best]))
            {
                best = next;
            }
        }
        if (best == NOT_YET)
        {
            return false;
        }
        Append(best);
        return true;
    }

    /// Join the end to a neighbor inside of the path and reverse what comes after that one.
    void Rotate()
    {
        const auto& neighbors = m_neighbors[m_path.back()];
        const uint32_t pivot = m_index[neighbors[Draw(neighbors.size())]];
        std::reverse(m_path.begin() + pivot + 1, m_path.end());
        for (uint32_t i = pivot + 1; i < m_path.size(); ++i)
        {
            m_index[m_path[i]] = i;
        }
    }

    const std::vector<std::vector<NodeId>>& m_neighbors; //!< by server, ascending
    PlannerRandom m_random;
    std::vector<NodeId> m_path;    //!< the path so far
    std::vector<uint32_t> m_index; //!< by server: where in the path
    std::vector<uint32_t> m_nOpen; //!< by server: neighbors not in the path
};

/// @return by server: the servers that share a link or a switch with it, ascending
std::vector<std::vector<NodeId>>
FindAdjacentServers(const Topology& topology)
{
    std::vector<std::vector<NodeId>> neighbors(topology.GetNServers());
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        auto& list = neighbors[server];
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            if (topology.IsServer(port.neighbor))
            {
                list.push_back(port.neighbor);
                continue;
            }
            for (const Topology::Port& next : topology.GetPorts(port.neighbor))
            {
                if (topology.IsServer(next.neighbor) && next.neighbor != server)
                {
                    list.push_back(next.neighbor);
                }
            }
        }
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
    }
    return neighbors;
}

std::optional<std::vector<NodeId>>
FindCycle(const std::vector<std::vector<NodeId>>& neighbors, uint64_t seed)
{
    constexpr uint32_t TRIES = 10;
    for (uint32_t i = 0; i < TRIES; ++i)
    {
        if (auto cycle = HamiltonianSearch(neighbors, seed + i).Run())
        {
            return cycle;
        }
    }
    return std::nullopt;
}

/// @return a cycle of the servers with two neighbors or more, each followed by its other ones
std::optional<std::vector<NodeId>>
FindCycleWithLeaves(const std::vector<std::vector<NodeId>>& neighbors, uint64_t seed)
{
    const auto isLeaf = [&](NodeId server) { return neighbors[server].size() < 2; };
    std::vector<NodeId> core;
    std::vector<NodeId> number(neighbors.size());
    for (NodeId server = 0; server < neighbors.size(); ++server)
    {
        number[server] = core.size();
        if (!isLeaf(server))
        {
            core.push_back(server);
        }
    }
    std::vector<std::vector<NodeId>> coreNeighbors(core.size());
    std::vector<std::vector<NodeId>> leaves(core.size());
    for (NodeId i = 0; i < core.size(); ++i)
    {
        for (const NodeId neighbor : neighbors[core[i]])
        {
            (isLeaf(neighbor) ? leaves[i] : coreNeighbors[i])
                .push_back(isLeaf(neighbor) ? neighbor : number[neighbor]);
        }
    }
    std::vector<NodeId> order;
    if (const auto cycle = core.empty() ? std::nullopt : FindCycle(coreNeighbors, seed))
    {
        for (const NodeId i : *cycle)
        {
            order.push_back(core[i]);
            order.insert(order.end(), leaves[i].begin(), leaves[i].end());
        }
    }
    return order.size() == neighbors.size() ? std::optional(order) : std::nullopt;
}

bool
AreSingleHomed(const Topology& topology)
{
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        const auto ports = topology.GetPorts(server);
        if (ports.size() != 1 || topology.IsServer(ports.front().neighbor))
        {
            return false;
        }
    }
    return true;
}

} // namespace

Ring
FindRing(const Topology& topology, uint64_t seed, bool mayRelay)
{
    const DepthFirstTour tour(topology);
    Ring ring;
    ring.order = tour.GetOrder();
    ring.paths.resize(ring.order.size());
    if (AreSingleHomed(topology))
    {
        for (std::size_t i = 0; i < ring.order.size(); ++i)
        {
            ring.paths[i] = tour.FindPath(ring.order[i], ring.order[(i + 1) % ring.order.size()]);
        }
        TakeShortCuts(topology, ring.paths);
        return ring;
    }
    const auto neighbors = FindAdjacentServers(topology);
    auto cycle = FindCycle(neighbors, seed);
    if (!cycle && mayRelay)
    {
        cycle = FindCycleWithLeaves(neighbors, seed);
    }
    ring.order = cycle ? std::move(*cycle) : ring.order;
    return ring;
}

Ring
ListServers(const Topology& topology)
{
    const uint32_t n = topology.GetNServers();
    Ring ring{std::vector<NodeId>(n), std::vector<Path>(n)};
    std::iota(ring.order.begin(), ring.order.end(), 0);
    return ring;
}

std::vector<WorkloadList>
PlanRing(const AllReduceState& state, const Ring& ring)
{
    const uint32_t n = state.GetTopology().GetNServers();
    PreferredPaths preferred;
    FlowTree around;
    around.reduceTo.resize(n);
    around.broadcastFrom.resize(n);
    for (uint32_t i = 0; i < n; ++i)
    {
        const NodeId here = ring.order[i];
        const NodeId next = ring.order[(i + 1) % n];
        around.reduceTo[here] = next;
        around.broadcastFrom[next] = here;
        if (!ring.paths[i].empty())
        {
            preferred[{here, next}] = ring.paths[i];
        }
    }
    std::vector<FlowTree> trees;
    for (const NodeId root : state.GetRoots())
    {
        FlowTree tree = around;
        tree.reduceTo[root] = root;
        tree.broadcastFrom[root] = root;
        trees.push_back(std::move(tree));
    }
    return ScheduleFlowTrees(state, trees, preferred);
}

} // namespace ns3::allreduce
