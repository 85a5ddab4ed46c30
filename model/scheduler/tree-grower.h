/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TREE_GROWER_H
#define ALLREDUCE_TREE_GROWER_H

#include "ns3/allreduce-topology.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A spanning tree of the servers, each with the path from its parent.
struct RootedTree
{
    std::vector<NodeId> order;                       //!< servers, parents first
    std::vector<NodeId> parent;                      //!< by server
    std::vector<std::vector<DirectedLinkId>> comeBy; //!< by server: links from its parent

    /// @param nServers number of servers
    explicit RootedTree(uint32_t nServers)
        : parent(nServers),
          comeBy(nServers)
    {
    }
};

/**
 * @ingroup allreduce
 *
 * @brief Grows trees of servers as Prim does, over paths of switches, where each direction of a
 * link has a price of its own. Deep trees are a little dearer than shallow ones.
 */
class TreeGrower
{
  public:
    /// @param topology the network; must outlive this
    explicit TreeGrower(const Topology& topology)
        : m_topology(topology),
          m_price(topology.GetNNodes()),
          m_by(topology.GetNNodes()),
          m_depth(topology.GetNServers()),
          m_isDone(topology.GetNServers())
    {
    }

    /**
     * Servers that no path of finite price leads to are left out.
     *
     * @param root where it begins
     * @param getPrice of a directed link, away from the root
     * @param [out] tree the tree
     */
    template <typename GetPrice>
    void Grow(NodeId root, const GetPrice& getPrice, RootedTree& tree)
    {
        std::fill(m_price.begin(), m_price.end(), std::numeric_limits<double>::infinity());
        std::fill(m_isDone.begin(), m_isDone.end(), false);
        m_heap.clear();
        tree.order.assign(1, root);
        tree.parent[root] = root;
        tree.comeBy[root].clear();
        m_depth[root] = 0;
        m_isDone[root] = true;
        Leave(root, 0, getPrice);
        while (!m_heap.empty())
        {
            std::pop_heap(m_heap.begin(), m_heap.end());
            const auto [negativePrice, node] = m_heap.back();
            m_heap.pop_back();
            if (-negativePrice > m_price[node])
            {
                continue;
            }
            if (!m_topology.IsServer(node))
            {
                Leave(node, -negativePrice, getPrice);
            }
            else if (!m_isDone[node])
            {
                Attach(node, tree);
                Leave(node, 0, getPrice);
            }
        }
    }

  private:
    /// What every server between the root and the next edge of a tree adds to its price.
    static constexpr double PRICE_OF_DEPTH = 0.1;

    template <typename GetPrice>
    void Leave(NodeId node, double price, const GetPrice& getPrice)
    {
        for (const Topology::Port& port : m_topology.GetPorts(node))
        {
            const NodeId next = port.neighbor;
            if (m_topology.IsServer(next) && m_isDone[next])
            {
                continue;
            }
            const uint32_t depth = m_topology.IsServer(node) ? m_depth[node] : 0;
            const double there = price + getPrice(port.out) * (1 + PRICE_OF_DEPTH * depth);
            if (there < m_price[next])
            {
                m_price[next] = there;
                m_by[next] = port.out;
                m_heap.emplace_back(-there, next);
                std::push_heap(m_heap.begin(), m_heap.end());
            }
        }
    }

    void Attach(NodeId server, RootedTree& tree)
    {
        m_isDone[server] = true;
        std::vector<DirectedLinkId>& links = tree.comeBy[server];
        links.clear();
        NodeId node = server;
        do
        {
            links.push_back(m_by[node]);
            node = m_topology.GetSource(m_by[node]);
        } while (!m_topology.IsServer(node));
        tree.parent[server] = node;
        tree.order.push_back(server);
        m_depth[server] = m_depth[node] + 1;
    }

    const Topology& m_topology;                    //!< the network
    std::vector<double> m_price;                   //!< by node: from the tree
    std::vector<DirectedLinkId> m_by;              //!< by node: the last link on the way there
    std::vector<uint32_t> m_depth;                 //!< by server: edges from the root
    std::vector<bool> m_isDone;                    //!< by server: in the tree
    std::vector<std::pair<double, NodeId>> m_heap; //!< the cheapest nodes first
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TREE_GROWER_H */
