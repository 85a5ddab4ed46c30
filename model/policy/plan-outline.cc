/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-outline.h"

namespace ns3::allreduce
{

namespace
{

/// @return the holders, as PlanningProblem::parents has them
std::vector<NodeId>
ListHolders(const AllReduceState& state, ChunkId chunk)
{
    std::vector<NodeId> holders(state.GetTopology().GetNServers(), NO_SERVER);
    for (NodeId server = 0; server < holders.size(); ++server)
    {
        if (state.GetFinals().Test(server, chunk))
        {
            holders[server] = server;
        }
    }
    return holders;
}

/// @return what is left of a flow-tree: the paths from partial sums to the root
std::vector<NodeId>
KeepPaths(const AllReduceState& state, ChunkId chunk, const std::vector<NodeId>& parents)
{
    const NodeId root = state.GetRoots()[chunk];
    std::vector<NodeId> kept(parents.size(), NO_SERVER);
    kept[root] = root;
    for (NodeId holder = 0; holder < parents.size(); ++holder)
    {
        if (state.GetPartials().Test(holder, chunk))
        {
            for (NodeId server = holder; kept[server] == NO_SERVER; server = parents[server])
            {
                kept[server] = parents[server];
            }
        }
    }
    return kept;
}

} // namespace

PlanOutline
MakeOutline(const AllReduceState& state, const std::vector<WorkloadList>& rounds)
{
    const Topology& topology = state.GetTopology();
    PlanOutline outline;
    outline.parents.assign(state.GetNChunks(),
                           std::vector<NodeId>(topology.GetNServers(), NO_SERVER));
    outline.due.assign(state.GetNChunks(), state.GetRound());
    outline.nRounds = state.GetRound() + rounds.size();
    outline.capacity = state.GetCapacities();
    outline.prices = FindLinkPrices(topology);
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        outline.parents[chunk][state.GetRoots()[chunk]] = state.GetRoots()[chunk];
    }
    for (uint32_t round = 0; round < rounds.size(); ++round)
    {
        for (std::size_t i = 0; i < rounds[round].GetSize(); ++i)
        {
            const Workload workload = rounds[round].Get(i);
            if (workload.kind == WorkloadKind::REDUCE)
            {
                // A server that relays sends more than once. Its last parent sends on after that,
                // so the last parents are a tree.
                outline.parents[workload.chunk][workload.GetSource()] = workload.GetTarget();
                outline.due[workload.chunk] = state.GetRound() + round + 1;
            }
        }
    }
    return outline;
}

bool
IsUsable(const PlanOutline& outline, const AllReduceState& state)
{
    if (outline.parents.size() != state.GetNChunks() || outline.capacity != state.GetCapacities())
    {
        return false;
    }
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        for (NodeId server = 0; server < outline.parents[chunk].size(); ++server)
        {
            if (!state.IsFinal(chunk) && state.GetPartials().Test(server, chunk) &&
                outline.parents[chunk][server] == NO_SERVER)
            {
                return false;
            }
        }
    }
    return true;
}

PlanningProblem
MakeForward(const AllReduceState& state, const PlanOutline& outline)
{
    PlanningProblem problem;
    problem.topology = &state.GetTopology();
    problem.capacity = outline.capacity;
    problem.roots = state.GetRoots();
    problem.partners.assign(problem.GetNChunks(), NO_CHUNK);
    for (ChunkId chunk = 0; chunk < problem.GetNChunks(); ++chunk)
    {
        problem.isOpen.push_back(!state.IsFinal(chunk));
        problem.parents.push_back(state.IsFinal(chunk)
                                      ? ListHolders(state, chunk)
                                      : KeepPaths(state, chunk, outline.parents[chunk]));
    }
    problem.due = outline.due;
    problem.nRoundsDone = state.GetRound();
    problem.nRounds = outline.nRounds;
    SetPrices(problem, outline.prices);
    return problem;
}

} // namespace ns3::allreduce
