/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TASK_QUEUES_H
#define ALLREDUCE_TASK_QUEUES_H

#include "task-list.h"

#include "ns3/huge-page-allocator.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// Stands for no task.
constexpr TaskId NO_TASK = ~TaskId{0};

/// @ingroup allreduce
/// How far a task has come: all that a step of it looks at, in half a cache line.
struct TaskProgress
{
    ChunkId chunk;              //!< see Task
    uint32_t priority;          //!< smaller is earlier
    TransferTable::Id transfer; //!< the next one, or NO_TRANSFER if nothing is left to do
    uint32_t firstTransfer;     //!< see Task
    uint16_t nTransfers;        //!< see Task
    uint16_t nDone;             //!< transfers done
    NodeId end;                 //!< where the task ends
    TaskId nextInList;          //!< the next one of those that wait for the same, or NO_TASK
    TaskId nextChild;           //!< the next one that begins at the same server, or NO_TASK
};

/**
 * @ingroup allreduce
 *
 * @brief The tasks that are ready: a priority queue for each transfer.
 *
 * A round looks at the first tasks of all queues, by their ranks and then by their priorities.
 * Ranks are by load, if that is asked for: tasks whose ports have the most left to carry come
 * first, and of those with the same load who came first in the round before. Else all have the same
 * rank.
 */
class TaskQueues
{
  public:
    /// A task with what decides when its turn comes.
    struct RankedTask
    {
        uint32_t rank;     //!< smaller is earlier
        uint32_t priority; //!< smaller is earlier
        TaskId task;       //!< the task

        /// @return whether it comes before another one @param other the other one
        bool operator<(const RankedTask& other) const
        {
            return rank != other.rank ? rank < other.rank : priority < other.priority;
        }

        /// @return whether it comes after another one @param other the other one
        bool operator>(const RankedTask& other) const
        {
            return other < *this;
        }
    };

    /// How many tasks ahead memory is fetched: where there are many, nearly every look is a miss.
    static constexpr int PREFETCH_DISTANCE = 8;

    /// @param tasks all tasks @param progress by task; both must outlive the queues
    TaskQueues(const TaskList& tasks, const HugePageVector<TaskProgress>& progress);

    /// Make all queues empty. @param isBusiestFirst whether ranks are by load
    void Begin(bool isBusiestFirst);

    /// Find out the ranks and the order of the queues for a round.
    void BeginRound();

    /// Take the queue with the first task of those that the round has not looked at.
    /// @param [out] transfer whose queue it is @return whether there is one
    bool TakeNext(TransferTable::Id& transfer);

    /// Let the round look at a queue again, after all that is before its first task.
    /// @param transfer whose queue it is
    void PutBack(TransferTable::Id transfer);

    /// Add a task to the queue for its next transfer. @param task the task
    void Push(TaskId task);

    /// Remove the first task of a queue. @param transfer whose queue it is
    void Pop(TransferTable::Id transfer);

    /// @return the first task of a queue @param transfer whose queue it is, not empty
    TaskId GetFirst(TransferTable::Id transfer) const
    {
        return m_queues[transfer].front().task;
    }

    /// @return a task with its rank in this round @param task the task
    RankedTask Rank(TaskId task) const
    {
        return {GetRank(task), m_progress[task].priority, task};
    }

    /// A task makes its next transfer: its ports have less to carry, and it has its own rank now.
    /// @param task the task
    void Advance(TaskId task);

    /// Change what ports have to carry by the transfers that a task has left.
    /// @param progress the task's @param difference in chunks, for each transfer that is left
    void AddLoad(const TaskProgress& progress, int32_t difference);

  private:
    /// A task in a queue, with its priority beside it to spare a look elsewhere.
    struct Entry
    {
        uint32_t priority;
        TaskId task;
    };

    struct Front : RankedTask
    {
        TransferTable::Id transfer; //!< whose queue it is
    };

    uint32_t GetRank(TaskId task) const
    {
        if (!m_isBusiestFirst)
        {
            return 0;
        }
        const TaskProgress& progress = m_progress[task];
        return progress.nDone == 0 ? m_transferRanks[m_tasks.GetTransferId(progress.firstTransfer)]
                                   : m_ownRanks[task];
    }

    /// Orders heaps, in which the first task is the largest.
    bool IsAfter(const Entry& x, const Entry& y) const
    {
        if (m_isBusiestFirst)
        {
            const uint32_t rankOfX = GetRank(x.task);
            const uint32_t rankOfY = GetRank(y.task);
            return rankOfX != rankOfY ? rankOfX > rankOfY : x.priority > y.priority;
        }
        return x.priority > y.priority;
    }

    Front MakeFront(TransferTable::Id transfer) const;
    void RankByLoad();
    /// Put queues in the order of the new ranks, without tasks that are elsewhere by now.
    void TidyQueues();
    void UpdateFronts();
    /// A queue has another first task, or none.
    void MarkChanged(TransferTable::Id transfer);
    void AddLoad(TransferTable::Id transfer, int32_t difference);

    const TaskList& m_tasks;
    const HugePageVector<TaskProgress>& m_progress;
    bool m_isBusiestFirst{false};
    std::vector<std::vector<Entry>> m_queues;       //!< by transfer: a heap
    std::vector<TransferTable::Id> m_changed;       //!< queues that have since UpdateFronts
    std::vector<bool> m_isChanged;                  //!< by transfer: whether it is in m_changed
    std::vector<Front> m_fronts;                    //!< of all queues at UpdateFronts, in order
    std::vector<Front>::const_iterator m_nextFront; //!< that the round has not looked at
    std::vector<Front> m_newFronts;                 //!< a heap of those put back in this round
    std::vector<uint32_t> m_load;                   //!< by directed link: transfers left over it
    std::vector<uint32_t> m_transferRanks;          //!< by transfer: of tasks that have not moved
    std::vector<uint32_t> m_ownRanks;               //!< by task: of those that have
    std::vector<TaskId> m_underWay;                 //!< tasks that have moved and not ended
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TASK_QUEUES_H */
