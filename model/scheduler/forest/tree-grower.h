/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TREE_GROWER_H
#define ALLREDUCE_TREE_GROWER_H

#include "ns3/allreduce-topology.h"
#include "ns3/path-table.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Grows trees one after another under prices of links, and keeps the links' load (see PackForest).
class TreeGrower
{
  public:
    /// @param topology the network, which must outlive the grower
    /// @param [out] paths gets the edges of all trees; must outlive the grower
    TreeGrower(const Topology& topology, PathTable& paths);

    /**
     * From now on trees join these servers only. At first they join all.
     *
     * @param members whom they join
     * @param mayRelay by server: may be in trees, too, where a path leads over it
     */
    void SetMembers(const std::vector<NodeId>& members, std::vector<bool> mayRelay);

    /// From now on trees load links in these directions.
    /// @param isReduced towards the root @param isBroadcast away from it
    void SetUse(bool isReduced, bool isBroadcast);

    /**
     * From now on links have other capacities than the network says.
     *
     * @param capacities by directed link; 0: trees do not pass it, and servers that cannot be
     * reached without are left out
     */
    void SetCapacities(std::vector<double> capacities);

    /// A link need not carry something of a tree any more. @param link the directed link
    void Unload(DirectedLinkId link)
    {
        --m_nTrees[link];
    }

    /**
     * Grow a tree, or one from each of several servers that hold the same sum.
     *
     * @param roots where it begins
     * @param [out] toParent by server: the path, if it is joined
     * @throws InputError if a member cannot be reached
     */
    void Grow(const std::vector<NodeId>& roots, PathId* toParent);

    /// @return rounds that the busiest link takes to carry each tree once
    double GetLoad() const;

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

    double GetLoad(DirectedLinkId link) const
    {
        return m_capacities[link] > 0 ? m_nTrees[link] / m_capacities[link] : 0;
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
    void Load(DirectedLinkId link);
    void Begin(const std::vector<NodeId>& roots);
    /// @return the load of the dearest links
    double FindMostLoad() const;
    void UpdateEdgePrice();
    /// Search from all servers of the tree, with the prices of the moment.
    void SearchAnew();
    /// @return what it costs to grow from a server of the tree
    double GetDepthPrice(NodeId server) const;
    void LeaveServer(NodeId server);
    /// Go on from a node. @param price what it costs to be there
    void Leave(NodeId node, double price);
    /**
     * Prices rise while the tree grows, but a search serves for many servers: paths that have
     * become much dearer than the first one are left to the next search.
     *
     * @return the server that is cheapest to join, if there is one
     */
    std::optional<NodeId> FindNextServer();
    /// No path leads to some server. @param root where the tree begins
    [[noreturn]] void FailUnreachable(NodeId root) const;
    /// @return the server that is cheapest to join by the present search, if it still serves
    std::optional<Visit> FindInSearch();
    /// Go on from a server that is not to be joined, if it may relay.
    void PassOver(const Visit& visit);
    /// @return what it costs to join a server over the path that was found, at present prices
    double GetPresentPrice(NodeId server) const;
    /// Join a server, and first those over which the path leads that was found.
    void JoinOverRelays(NodeId server, PathId* toParent);
    /// Join a server over the path that was found. @return the price of the path
    double Join(NodeId server, PathId* toParent);

    const Topology& m_topology;
    const uint32_t m_nServers;
    PathTable& m_paths;                  //!< the edges of all trees
    std::vector<double> m_capacities;    //!< by directed link
    bool m_leavesOut{false};             //!< servers that cannot be reached
    std::vector<uint32_t> m_nTrees;      //!< by directed link: how often trees pass it
    std::vector<double> m_prices;        //!< by directed link
    bool m_isReduced{true};              //!< trees load links towards their root
    bool m_isBroadcast{true};            //!< trees load links away from it
    double m_mostPrice{0};               //!< for dearer paths a new search is made
    double m_edgePrice{0};               //!< what an edge of a tree costs
    std::vector<double> m_edgePrices;    //!< of the tree that is grown
    std::vector<uint32_t> m_depth;       //!< by server of the tree: edges to the root
    std::vector<bool> m_isMember;        //!< by server: to be joined
    std::vector<bool> m_mayRelay;        //!< by server: may be joined, too
    std::vector<bool> m_isJoined;        //!< by server: in the tree
    std::vector<double> m_best;          //!< by node: what it costs to get there
    std::vector<DirectedLinkId> m_last;  //!< by node: the last link of the path there
    std::vector<Visit> m_heap;           //!< nodes to leave from
    std::vector<DirectedLinkId> m_links; //!< of the path of the server that is joined
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TREE_GROWER_H */
