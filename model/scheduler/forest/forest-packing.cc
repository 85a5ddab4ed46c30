/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forest-packing.h"

#include "tree-grower.h"

#include "ns3/chunk-needs.h"

#include <algorithm>

namespace ns3::allreduce
{

namespace
{

/// Trees are shared when servers times links times trees would be more: a few seconds.
constexpr uint64_t MOST_WORK_OF_TREES = 1 << 28;
/// Fewer trees than this do not share the links well.
constexpr uint64_t FEWEST_TREES = 128;

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
    return std::min<uint64_t>(nChunks, std::max(FEWEST_TREES, MOST_WORK_OF_TREES / workPerTree));
}

/// @return the servers in a column of a matrix of [server][chunk]
std::vector<NodeId>
ListColumn(const BitMatrix& matrix, uint32_t nServers, ChunkId chunk)
{
    std::vector<NodeId> servers;
    for (NodeId server = 0; server < nServers; ++server)
    {
        if (matrix.Test(server, chunk))
        {
            servers.push_back(server);
        }
    }
    return servers;
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
    std::vector<PathId>& toParent = forest.toParent[UP];
    toParent.resize(roots.size() * nServers, NO_PATH);
    TreeGrower grower(topology, forest.paths);
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        PathId* tree = &toParent[order[i] * nServers];
        if (i < nTrees)
        {
            progress.GetPart("tree", i, nTrees).Show("", 0);
            if (!collective.IsOfAll())
            {
                grower.SetMembers(GetMembers(collective, order[i]),
                                  std::vector<bool>(nServers, collective.mayRelay));
                if (loads == LinkLoads::AS_USED)
                {
                    grower.SetUse(HasOthers(collective, collective.contributors, order[i]),
                                  HasOthers(collective, collective.receivers, order[i]));
                }
            }
            grower.Grow({roots[order[i]]}, tree);
            continue;
        }
        const ChunkId model = order[i % nTrees];
        std::copy_n(&toParent[model * nServers], nServers, tree);
        MoveRoot(forest.paths, tree, roots[model], roots[order[i]]);
    }
    forest.toParent[DOWN] = toParent;
    forest.load = grower.GetLoad() * roots.size() / nTrees;
    return forest;
}

Forest
PackRemainder(const Topology& topology,
              const AllReduceState& state,
              const std::vector<ChunkId>& order,
              const PlanningProgress& progress)
{
    const ChunkNeeds needs(state);
    const uint32_t nServers = topology.GetNServers();
    Forest forest(topology);
    forest.toParent.fill(std::vector<PathId>(order.size() * nServers, NO_PATH));
    TreeGrower grower(topology, forest.paths);
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        const ChunkId chunk = order[i];
        progress.GetPart("tree", i, order.size()).Show("", 0);
        const std::vector<NodeId> holders = ListColumn(needs.hasSum, nServers, chunk);
        for (const NodeId holder : holders)
        {
            forest.holders.push_back(chunk * nServers + holder);
        }
        std::vector<bool> mayRelay(nServers);
        for (NodeId server = 0; server < nServers; ++server)
        {
            mayRelay[server] = state.MayHold(server, chunk);
        }
        grower.SetMembers(ListColumn(needs.gives, nServers, chunk), mayRelay);
        grower.SetUse(true, false);
        grower.Grow({state.GetRoots()[chunk]}, &forest.toParent[UP][chunk * nServers]);
        grower.SetMembers(ListColumn(needs.lacksSum, nServers, chunk), std::move(mayRelay));
        grower.SetUse(false, true);
        grower.Grow(holders, &forest.toParent[DOWN][chunk * nServers]);
    }
    forest.load = grower.GetLoad();
    return forest;
}

} // namespace ns3::allreduce
