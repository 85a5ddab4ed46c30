/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "task-runner.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace ns3::allreduce
{

TaskRunner::TaskRunner(const AllReduceState& state,
                       const std::vector<FlowTree>& trees,
                       const PreferredPaths& preferred)
    : m_trees(trees),
      m_nServers(state.GetTopology().GetNServers()),
      m_tasks(state, trees, preferred),
      m_state(state),
      m_queues(m_tasks, m_progress)
{
    CountPorts();
}

std::vector<WorkloadList>
TaskRunner::Run(const AllReduceState& start, const TaskOrder& order, std::size_t mostRounds)
{
    m_state = start;
    Begin(order);
    std::vector<WorkloadList> rounds;
    while (!m_state.IsDone())
    {
        if (mostRounds > 0 && rounds.size() + 1 >= mostRounds)
        {
            return {};
        }
        WorkloadList round = MakeRound();
        if (round.IsEmpty())
        {
            FailInput("flow-trees do not come to an end in ", m_state.GetTopology().GetName());
        }
        rounds.push_back(std::move(round));
    }
    return rounds;
}

void
TaskRunner::CountPorts()
{
    m_portsOut.assign(m_nServers, 0);
    m_portsIn.assign(m_nServers, 0);
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (const Topology::Port& port : m_state.GetTopology().GetPorts(server))
        {
            m_portsOut[server] += m_state.GetCapacity(port.out);
            m_portsIn[server] += m_state.GetCapacity(Reverse(port.out));
        }
    }
}

void
TaskRunner::Begin(const TaskOrder& order)
{
    m_detour = order.detour;
    m_isReleased.assign(m_trees.size(), false);
    m_queues.Begin(order.isBusiestFirst);
    m_arrivals.clear();
    m_laterChecks.clear();
    BeginProgress(m_tasks.Sort(order));
    for (TaskId id = 0; id < m_tasks.GetSize(); ++id)
    {
        BeginTask(id);
    }
    for (ChunkId chunk = 0; chunk < m_trees.size(); ++chunk)
    {
        ReleaseIfFinal(chunk);
    }
}

void
TaskRunner::BeginProgress(const std::vector<TaskId>& order)
{
    m_waiting.assign(m_trees.size() * m_nServers, {0, NO_TASK, NO_TASK, NO_TASK});
    m_progress.resize(m_tasks.GetSize());
    for (TaskId id = 0; id < m_tasks.GetSize(); ++id)
    {
        const Task task = m_tasks.Get(id);
        TaskProgress progress{};
        progress.chunk = task.chunk;
        progress.transfer = m_tasks.GetTransferId(task.firstTransfer);
        progress.firstTransfer = task.firstTransfer;
        progress.nTransfers = task.nTransfers;
        progress.end = m_tasks.GetEnd(task);
        progress.nextInList = NO_TASK;
        if (task.kind == WorkloadKind::REDUCE)
        {
            ++m_waiting[GetIndex(task.chunk, progress.end)].nPending;
        }
        else
        {
            TaskId& first =
                m_waiting[GetIndex(task.chunk, m_tasks.GetTransfer(task.firstTransfer).from)]
                    .firstChild;
            progress.nextChild = std::exchange(first, id);
        }
        m_progress[id] = progress;
    }
    for (uint32_t priority = 0; priority < order.size(); ++priority)
    {
        m_progress[order[priority]].priority = priority;
    }
}

void
TaskRunner::BeginTask(TaskId id)
{
    TaskProgress& progress = m_progress[id];
    if (TaskList::GetKind(id) == WorkloadKind::BROADCAST)
    {
        ExpectCopy(id);
    }
    else if (m_state.IsFinal(progress.chunk))
    {
        progress.transfer = NO_TRANSFER;
        return;
    }
    else if (!m_trees[progress.chunk].isMerging ||
             m_waiting[GetIndex(progress.chunk, m_tasks.GetTransfer(progress.firstTransfer).from)]
                     .nPending == 0)
    {
        m_queues.Push(id);
    }
    m_queues.AddLoad(progress, 1);
}

WorkloadList
TaskRunner::MakeRound()
{
    WorkloadList round;
    m_freeOut = m_portsOut;
    m_freeIn = m_portsIn;
    m_queues.BeginRound();
    for (TransferId transfer = 0; m_queues.TakeNext(transfer);)
    {
        if (MoveFirst(transfer, round))
        {
            m_queues.PutBack(transfer);
        }
    }
    for (const TaskId id : m_setAside)
    {
        m_queues.Push(id);
    }
    m_setAside.clear();
    m_state.EndRound();
    ApplyMoves();
    EndReduces();
    return round;
}

