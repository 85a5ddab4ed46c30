/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forest-packing.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace ns3::allreduce
{

namespace
{

/// How steeply prices rise: by this factor's exponential with each tree for each unit of capacity.
constexpr double STEEPNESS = 0.3;
/// What a level of depth costs, in mean prices of an edge.
constexpr double DEPTH_PRICE = 0.3;
/// Before there is a tree to learn that price from, an edge is taken to have so many links.
constexpr double LINKS_OF_AN_EDGE = 2;
/// A search for trees serves until paths are dearer than its first one by this factor.
constexpr double PATIENCE = 2;
/// Prices below this are as good as nothing.
constexpr double LEAST_PRICE = 1e-9;
/// Trees are shared when servers times links times trees would be more: a few seconds.
constexpr uint64_t MOST_WORK = 1 << 28;
/// Fewer trees than this do not share the links well.
constexpr uint64_t FEWEST_TREES = 128;

/// Grows trees one after another, and keeps the load of the links.
class TreeGrower
{
  public:
    TreeGrower(const Topology& topology, PathTable& paths)
        : m_topology(topology),
          m_nServers(topology.GetNServers()),
          m_paths(paths),
          m_nTrees(topology.GetNDirectedLinks(), 0),
          m_prices(topology.GetNDirectedLinks(), 0),
          m_depth(m_nServers),
          m_isMember(m_nServers, true),
          m_isJoined(m_nServers),
          m_best(topology.GetNNodes()),
          m_last(topology.GetNNodes())
    {
        for (const Link& link : topology.GetLinks())
        {
            m_edgePrice += LINKS_OF_AN_EDGE / link.capacity / topology.GetNLinks();
        }
    }

    /// From now on trees join these servers only.
    /// @param mayRelay whether others may be in trees, too, where a path leads over them
    void SetMembers(const std::vector<NodeId>& members, bool mayRelay)
    {
        m_isMember.assign(m_nServers, false);
        for (const NodeId server : members)
        {
            m_isMember[server] = true;
        }
        m_mayRelay = mayRelay;
    }

    /// From now on trees load links in these directions: up if something is reduced, and down.
    void SetUse(bool isReduced, bool isBroadcast)
    {
        m_isReduced = isReduced;
        m_isBroadcast = isBroadcast;
    }

    /// @param root a member @param [out] toParent by server: the path, if it is in the tree
    void Grow(NodeId root, PathId* toParent)
    {
        Begin(root);
        double price = 0;
        uint32_t nEdges = 0;
        const uint32_t nMembers = std::count(m_isMember.begin(), m_isMember.end(), true);
        for (uint32_t nJoined = 1; nJoined < nMembers; ++nJoined)
        {
            price += JoinOverRelays(FindNextServer(root), toParent, nEdges);
        }
        m_edgePrice = nEdges > 0 ? price / nEdges : m_edgePrice;
    }

    /// @return rounds that the busiest link takes to carry each tree once
    double GetLoad() const
    {
        double load = 0;
        for (DirectedLinkId link = 0; link < m_nTrees.size(); ++link)
        {
            load = std::max(load, GetLoad(link));
        }
        return load;
    }

  private:
    struct Visit
    {
        double price; //!< from the tree, with the price of depth
        NodeId node;  //!< where

        /// Dearer visits come later out of a heap.
        bool operator<(const Visit& other) const
        {
            return price != other.price ? price > other.price : node > other.node;
        }
    };

    double GetCapacity(DirectedLinkId link) const
    {
        return m_topology.GetLinkOf(link).capacity;
    }

    double GetLoad(DirectedLinkId link) const
    {
        return m_nTrees[link] / GetCapacity(link);
    }

    /// @return what it costs to grow over a link @param link away from the root
    double GetPrice(DirectedLinkId link) const
    {
        if (m_isReduced == m_isBroadcast)
        {
            return (m_prices[link] + m_prices[Reverse(link)]) / 2;
        }
        return m_prices[m_isBroadcast ? link : Reverse(link)];
    }

    /// A tree grows over a link. @param link away from the root
    void Load(DirectedLinkId link)
    {
        const double factor = std::exp(STEEPNESS / GetCapacity(link));
        const auto load = [&](DirectedLinkId loaded) {
            m_prices[loaded] *= factor;
            ++m_nTrees[loaded];
        };
        if (m_isBroadcast)
        {
            load(link);
        }
        if (m_isReduced)
        {
            load(Reverse(link));
        }
    }

    void Begin(NodeId root)
    {
        const double most = GetLoad();
        for (DirectedLinkId link = 0; link < m_prices.size(); ++link)
        {
            const double price = std::exp(STEEPNESS * (GetLoad(link) - most));
            m_prices[link] = std::max(LEAST_PRICE, price) / GetCapacity(link);
        }
        std::fill(m_isJoined.begin(), m_isJoined.end(), false);
        m_isJoined[root] = true;
        m_depth[root] = 0;
        SearchAnew();
    }

    /// Search from all servers of the tree, with the prices of the moment.
    void SearchAnew()
    {
        m_mostPrice = HUGE_VAL;
        m_heap.clear();
        std::fill(m_best.begin(), m_best.end(), HUGE_VAL);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            if (m_isJoined[server])
            {
                LeaveServer(server);
            }
        }
    }

    double GetDepthPrice(NodeId server) const
    {
        return m_depth[server] * DEPTH_PRICE * m_edgePrice;
    }

    void LeaveServer(NodeId server)
    {
        Leave(server, GetDepthPrice(server));
    }

    /// Go on from a node. @param price what it costs to be there
    void Leave(NodeId node, double price)
    {
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const double there = price + GetPrice(port.out);
            const bool isInTree = m_topology.IsServer(port.neighbor) && m_isJoined[port.neighbor];
            if (!isInTree && there < m_best[port.neighbor])
            {
                m_best[port.neighbor] = there;
                m_last[port.neighbor] = port.out;
                m_heap.push_back({there, port.neighbor});
                std::push_heap(m_heap.begin(), m_heap.end());
            }
        }
    }

    /**
     * Prices rise while the tree grows, but a search serves for many servers: paths that have
     * become much dearer than the first one are left to the next search.
     *
     * @return the server that is cheapest to join
     */
    NodeId FindNextServer(NodeId root)
    {
        std::optional<Visit> server = FindInSearch();
        if (!server)
        {
            SearchAnew();
            server = FindInSearch();
        }
        if (!server)
        {
            NodeId apart = 0;
            while (m_isJoined[apart] || !m_isMember[apart])
            {
                ++apart;
            }
            FailInput("server ", apart, " cannot reach server ", root);
        }
        m_mostPrice = std::min(m_mostPrice, server->price * PATIENCE);
        return server->node;
    }

    /// @return the server that is cheapest to join by the present search, if it still serves
    std::optional<Visit> FindInSearch()
    {
        while (!m_heap.empty() && m_heap.front().price <= m_mostPrice)
        {
            std::pop_heap(m_heap.begin(), m_heap.end());
            const Visit visit = m_heap.back();
            m_heap.pop_back();
            if (visit.price > m_best[visit.node])
            {
                continue;
            }
            if (!m_topology.IsServer(visit.node))
            {
                Leave(visit.node, visit.price);
            }
            else if (!m_isMember[visit.node])
            {
                PassOver(visit);
            }
            else if (!m_isJoined[visit.node] && GetPresentPrice(visit.node) <= m_mostPrice)
            {
                return visit;
            }
        }
        return {};
    }

    /// Go on from a server that is not to be joined, if it may relay.
    void PassOver(const Visit& visit)
    {
        if (m_mayRelay && !m_isJoined[visit.node])
        {
            Leave(visit.node, visit.price + DEPTH_PRICE * m_edgePrice);
        }
    }

    /// @return what it costs to join a server over the path that was found, at present prices
    double GetPresentPrice(NodeId server) const
    {
        double price = 0;
        NodeId node = server;
        do
        {
            price += GetPrice(m_last[node]);
            node = m_topology.GetSource(m_last[node]);
        } while (!m_topology.IsServer(node) || !m_isJoined[node]);
        return price + GetDepthPrice(node);
    }

    /// Join a server, and first those over which the path leads that was found.
    /// @param [in,out] nEdges counts how many are joined
    /// @return the price of the path
    double JoinOverRelays(NodeId server, PathId* toParent, uint32_t& nEdges)
    {
        std::vector<NodeId> joining{server};
        for (NodeId node = server; !m_topology.IsServer(node) || !m_isJoined[node];
             node = m_topology.GetSource(m_last[node]))
        {
            if (m_topology.IsServer(node) && node != server)
            {
                joining.push_back(node);
            }
        }
        double price = 0;
        for (; !joining.empty(); joining.pop_back(), ++nEdges)
        {
            price += Join(joining.back(), toParent);
            LeaveServer(joining.back());
        }
        return price;
    }

    /// Join a server over the path that was found. @return the price of the path
    double Join(NodeId server, PathId* toParent)
    {
        double price = 0;
        m_links.clear();
        NodeId node = server;
        do
        {
            m_links.push_back(Reverse(m_last[node]));
            price += GetPrice(m_last[node]);
            Load(m_last[node]);
            node = m_topology.GetSource(m_last[node]);
        } while (!m_topology.IsServer(node));
        m_isJoined[server] = true;
        m_depth[server] = m_depth[node] + 1;
        toParent[server] = m_paths.Add(m_links);
        return price;
    }

    const Topology& m_topology;
    const uint32_t m_nServers;
    PathTable& m_paths;                  //!< the edges of all trees
    std::vector<uint32_t> m_nTrees;      //!< by directed link: how often trees pass it
    std::vector<double> m_prices;        //!< by directed link
    bool m_isReduced{true};              //!< trees load links towards their root
    bool m_isBroadcast{true};            //!< trees load links away from it
    double m_mostPrice{0};               //!< for dearer paths a new search is made
    double m_edgePrice{0};               //!< what an edge of a tree costs in the mean
    std::vector<uint32_t> m_depth;       //!< by server of the tree: edges to the root
    std::vector<bool> m_isMember;        //!< by server: to be joined
    bool m_mayRelay{true};               //!< whether others may be joined, too
    std::vector<bool> m_isJoined;        //!< by server: in the tree
    std::vector<double> m_best;          //!< by node: what it costs to get there
    std::vector<DirectedLinkId> m_last;  //!< by node: the last link of the path there
    std::vector<Visit> m_heap;           //!< nodes to leave from
    std::vector<DirectedLinkId> m_links; //!< of the path of the server that is joined
};

