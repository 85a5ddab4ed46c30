/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "reduce-trees.h"

#include <algorithm>

namespace ns3::allreduce
{

ReduceTrees::ReduceTrees(const PlanningProblem& problem)
    : m_problem(problem),
      m_nServers(problem.topology->GetNServers()),
      m_isPending(m_nServers, problem.GetNChunks()),
      m_hasMerged(m_nServers, problem.GetNChunks()),
      m_nAwaited(std::size_t{m_nServers} * problem.GetNChunks(), 0),
      m_depth(m_nAwaited.size(), 0),
      m_nLeft(problem.GetNChunks(), 0),
      m_height(problem.GetNChunks(), 0),
      m_nAtDepth(problem.GetNChunks()),
      m_nPending(m_nServers, 0),
      m_ready(m_nServers)
{
    for (ChunkId chunk = 0; chunk < problem.GetNChunks(); ++chunk)
    {
        if (problem.isOpen[chunk])
        {
            AddTree(chunk);
        }
    }
}

void
ReduceTrees::AddTree(ChunkId chunk)
{
    const std::vector<NodeId>& parents = m_problem.parents[chunk];
    const NodeId root = m_problem.roots[chunk];
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (parents[server] == NO_SERVER || server == root)
        {
            continue;
        }
        uint32_t depth = 1;
        for (NodeId above = parents[server]; above != root; above = parents[above])
        {
            ++depth;
        }
        m_depth[Index(server, chunk)] = depth;
        m_height[chunk] = std::max(m_height[chunk], depth);
        m_nAtDepth[chunk].resize(m_height[chunk] + 1, 0);
        ++m_nAtDepth[chunk][depth];
        ++m_nAwaited[Index(parents[server], chunk)];
        ++m_nLeft[chunk];
        ++m_nPending[server];
        m_isPending.Set(server, chunk);
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        MakeReady(server, chunk);
    }
}

std::vector<ChunkId>&
ReduceTrees::FindReady(NodeId sender, NodeId receiver)
{
    std::vector<ReadyFor>& all = m_ready[sender];
    auto ready = std::find_if(all.begin(), all.end(), [&](const ReadyFor& r) {
        return r.receiver == receiver;
    });
    ready = ready == all.end() ? all.insert(all.end(), {receiver, {}}) : ready;
    return ready->chunks;
}

void
ReduceTrees::MakeReady(NodeId server, ChunkId chunk)
{
    if (IsPending(server, chunk) && CountAwaited(server, chunk) == 0)
    {
        const NodeId parent = m_problem.parents[chunk][server];
        FindReady(server, parent).push_back(chunk);
    }
}

void
ReduceTrees::RemovePending(NodeId server, ChunkId chunk)
{
    const NodeId parent = m_problem.parents[chunk][server];
    std::vector<ChunkId>& ready = FindReady(server, parent);
    ready.erase(std::find(ready.begin(), ready.end(), chunk));
    m_isPending.Clear(server, chunk);
    --m_nPending[server];
    --m_nAtDepth[chunk][GetDepth(server, chunk)];
    while (m_height[chunk] > 0 && m_nAtDepth[chunk][m_height[chunk]] == 0)
    {
        --m_height[chunk];
    }
}

bool
ReduceTrees::Detach(NodeId server, ChunkId chunk)
{
    const NodeId parent = m_problem.parents[chunk][server];
    --m_nAwaited[Index(parent, chunk)];
    MakeReady(parent, chunk);
    return --m_nLeft[chunk] == 0;
}

void
ReduceTrees::Send(NodeId sender, ChunkId chunk)
{
    RemovePending(sender, chunk);
}

bool
ReduceTrees::Arrive(NodeId sender, ChunkId chunk)
{
    m_hasMerged.Set(m_problem.parents[chunk][sender], chunk);
    return Detach(sender, chunk);
}

bool
ReduceTrees::Leave(NodeId server, ChunkId chunk)
{
    RemovePending(server, chunk);
    return Detach(server, chunk);
}

} // namespace ns3::allreduce
