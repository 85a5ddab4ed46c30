/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "task-queues.h"

#include <algorithm>
#include <functional>

namespace ns3::allreduce
{

TaskQueues::TaskQueues(const TaskList& tasks, const HugePageVector<TaskProgress>& progress)
    : m_tasks(tasks),
      m_progress(progress)
{
}

void
TaskQueues::Begin(bool isBusiestFirst)
{
    m_isBusiestFirst = isBusiestFirst;
    m_queues.assign(m_tasks.GetTable().GetSize(), {});
    m_changed.clear();
    m_isChanged.assign(m_queues.size(), false);
    m_fronts.clear();
    m_underWay.clear();
    m_load.assign(isBusiestFirst ? m_tasks.GetTable().GetNDirectedLinks() : 0, 0);
    m_transferRanks.assign(isBusiestFirst ? m_queues.size() : 0, 0);
    m_ownRanks.assign(isBusiestFirst ? m_tasks.GetSize() : 0, 0);
}

void
TaskQueues::BeginRound()
{
    if (m_isBusiestFirst)
    {
        RankByLoad();
        TidyQueues();
    }
    UpdateFronts();
}

void
TaskQueues::RankByLoad()
{
    struct Ranked
    {
        uint32_t load;  //!< what its ports have left to carry
        uint32_t* rank; //!< of the round before
    };

    std::vector<Ranked> all;
    const auto add = [&](TransferTable::Id transfer, uint32_t& rank) {
        const PathTable::Links links = m_tasks.GetTable().GetUsualLinks(transfer);
        all.push_back({m_load[links.front()] + m_load[links.back()], &rank});
    };
    for (TransferTable::Id transfer = 0; transfer < m_transferRanks.size(); ++transfer)
    {
        add(transfer, m_transferRanks[transfer]);
    }
    const auto hasEnded = [this](TaskId task) {
        return m_progress[task].transfer == TransferTable::NO_TRANSFER;
    };
    m_underWay.erase(std::remove_if(m_underWay.begin(), m_underWay.end(), hasEnded),
                     m_underWay.end());
    for (const TaskId task : m_underWay)
    {
        add(m_progress[task].transfer, m_ownRanks[task]);
    }
    const auto isBefore = [](const Ranked& x, const Ranked& y) {
        return x.load != y.load ? x.load > y.load : *x.rank < *y.rank;
    };
    std::sort(all.begin(), all.end(), isBefore);
    std::vector<uint32_t> ranks(all.size(), 0);
    for (std::size_t i = 1; i < all.size(); ++i)
    {
        ranks[i] = ranks[i - 1] + isBefore(all[i - 1], all[i]);
    }
    for (std::size_t i = 0; i < all.size(); ++i)
    {
        *all[i].rank = ranks[i];
    }
}

void
TaskQueues::TidyQueues()
{
    for (TransferTable::Id transfer = 0; transfer < m_queues.size(); ++transfer)
    {
        std::vector<Entry>& queue = m_queues[transfer];
        const auto isElsewhere = [&](const Entry& x) {
            return m_progress[x.task].transfer != transfer;
        };
        queue.erase(std::remove_if(queue.begin(), queue.end(), isElsewhere), queue.end());
        std::make_heap(queue.begin(), queue.end(), [this](const Entry& x, const Entry& y) {
            return IsAfter(x, y);
        });
        MarkChanged(transfer);
    }
}

void
TaskQueues::UpdateFronts()
{
    const auto isChanged = [this](const Front& front) { return m_isChanged[front.transfer]; };
    m_fronts.erase(std::remove_if(m_fronts.begin(), m_fronts.end(), isChanged), m_fronts.end());
    const std::size_t nUnchanged = m_fronts.size();
    for (const TransferTable::Id transfer : m_changed)
    {
        m_isChanged[transfer] = false;
        if (!m_queues[transfer].empty())
        {
            m_fronts.push_back(MakeFront(transfer));
        }
    }
    m_changed.clear();
    const auto firstNew = m_fronts.begin() + nUnchanged;
    std::sort(firstNew, m_fronts.end());
    std::inplace_merge(m_fronts.begin(), firstNew, m_fronts.end());
    m_nextFront = m_fronts.cbegin();
}

bool
TaskQueues::TakeNext(TransferTable::Id& transfer)
{
    const auto end = m_fronts.cend();
    if (m_nextFront != end && (m_newFronts.empty() || *m_nextFront < m_newFronts.front()))
    {
        if (end - m_nextFront > PREFETCH_DISTANCE)
        {
            __builtin_prefetch(&m_progress[m_nextFront[PREFETCH_DISTANCE].task]);
        }
        transfer = m_nextFront++->transfer;
        return true;
    }
    if (m_newFronts.empty())
    {
        return false;
    }
    std::pop_heap(m_newFronts.begin(), m_newFronts.end(), std::greater<>());
    transfer = m_newFronts.back().transfer;
    m_newFronts.pop_back();
    return true;
}

void
TaskQueues::PutBack(TransferTable::Id transfer)
{
    if (!m_queues[transfer].empty())
    {
        m_newFronts.push_back(MakeFront(transfer));
        std::push_heap(m_newFronts.begin(), m_newFronts.end(), std::greater<>());
    }
}

TaskQueues::Front
TaskQueues::MakeFront(TransferTable::Id transfer) const
{
    const Entry& first = m_queues[transfer].front();
    return {{GetRank(first.task), first.priority, first.task}, transfer};
}

void
TaskQueues::Push(TaskId task)
{
    const TaskProgress& progress = m_progress[task];
    std::vector<Entry>& queue = m_queues[progress.transfer];
    queue.push_back({progress.priority, task});
    std::push_heap(queue.begin(), queue.end(), [this](const Entry& x, const Entry& y) {
        return IsAfter(x, y);
    });
    if (queue.front().task == task)
    {
        MarkChanged(progress.transfer);
    }
}

void
TaskQueues::Pop(TransferTable::Id transfer)
{
    std::vector<Entry>& queue = m_queues[transfer];
    std::pop_heap(queue.begin(), queue.end(), [this](const Entry& x, const Entry& y) {
        return IsAfter(x, y);
    });
    queue.pop_back();
    MarkChanged(transfer);
}

void
TaskQueues::MarkChanged(TransferTable::Id transfer)
{
    if (!m_isChanged[transfer])
    {
        m_isChanged[transfer] = true;
        m_changed.push_back(transfer);
    }
}

void
TaskQueues::Advance(TaskId task)
{
    const TaskProgress& progress = m_progress[task];
    if (m_isBusiestFirst)
    {
        AddLoad(progress.transfer, -1);
        if (progress.nDone == 0)
        {
            m_ownRanks[task] = m_transferRanks[progress.transfer];
            m_underWay.push_back(task);
        }
    }
}

void
TaskQueues::AddLoad(const TaskProgress& progress, int32_t difference)
{
    for (uint32_t i = progress.nDone; m_isBusiestFirst && i < progress.nTransfers; ++i)
    {
        AddLoad(m_tasks.GetTransferId(progress.firstTransfer + i), difference);
    }
}

void
TaskQueues::AddLoad(TransferTable::Id transfer, int32_t difference)
{
    const PathTable::Links links = m_tasks.GetTable().GetUsualLinks(transfer);
    m_load[links.front()] += difference;
    m_load[links.back()] += difference;
}

} // namespace ns3::allreduce
