/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "timetable.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

Timetable
MakeTimetable(const Topology& topology,
              std::size_t nChunks,
              const std::vector<WorkloadList>& rounds,
              PathIndex& paths,
              std::vector<DeliveryId>& order)
{
    const uint32_t nServers = topology.GetNServers();
    Timetable timetable;
    timetable.nRounds = rounds.size();
    timetable.paths.fill(std::vector<PathId>(nChunks * nServers, NO_PATH));
    timetable.rounds.fill(std::vector<uint32_t>(nChunks * nServers, 0));
    for (uint32_t round = 0; round < rounds.size(); ++round)
    {
        for (std::size_t i = 0; i < rounds[round].GetSize(); ++i)
        {
            const Workload workload = rounds[round].Get(i);
            const uint32_t half = workload.kind == WorkloadKind::REDUCE ? UP : DOWN;
            Path nodes(workload.path.begin(), workload.path.end());
            if (half == UP)
            {
                std::reverse(nodes.begin(), nodes.end());
            }
            const uint32_t index = workload.chunk * nServers + nodes.back();
            timetable.paths[half][index] = paths.FindOrAdd(FindLinks(topology, nodes));
            timetable.rounds[half][index] = round;
            order.push_back(2 * index + half);
        }
    }
    return timetable;
}

std::vector<WorkloadList>
MakeRounds(const Timetable& timetable, uint32_t nServers, const PathTable& paths)
{
    std::vector<WorkloadList> rounds(timetable.nRounds);
    Path nodes;
    for (uint32_t index = 0; index < timetable.paths[UP].size(); ++index)
    {
        for (const uint32_t half : {UP, DOWN})
        {
            const PathId path = timetable.paths[half][index];
            if (path != NO_PATH)
            {
                paths.GetNodes(half == UP ? Reverse(path) : path, nodes);
                rounds[timetable.rounds[half][index]].Add(index / nServers,
                                                          half == UP ? WorkloadKind::REDUCE
                                                                     : WorkloadKind::BROADCAST,
                                                          nodes);
            }
        }
    }
    for (WorkloadList& round : rounds)
    {
        round.ShrinkToFit();
    }
    return rounds;
}

void
Mirror(Timetable& timetable)
{
    std::swap(timetable.paths[UP], timetable.paths[DOWN]);
    std::swap(timetable.rounds[UP], timetable.rounds[DOWN]);
    for (std::vector<uint32_t>& rounds : timetable.rounds)
    {
        for (uint32_t& round : rounds)
        {
            round = timetable.nRounds - 1 - round;
        }
    }
}

} // namespace ns3::allreduce
