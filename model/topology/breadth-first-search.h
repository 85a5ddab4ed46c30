/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BREADTH_FIRST_SEARCH_H
#define ALLREDUCE_BREADTH_FIRST_SEARCH_H

#include "allreduce-topology.h"
#include "topology-metrics.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a breadth-first search has found.
struct BreadthFirstTree
{
    std::vector<NodeId> order;      //!< the nodes reached, as they were reached
    std::vector<uint32_t> distance; //!< by node: links to it, or UNREACHABLE
    std::vector<NodeId> before;     //!< by node reached: the one it was reached from

    /// @return whether a node was reached @param node the node
    bool IsReached(NodeId node) const
    {
        return distance[node] != UNREACHABLE;
    }
};

/**
 * @ingroup allreduce
 *
 * Search a network from a node, nearer nodes first.
 *
 * @param topology the network
 * @param from where to begin
 * @param mayPass called with a node and one of its ports: whether the search goes on there
 * @return what was reached
 */
template <typename MayPass>
BreadthFirstTree
SearchBreadthFirst(const Topology& topology, NodeId from, MayPass mayPass)
{
    BreadthFirstTree tree;
    tree.order.push_back(from);
    tree.distance.assign(topology.GetNNodes(), UNREACHABLE);
    tree.distance[from] = 0;
    tree.before.assign(topology.GetNNodes(), from);
    for (std::size_t i = 0; i < tree.order.size(); ++i)
    {
        const NodeId node = tree.order[i];
        for (const Topology::Port& port : topology.GetPorts(node))
        {
            if (!tree.IsReached(port.neighbor) && mayPass(node, port))
            {
                tree.distance[port.neighbor] = tree.distance[node] + 1;
                tree.before[port.neighbor] = node;
                tree.order.push_back(port.neighbor);
            }
        }
    }
    return tree;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BREADTH_FIRST_SEARCH_H */
