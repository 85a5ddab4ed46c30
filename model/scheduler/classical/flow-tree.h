/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FLOW_TREE_H
#define ALLREDUCE_FLOW_TREE_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-workload.h"
#include "ns3/topology-metrics.h"

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The flow-tree of a chunk, fixed beforehand: where each server sends its partial sum and
 * from where it gets the final one.
 *
 * An edge of the tree may join servers that share no switch; other servers then relay.
 */
struct FlowTree
{
    std::vector<NodeId> reduceTo;      //!< by server; the root's own is the root
    std::vector<NodeId> broadcastFrom; //!< by server; the root's own is the root
    bool isMerging{true};              //!< else every contribution travels by itself
};

/**
 * @ingroup allreduce
 *
 * Count the edges between each server of a tree and the root.
 *
 * @param root the root
 * @param nServers number of servers
 * @param getParent the parent of a server; the server itself if it is not in the tree
 * @param [in,out] depths by server: must be UNREACHABLE, and stays so outside of the tree
 */
template <typename GetParent>
void
CountDepths(NodeId root, uint32_t nServers, GetParent getParent, uint32_t* depths)
{
    depths[root] = 0;
    std::vector<NodeId> below; // up to a server whose depth is known
    for (NodeId server = 0; server < nServers; ++server)
    {
        NodeId node = server;
        for (NodeId parent = getParent(node); depths[node] == UNREACHABLE && parent != node;
             parent = getParent(node))
        {
            below.push_back(node);
            node = parent;
        }
        for (uint32_t depth = depths[node]; !below.empty(); below.pop_back())
        {
            depths[below.back()] = ++depth;
        }
    }
}

/// Paths of switches to be tried before others, by sender and receiver.
using PreferredPaths = std::map<std::pair<NodeId, NodeId>, Path>;

/**
 * @ingroup allreduce
 *
 * List scheduling: in every round, send what can be sent along the trees, first what comes first
 * by priority, each over the shortest path of links that are still free. Several priorities are
 * tried, as many as are quick, and the shortest schedule is taken.
 *
 * A server sends its partial sum when all its children's have come. Between servers that no path
 * over switches joins, relays are chosen among those on the shortest paths, the least used first.
 *
 * @param state the beginning of an AllReduce
 * @param trees a tree for each chunk
 * @param preferred paths to be tried first
 * @return the rounds
 * @throws InputError if two servers cannot reach each other
 */
std::vector<WorkloadList> ScheduleFlowTrees(const AllReduceState& state,
                                            const std::vector<FlowTree>& trees,
                                            const PreferredPaths& preferred = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FLOW_TREE_H */
