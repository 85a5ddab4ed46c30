/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LIVE_TASKS_H
#define ALLREDUCE_LIVE_TASKS_H

#include "ns3/allreduce-topology.h"
#include "ns3/path-table.h"
#include "ns3/timetable.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Transfers along flow-trees that have not begun, or are under way, and for each port those
 * that could begin, the most urgent ones first.
 *
 * There is one task for each half (UP, DOWN), chunk and server: the server's partial sum goes up to
 * its parent, or the final sum comes down to the server.
 */
class LiveTasks
{
  public:
    /// Names a task.
    using Id = uint32_t;

    /// How far a task has come.
    enum class Status : uint8_t
    {
        NONE,     //!< there is no such task, or it is over
        WAITING,  //!< its data is not there
        READY,    //!< it could begin
        UNDER_WAY //!< it has begun
    };

    /// A task that could begin: its urgency, less is more urgent, and its name.
    using Candidate = std::pair<float, Id>;

    /**
     * @param topology the network, which must outlive this
     * @param paths the paths of tasks, which must outlive this
     * @param nChunks number of chunks
     */
    LiveTasks(const Topology& topology, const PathTable& paths, uint32_t nChunks);

    /// @param half UP or DOWN @param chunk the chunk @param server who sends up, or receives
    /// @return the task's name
    Id GetId(uint32_t half, ChunkId chunk, NodeId server) const
    {
        return (half * m_nChunks + chunk) * m_nServers + server;
    }

    /// @param id a task @return UP or DOWN
    uint32_t GetHalf(Id id) const
    {
        return id / m_nServers / m_nChunks;
    }

    /// @param id a task @return its chunk
    ChunkId GetChunk(Id id) const
    {
        return id / m_nServers % m_nChunks;
    }

    /// @param id a task @return how far it has come
    Status GetStatus(Id id) const
    {
        return m_tasks[id].status;
    }

    /// @param id a task @return its path, from sender to receiver
    PathId GetPath(Id id) const
    {
        return m_tasks[id].path;
    }

    /// @param id a task @return whether it has not begun
    bool IsAhead(Id id) const
    {
        return GetStatus(id) == Status::WAITING || GetStatus(id) == Status::READY;
    }

    /// A task appears, whose data is not there yet. @param id the task @param path its path
    /// @param urgency less is more urgent
    void Add(Id id, PathId path, float urgency);

    /// A task's data is there. @param id a task that waits
    void SetReady(Id id);

    /// A task begins. @param id a task that is ready
    void Begin(Id id);

    /// A task is over, or not needed any more. @param id any task
    void Remove(Id id);

    /// @param port one direction of a link of a server @return tasks over it that could begin
    const std::vector<Candidate>& GetReady(DirectedLinkId port) const
    {
        return m_ready[port];
    }

    /// @return a port that has got more to choose from; none: each has been returned since
    std::optional<DirectedLinkId> TakeWoken();

  private:
    struct Task
    {
        PathId path{NO_PATH};        //!< from sender to receiver
        float urgency{0};            //!< less is more urgent
        Status status{Status::NONE}; //!< how far it has come
    };

    void Dequeue(Id id);

    const PathTable& m_paths;
    const uint32_t m_nServers;
    const uint32_t m_nChunks;
    std::vector<Task> m_tasks;                   //!< by id
    std::vector<std::vector<Candidate>> m_ready; //!< by directed link: sorted
    std::vector<DirectedLinkId> m_woken;         //!< what TakeWoken is to return
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LIVE_TASKS_H */