bool
TaskRunner::MoveFirst(TransferId transfer, WorkloadList& round)
{
    const TransferTable::Transfer& ends = m_tasks.GetTable().Get(transfer);
    if (m_freeOut[ends.from] == 0 || m_freeIn[ends.to] == 0 ||
        !m_tasks.GetTable().FindPath(transfer, m_state, m_detour, m_path))
    {
        return false;
    }
    const TaskId task = m_queues.GetFirst(transfer);
    m_queues.Pop(transfer);
    if (m_progress[task].transfer != transfer)
    {
        return true;
    }
    if (!HasData(task))
    {
        m_setAside.push_back(task);
        return true;
    }
    Start(task, round);
    --m_freeOut[ends.from];
    --m_freeIn[ends.to];
    return true;
}

bool
TaskRunner::HasData(TaskId id) const
{
    const ChunkId chunk = m_progress[id].chunk;
    const TransferTable::Transfer& transfer = m_tasks.GetTable().Get(m_progress[id].transfer);
    if (TaskList::GetKind(id) == WorkloadKind::BROADCAST)
    {
        return m_state.GetFinals().Test(transfer.from, chunk) &&
               !m_state.GetExpected().Test(transfer.to, chunk);
    }
    return m_state.GetPartials().Test(transfer.from, chunk);
}

void
TaskRunner::Start(TaskId id, WorkloadList& round)
{
    const TaskProgress& progress = m_progress[id];
    NodeId contributor = 0;
    Workload workload;
    workload.chunk = progress.chunk;
    workload.kind = TaskList::GetKind(id);
    workload.path = {m_path.data(), m_path.data() + m_path.size()};
    if (workload.kind == WorkloadKind::REDUCE && !m_trees[progress.chunk].isMerging)
    {
        contributor = m_tasks.GetTransfer(progress.firstTransfer).from;
        workload.contributors = {&contributor, &contributor + 1};
    }
    m_state.Start(workload);
    round.Add(workload);
    m_moved.push_back(id);
}

void
TaskRunner::ApplyMoves()
{
    for (const TaskId id : m_laterChecks)
    {
        Check(id);
    }
    m_laterChecks.clear();
    for (std::size_t i = 0; i < m_moved.size(); ++i)
    {
        PrefetchEffects(i + TaskQueues::PREFETCH_DISTANCE);
        const TaskId id = m_moved[i];
        const TaskProgress& progress = m_progress[id];
        if (TaskList::GetKind(id) == WorkloadKind::REDUCE)
        {
            ApplyReduce(id);
            ReleaseIfFinal(progress.chunk);
        }
        else
        {
            const NodeId server = m_tasks.GetTable().Get(progress.transfer).to;
            m_arrivals.push_back({progress.chunk, server});
            EnqueueChildren(progress.chunk, server);
        }
    }
    m_moved.clear();
    for (const auto& [chunk, server] : m_arrivals)
    {
        SkipTransfersTo(chunk, server);
    }
    m_arrivals.clear();
}

void
TaskRunner::PrefetchEffects(std::size_t move) const
{
    // First where the data has come to, and somewhat later the task that waits for it there.
    if (move + TaskQueues::PREFETCH_DISTANCE < m_moved.size())
    {
        const TaskProgress& later = m_progress[m_moved[move + TaskQueues::PREFETCH_DISTANCE]];
        __builtin_prefetch(&m_waiting[GetIndex(later.chunk, later.end)]);
    }
    if (move < m_moved.size())
    {
        const TaskProgress& progress = m_progress[m_moved[move]];
        const bool isReduce = TaskList::GetKind(m_moved[move]) == WorkloadKind::REDUCE;
        const bool isAtRoot = progress.end == m_state.GetRoots()[progress.chunk];
        const TaskId next = isReduce && !isAtRoot
                                ? m_tasks.GetReduce(progress.chunk, progress.end)
                                : m_waiting[GetIndex(progress.chunk, progress.end)].firstChild;
        __builtin_prefetch(&m_progress[next == NO_TASK ? 0 : next]);
    }
}

void
TaskRunner::ReleaseIfFinal(ChunkId chunk)
{
    if (m_state.IsFinal(chunk) && !m_isReleased[chunk])
    {
        const NodeId root = m_state.GetRoots()[chunk];
        m_isReleased[chunk] = true;
        m_arrivals.push_back({chunk, root});
        EnqueueChildren(chunk, root);
    }
}

void
TaskRunner::EnqueueChildren(ChunkId chunk, NodeId server)
{
    TaskId next = NO_TASK;
    for (TaskId id = m_waiting[GetIndex(chunk, server)].firstChild; id != NO_TASK; id = next)
    {
        next = m_progress[id].nextChild;
        if (m_progress[id].nDone == 0)
        {
            m_queues.Push(id);
        }
    }
}

void
TaskRunner::ExpectCopy(TaskId id)
{
    TaskProgress& progress = m_progress[id];
    const NodeId server = m_tasks.GetTable().Get(progress.transfer).to;
    progress.nextInList =
        std::exchange(m_waiting[GetIndex(progress.chunk, server)].firstComing, id);
}

