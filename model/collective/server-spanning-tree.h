/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SERVER_SPANNING_TREE_H
#define ALLREDUCE_SERVER_SPANNING_TREE_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Finds the cheapest tree that joins all servers by paths over switches, where every link
 * has a price.
 *
 * Switches neither merge nor copy, so a link that two edges of the tree pass is paid twice: the
 * tree is a minimum spanning tree of the servers in the metric closure over switches. It is found
 * as Mehlhorn does: a search from all servers at once gives every switch to the server that is
 * nearest; a link between two servers' switches is the path between these servers; the cheapest of
 * these paths that join everything are the tree. That takes a sort of the links and a search, so
 * thousands of servers are no matter, and equal input gives equal trees.
 *
 * @tparam Price uint64_t or double; prices are 0 or more, and their sums must not overflow
 */
template <typename Price>
class ServerSpanningTree
{
  public:
    /// An edge of the tree: a path between two servers. It is told by the link in its middle.
    struct Edge
    {
        NodeId a;    //!< the server at one end
        NodeId b;    //!< the server at the other end
        LinkId link; //!< where the two servers' switches meet
        Price price; //!< the sum of the prices on the path
    };

    /// @param topology the network, its servers connected, which must outlive the tree
    explicit ServerSpanningTree(const Topology& topology);

    /**
     * Find the tree.
     *
     * @param prices by link
     * @return the price of the tree
     */
    Price Find(const std::vector<Price>& prices);

    /// @return the edges of the tree that was found, cheapest first; one less than servers
    const std::vector<Edge>& GetEdges() const;

    /**
     * @param edge an edge of the tree that was found
     * @return its path, from server a to server b
     */
    Path GetPath(const Edge& edge) const;

    /**
     * Call a function with every link of an edge's path.
     *
     * @param edge an edge of the tree that was found
     * @param visit takes a LinkId
     */
    template <typename Visit>
    void ForEachLink(const Edge& edge, Visit visit) const
    {
        const Link& middle = m_topology.GetLink(edge.link);
        visit(edge.link);
        for (const NodeId end : {middle.a, middle.b})
        {
            for (NodeId node = end; !m_topology.IsServer(node); node = GetPrevious(node))
            {
                visit(m_parent[node] / 2);
            }
        }
    }

  private:
    /// A node and what it costs to get there.
    struct Visit
    {
        Price price; //!< from the nearest server
        NodeId node; //!< where

        /// Dearer visits come later out of a heap.
        bool operator<(const Visit& other) const
        {
            return price != other.price ? price > other.price : node > other.node;
        }
    };

    /// @return the node before a switch on the way from its server
    NodeId GetPrevious(NodeId node) const
    {
        return m_topology.GetSource(m_parent[node]);
    }

    /// Give every switch to its nearest server.
    void Search(const std::vector<Price>& prices);
    /// List the paths between servers that might be edges, cheapest first.
    void ListPaths(const std::vector<Price>& prices);
    /// Choose the edges among these paths.
    Price ChooseEdges();
    /// @return who stands for the servers that are joined with a server
    NodeId FindGroup(NodeId server);

    const Topology& m_topology;           //!< the network
    std::vector<NodeId> m_home;           //!< by node: the nearest server
    std::vector<Price> m_price;           //!< by node: price from there
    std::vector<DirectedLinkId> m_parent; //!< by switch: the last link from there
    std::vector<Visit> m_heap;            //!< nodes to leave from
    std::vector<Edge> m_paths;            //!< between servers, cheapest first
    std::vector<NodeId> m_group;          //!< by server: another one of its group
    std::vector<Edge> m_edges;            //!< of the tree
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SERVER_SPANNING_TREE_H */
