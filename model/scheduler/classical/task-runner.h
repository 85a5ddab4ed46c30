/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TASK_RUNNER_H
#define ALLREDUCE_TASK_RUNNER_H

#include "flow-tree.h"
#include "task-list.h"
#include "task-queues.h"

#include "ns3/allreduce-state.h"
#include "ns3/huge-page-allocator.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Carries out all tasks, round by round (list scheduling).
 *
 * A task that is ready waits in the queue of its next transfer. A round takes tasks from the queues
 * in the order of TaskQueues as long as there are paths with room; when a transfer has none, its
 * whole queue waits for the next round. Tasks that are not ready cost nothing: a task is looked at
 * when a workload has been sent that it waits for.
 */
class TaskRunner
{
  public:
    /**
     * @param state the beginning of an AllReduce
     * @param trees a tree for each chunk, which must outlive the runner
     * @param preferred paths to be tried first, which must outlive the runner
     */
    TaskRunner(const AllReduceState& state,
               const std::vector<FlowTree>& trees,
               const PreferredPaths& preferred);

    /// @return the number of tasks
    std::size_t GetNTasks() const
    {
        return m_tasks.GetSize();
    }

    /**
     * @param start where to begin: with nothing reduced, or all
     * @param order which tasks go first
     * @param mostRounds give up when there would be so many; 0: never
     * @return the rounds, or none if there were too many
     */
    std::vector<WorkloadList> Run(const AllReduceState& start,
                                  const TaskOrder& order,
                                  std::size_t mostRounds);

  private:
    using TransferId = TransferTable::Id;

    /// What waits for the data of a chunk at a server.
    struct Waiting
    {
        uint32_t nPending;   //!< children yet to send their partial sums
        TaskId firstChild;   //!< the first task that begins there, down the tree
        TaskId firstComing;  //!< the first task that brings the final sum there
        TaskId firstRelayed; //!< the first reduce that is relayed there
    };

    static constexpr TransferId NO_TRANSFER = TransferTable::NO_TRANSFER;

    std::size_t GetIndex(ChunkId chunk, NodeId server) const
    {
        return std::size_t{chunk} * m_nServers + server;
    }

    void CountPorts();
    void Begin(const TaskOrder& order);
    /// Say where each task begins and who waits for it. @param order the tasks by priority
    void BeginProgress(const std::vector<TaskId>& order);
    void BeginTask(TaskId id);

    WorkloadList MakeRound();
    /// @return whether there may be room for another workload over the transfer
    bool MoveFirst(TransferId transfer, WorkloadList& round);
    bool HasData(TaskId id) const;
    void Start(TaskId id, WorkloadList& round);

    /// Let those tasks go on that have waited for a workload of the round.
    void ApplyMoves();
    /// Fetch what a task's move has an effect on into the cache.
    void PrefetchEffects(std::size_t move) const;
    void ReleaseIfFinal(ChunkId chunk);
    /// A server has the sum: it can send it on.
    void EnqueueChildren(ChunkId chunk, NodeId server);
    /// Let a broadcast know when its next server has the sum.
    void ExpectCopy(TaskId id);
    /// A server has the sum: it need not be sent it again.
    void SkipTransfersTo(ChunkId chunk, NodeId server);
    void SkipTransfers(TaskId id);
    void Advance(TaskId id);
    void ApplyReduce(TaskId id);
    /// A server's partial sum has left: with it, maybe, what others were to take on from there.
    void CheckOthersAt(ChunkId chunk, NodeId server, TaskId moved);
    /// Look whether a reduce is over, when those that come before it have been looked at.
    void Check(TaskId id);
    void EndReduces();
    bool IsReduceOver(TaskId id) const;
    void EndReduce(TaskId id);

    const std::vector<FlowTree>& m_trees; //!< by chunk
    uint32_t m_nServers;
    TaskList m_tasks;
    std::vector<uint32_t> m_portsOut;  //!< by server: workloads it can send in a round
    std::vector<uint32_t> m_portsIn;   //!< by server: workloads it can receive in a round
    HugePageVector<Waiting> m_waiting; //!< [chunk][server]

    AllReduceState m_state;
    uint32_t m_detour{0};                               //!< see TaskOrder
    HugePageVector<TaskProgress> m_progress;            //!< by task
    TaskQueues m_queues;                                //!< of tasks that are ready
    std::vector<bool> m_isReleased;                     //!< by chunk: its broadcasts may begin
    std::vector<uint32_t> m_freeOut;                    //!< by server: workloads it can still send
    std::vector<uint32_t> m_freeIn;                     //!< by server: likewise receive
    std::vector<TaskId> m_setAside;                     //!< from queues, not ready in this round
    std::vector<TaskId> m_moved;                        //!< in this round
    std::vector<std::pair<ChunkId, NodeId>> m_arrivals; //!< sums that servers have anew
    std::vector<TaskQueues::RankedTask> m_checks;       //!< a heap of reduces that may be over
    std::vector<TaskId> m_laterChecks;                  //!< the same, for the next round
    Path m_path;                                        //!< of the present workload
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TASK_RUNNER_H */