void
TaskRunner::SkipTransfersTo(ChunkId chunk, NodeId server)
{
    TaskId id = std::exchange(m_waiting[GetIndex(chunk, server)].firstComing, NO_TASK);
    while (id != NO_TASK)
    {
        const TaskId next = m_progress[id].nextInList;
        SkipTransfers(id);
        id = next;
    }
}

void
TaskRunner::SkipTransfers(TaskId id)
{
    const ChunkId chunk = m_progress[id].chunk;
    const TransferId& transfer = m_progress[id].transfer;
    while (transfer != NO_TRANSFER &&
           m_state.GetFinals().Test(m_tasks.GetTable().Get(transfer).to, chunk))
    {
        Advance(id);
    }
    if (transfer != NO_TRANSFER)
    {
        ExpectCopy(id);
        m_queues.Push(id);
    }
}

void
TaskRunner::Advance(TaskId id)
{
    TaskProgress& progress = m_progress[id];
    m_queues.Advance(id);
    ++progress.nDone;
    progress.transfer = progress.nDone < progress.nTransfers
                            ? m_tasks.GetTransferId(progress.firstTransfer + progress.nDone)
                            : NO_TRANSFER;
}

void
TaskRunner::ApplyReduce(TaskId id)
{
    TaskProgress& progress = m_progress[id];
    const ChunkId chunk = progress.chunk;
    const TransferTable::Transfer& transfer = m_tasks.GetTable().Get(progress.transfer);
    Advance(id);
    Check(id);
    if (progress.transfer != NO_TRANSFER)
    {
        m_queues.Push(id);
    }
    if (m_trees[chunk].isMerging)
    {
        CheckOthersAt(chunk, transfer.from, id);
    }
    if (m_trees[chunk].isMerging && progress.transfer != NO_TRANSFER)
    {
        // It is over when the partial sum that it was merged into leaves the relay.
        TaskId& first = m_waiting[GetIndex(chunk, transfer.to)].firstRelayed;
        progress.nextInList = std::exchange(first, id);
    }
}

void
TaskRunner::CheckOthersAt(ChunkId chunk, NodeId server, TaskId moved)
{
    const TaskId own = m_tasks.GetReduce(chunk, server);
    if (own != moved && m_progress[own].nDone == 0 && m_progress[own].transfer != NO_TRANSFER)
    {
        Check(own);
    }
    TaskId* link = &m_waiting[GetIndex(chunk, server)].firstRelayed;
    while (*link != NO_TASK)
    {
        TaskProgress& progress = m_progress[*link];
        if (*link == moved || progress.transfer == NO_TRANSFER)
        {
            *link = progress.nextInList;
            continue;
        }
        Check(*link);
        link = &progress.nextInList;
    }
}

void
TaskRunner::Check(TaskId id)
{
    m_checks.push_back(m_queues.Rank(id));
    std::push_heap(m_checks.begin(), m_checks.end(), std::greater<>());
}

void
TaskRunner::EndReduces()
{
    TaskId last = NO_TASK;
    while (!m_checks.empty())
    {
        std::pop_heap(m_checks.begin(), m_checks.end(), std::greater<>());
        const TaskId id = m_checks.back().task;
        m_checks.pop_back();
        if (id != last && IsReduceOver(id))
        {
            EndReduce(id);
        }
        last = id;
    }
}

bool
TaskRunner::IsReduceOver(TaskId id) const
{
    const TaskProgress& progress = m_progress[id];
    if (progress.transfer == NO_TRANSFER)
    {
        return progress.nDone == progress.nTransfers;
    }
    // What a relay merged into its own partial sum may have gone on with that; and what passed the
    // root has been collected there.
    const ChunkId chunk = progress.chunk;
    const NodeId here = m_tasks.GetTable().Get(progress.transfer).from;
    const bool waitsForChildren =
        progress.nDone == 0 && m_waiting[GetIndex(chunk, here)].nPending > 0;
    const bool wasTaken =
        m_trees[chunk].isMerging && !waitsForChildren && !m_state.GetPartials().Test(here, chunk);
    return wasTaken || here == m_state.GetRoots()[chunk];
}

void
TaskRunner::EndReduce(TaskId id)
{
    TaskProgress& progress = m_progress[id];
    progress.transfer = NO_TRANSFER;
    m_queues.AddLoad(progress, -1);
    const NodeId parent = progress.end;
    const uint32_t nPending = --m_waiting[GetIndex(progress.chunk, parent)].nPending;
    if (nPending > 0 || !m_trees[progress.chunk].isMerging ||
        parent == m_state.GetRoots()[progress.chunk])
    {
        return;
    }
    const TaskId next = m_tasks.GetReduce(progress.chunk, parent);
    m_queues.Push(next);
    // Tasks end in their order: one that comes before ends in the next round.
    if (m_queues.Rank(id) < m_queues.Rank(next))
    {
        Check(next);
    }
    else
    {
        m_laterChecks.push_back(next);
    }
}

} // namespace ns3::allreduce
