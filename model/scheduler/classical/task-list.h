/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TASK_LIST_H
#define ALLREDUCE_TASK_LIST_H

#include "flow-tree.h"
#include "transfer-table.h"

#include "ns3/allreduce-state.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// The number of a task in a TaskList.
using TaskId = uint32_t;

/// @ingroup allreduce
/// A *task*: data has to go along an edge of a flow-tree, up or down, in one transfer or several.
struct Task
{
    ChunkId chunk;          //!< the chunk whose tree it is
    WorkloadKind kind;      //!< up or down the tree
    uint16_t nTransfers;    //!< how many it takes
    uint32_t firstTransfer; //!< its index among the transfers of all tasks; the others follow
};

/// @ingroup allreduce
/// What decides between tasks that want the same links.
struct TaskOrder
{
    bool isBusiestFirst; //!< before all else: those whose ports have the most left to carry
    bool isLongestFirst; //!< the longest paths first, else the shortest
    uint32_t detour;     //!< links more than the shortest path that a path may have
    uint64_t seed;       //!< 0: by the distance of the server's number from the root's; else random
};

/// @ingroup allreduce
/// The tasks of all flow-trees: for each chunk and server one up and one down its tree.
class TaskList
{
  public:
    /**
     * @param state the beginning of an AllReduce
     * @param trees a tree for each chunk
     * @param preferred paths to be tried first, which must outlive the list
     * @throws InputError if there is no path, or too many transfers to be numbered
     */
    TaskList(const AllReduceState& state,
             const std::vector<FlowTree>& trees,
             const PreferredPaths& preferred);

    /// @return the number of tasks
    std::size_t GetSize() const
    {
        return m_urgencies.size();
    }

    /// @return up or down the tree @param task its number
    static WorkloadKind GetKind(TaskId task)
    {
        return task % 2 == 0 ? WorkloadKind::REDUCE : WorkloadKind::BROADCAST;
    }

    /// @return a task @param task its number
    Task Get(TaskId task) const
    {
        return {task / (2 * (m_nServers - 1)),
                GetKind(task),
                static_cast<uint16_t>(m_firstTransfers[task + 1] - m_firstTransfers[task]),
                m_firstTransfers[task]};
    }

    /// @return the number of a transfer @param index among the transfers of all tasks
    TransferTable::Id GetTransferId(uint32_t index) const
    {
        return m_sequence[index];
    }

    /// @return a transfer @param index among the transfers of all tasks
    const TransferTable::Transfer& GetTransfer(uint32_t index) const
    {
        return m_table.Get(m_sequence[index]);
    }

    /// @return where a task ends @param task the task
    NodeId GetEnd(const Task& task) const
    {
        return GetTransfer(task.firstTransfer + task.nTransfers - 1).to;
    }

    /**
     * @param chunk a chunk
     * @param server a server that is not its root
     * @return the task that takes the server's partial sum to its parent
     */
    TaskId GetReduce(ChunkId chunk, NodeId server) const;

    /// @return the different transfers of all tasks
    const TransferTable& GetTable() const
    {
        return m_table;
    }

    /// @return the different transfers of all tasks, to find paths
    TransferTable& GetTable()
    {
        return m_table;
    }

    /**
     * @param order which tasks go first
     * @return all tasks, those that go first coming first
     */
    std::vector<TaskId> Sort(const TaskOrder& order) const;

  private:
    void AddTree(ChunkId chunk, const FlowTree& tree);
    void Add(NodeId from, NodeId to, uint32_t urgency);
    uint32_t CountLinks(const Task& task) const;

    // Tasks are in the order of chunks and servers, the reduce before the broadcast.
    std::vector<NodeId> m_roots; //!< by chunk
    uint32_t m_nServers;
    TransferTable m_table;
    std::vector<uint32_t> m_urgencies;         //!< by task: the least urgent has the largest
    std::vector<TransferTable::Id> m_sequence; //!< the transfers of one task after another
    std::vector<uint32_t> m_firstTransfers;    //!< by task: in m_sequence; at last, the end
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TASK_LIST_H */
