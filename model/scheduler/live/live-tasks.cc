/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "live-tasks.h"

#include <algorithm>

namespace ns3::allreduce
{

LiveTasks::LiveTasks(const Topology& topology, const PathTable& paths, uint32_t nChunks)
    : m_paths(paths),
      m_nServers(topology.GetNServers()),
      m_nChunks(nChunks),
      m_tasks(std::size_t{2} * nChunks * m_nServers),
      m_ready(topology.GetNDirectedLinks())
{
}

void
LiveTasks::Add(Id id, PathId path, float urgency)
{
    m_tasks[id] = {path, urgency, Status::WAITING};
}

void
LiveTasks::SetReady(Id id)
{
    Task& task = m_tasks[id];
    task.status = Status::READY;
    const auto links = m_paths.GetLinks(task.path);
    const Candidate candidate(task.urgency, id);
    for (const DirectedLinkId port : {links.front(), links.back()})
    {
        auto& queue = m_ready[port];
        const auto place = std::lower_bound(queue.begin(), queue.end(), candidate);
        if (place == queue.end() || *place != candidate) // A direct link is both.
        {
            queue.insert(place, candidate);
            m_woken.push_back(port);
        }
    }
}

void
LiveTasks::Begin(Id id)
{
    Dequeue(id);
    m_tasks[id].status = Status::UNDER_WAY;
}

void
LiveTasks::Remove(Id id)
{
    if (m_tasks[id].status == Status::READY)
    {
        Dequeue(id);
    }
    m_tasks[id].status = Status::NONE;
}

std::optional<DirectedLinkId>
LiveTasks::TakeWoken()
{
    if (m_woken.empty())
    {
        return std::nullopt;
    }
    const DirectedLinkId port = m_woken.back();
    m_woken.pop_back();
    return port;
}

void
LiveTasks::Dequeue(Id id)
{
    const Task& task = m_tasks[id];
    const auto links = m_paths.GetLinks(task.path);
    const Candidate candidate(task.urgency, id);
    for (const DirectedLinkId port : {links.front(), links.back()})
    {
        auto& queue = m_ready[port];
        const auto place = std::lower_bound(queue.begin(), queue.end(), candidate);
        if (place != queue.end() && *place == candidate)
        {
            queue.erase(place);
        }
    }
}

} // namespace ns3::allreduce