void
MoveRoot(const PathTable& paths, PathId* toParent, NodeId oldRoot, NodeId newRoot)
{
    NodeId server = newRoot;
    PathId up = toParent[server];
    while (server != oldRoot)
    {
        const NodeId parent = paths.GetTarget(up);
        const PathId next = toParent[parent];
        toParent[parent] = Reverse(up);
        server = parent;
        up = next;
    }
    toParent[newRoot] = NO_PATH;
}

/// @return whether a chunk's set has servers besides the root @param sets by chunk: its set
bool
HasOthers(const Collective& collective, const std::vector<uint32_t>& sets, ChunkId chunk)
{
    const std::vector<NodeId>& servers = collective.sets[sets[chunk]];
    return std::any_of(servers.begin(), servers.end(), [&](NodeId server) {
        return server != collective.roots[chunk];
    });
}

std::size_t
ChooseNTrees(const Topology& topology, std::size_t nChunks)
{
    const uint64_t workPerTree = uint64_t{topology.GetNServers()} * topology.GetNLinks();
    return std::min<uint64_t>(nChunks, std::max(FEWEST_TREES, MOST_WORK / workPerTree));
}

} // namespace

Forest
PackForest(const Topology& topology,
           const Collective& collective,
           const std::vector<ChunkId>& order,
           const PlanningProgress& progress,
           LinkLoads loads)
{
    const std::vector<NodeId>& roots = collective.roots;
    const std::size_t nServers = topology.GetNServers();
    const std::size_t nTrees =
        collective.IsOfAll() ? ChooseNTrees(topology, roots.size()) : roots.size();
    Forest forest(topology);
    forest.toParent.resize(roots.size() * nServers, NO_PATH);
    TreeGrower grower(topology, forest.paths);
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        PathId* tree = &forest.toParent[order[i] * nServers];
        if (i < nTrees)
        {
            progress.GetPart("tree", i, nTrees).Show("", 0);
            if (!collective.IsOfAll())
            {
                grower.SetMembers(GetMembers(collective, order[i]), collective.mayRelay);
                if (loads == LinkLoads::AS_USED)
                {
                    grower.SetUse(HasOthers(collective, collective.contributors, order[i]),
                                  HasOthers(collective, collective.receivers, order[i]));
                }
            }
            grower.Grow(roots[order[i]], tree);
            continue;
        }
        const ChunkId model = order[i % nTrees];
        std::copy_n(&forest.toParent[model * nServers], nServers, tree);
        MoveRoot(forest.paths, tree, roots[model], roots[order[i]]);
    }
    forest.load = grower.GetLoad() * roots.size() / nTrees;
    return forest;
}

} // namespace ns3::allreduce
