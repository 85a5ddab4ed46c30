/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "task-list.h"

#include "ns3/allreduce-error.h"
#include "ns3/random-source.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// @return by server: edges between it and the root @param next towards the root, by server
std::vector<uint32_t>
ComputeDepths(const std::vector<NodeId>& next, NodeId root)
{
    std::vector<uint32_t> depths(next.size(), UNREACHABLE);
    CountDepths(
        root,
        next.size(),
        [&](NodeId server) { return next[server]; },
        depths.data());
    return depths;
}

/// Decides between tasks of the same urgency.
struct SortKey
{
    uint32_t length; //!< in links
    TaskId task;     //!< the task, also if all else is equal
    uint64_t tie;    //!< decides before

    bool operator<(const SortKey& other) const
    {
        return std::tie(length, tie, task) < std::tie(other.length, other.tie, other.task);
    }
};

} // namespace

TaskList::TaskList(const AllReduceState& state,
                   const std::vector<FlowTree>& trees,
                   const PreferredPaths& preferred)
    : m_roots(state.GetRoots()),
      m_nServers(state.GetTopology().GetNServers()),
      m_table(state.GetTopology(), preferred)
{
    const std::size_t nTasks = std::size_t{2} * (m_nServers - 1) * trees.size();
    m_urgencies.reserve(nTasks);
    m_sequence.reserve(nTasks);
    m_firstTransfers.reserve(nTasks + 1);
    m_firstTransfers.push_back(0);
    for (ChunkId chunk = 0; chunk < trees.size(); ++chunk)
    {
        AddTree(chunk, trees[chunk]);
    }
}

void
TaskList::AddTree(ChunkId chunk, const FlowTree& tree)
{
    const NodeId root = m_roots[chunk];
    const std::vector<uint32_t> up = ComputeDepths(tree.reduceTo, root);
    const std::vector<uint32_t> down = ComputeDepths(tree.broadcastFrom, root);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        if (server != root)
        {
            // First what is deep in its tree when going up and what is high when going down: most
            // others wait for it.
            Add(server, tree.reduceTo[server], m_nServers - up[server]);
            Add(tree.broadcastFrom[server], server, m_nServers + down[server]);
        }
    }
}

void
TaskList::Add(NodeId from, NodeId to, uint32_t urgency)
{
    m_urgencies.push_back(urgency);
    m_table.AppendTransfers(from, to, m_sequence);
    const std::size_t nTransfers = m_sequence.size() - m_firstTransfers.back();
    if (nTransfers > std::numeric_limits<uint16_t>::max() ||
        m_sequence.size() > std::numeric_limits<uint32_t>::max())
    {
        FailInput("flow-trees with ",
                  m_sequence.size(),
                  " transfers or more, ",
                  nTransfers,
                  " of them from server ",
                  from,
                  " to ",
                  to,
                  ", are too large: expected at most 2^32 - 1 transfers, 65535 in a row");
    }
    m_firstTransfers.push_back(m_sequence.size());
}

uint32_t
TaskList::CountLinks(const Task& task) const
{
    uint32_t nLinks = 0;
    for (uint32_t i = 0; i < task.nTransfers; ++i)
    {
        nLinks += GetTransfer(task.firstTransfer + i).nLinks;
    }
    return nLinks;
}

TaskId
TaskList::GetReduce(ChunkId chunk, NodeId server) const
{
    return 2 * (chunk * (m_nServers - 1) + server - (server > m_roots[chunk]));
}

std::vector<TaskId>
TaskList::Sort(const TaskOrder& order) const
{
    std::vector<uint32_t> first(2 * m_nServers + 1, 0); // by urgency, which is less than 2 n
    for (const uint32_t urgency : m_urgencies)
    {
        ++first[urgency + 1];
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    PlannerRandom random(order.seed);
    std::vector<SortKey> keys(GetSize());
    std::vector<uint32_t> next = first;
    for (TaskId id = 0; id < GetSize(); ++id)
    {
        const Task task = Get(id);
        const NodeId from = GetTransfer(task.firstTransfer).from;
        const uint32_t nLinks = CountLinks(task);
        keys[next[m_urgencies[id]]++] = {
            order.isLongestFirst ? ~nLinks : nLinks,
            id,
            order.seed == 0 ? (from + m_nServers - m_roots[task.chunk]) % m_nServers : random()};
    }
    std::vector<TaskId> sorted;
    sorted.reserve(keys.size());
    for (std::size_t i = 0; i + 1 < first.size(); ++i)
    {
        std::sort(keys.begin() + first[i], keys.begin() + first[i + 1]);
    }
    for (const SortKey& key : keys)
    {
        sorted.push_back(key.task);
    }
    return sorted;
}

} // namespace ns3::allreduce
