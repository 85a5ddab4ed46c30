/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "groups-apart.h"

#include "round-compaction.h"

#include <algorithm>
#include <map>

namespace ns3::allreduce
{

namespace
{

struct GroupPart
{
    Collective collective;       //!< of this group alone
    std::vector<ChunkId> chunks; //!< by chunk of the group: its number among all
};

/// @return the groups: chunks with the same servers are of the same group
std::vector<GroupPart>
SplitIntoGroups(const Collective& collective)
{
    std::map<std::vector<NodeId>, std::size_t> known;
    std::vector<GroupPart> parts;
    for (ChunkId chunk = 0; chunk < collective.GetNChunks(); ++chunk)
    {
        const auto [group, isNew] = known.emplace(GetMembers(collective, chunk), parts.size());
        if (isNew)
        {
            parts.emplace_back();
            parts.back().collective.sets = collective.sets;
            parts.back().collective.mayRelay = collective.mayRelay;
        }
        GroupPart& part = parts[group->second];
        part.collective.roots.push_back(collective.roots[chunk]);
        part.collective.contributors.push_back(collective.contributors[chunk]);
        part.collective.receivers.push_back(collective.receivers[chunk]);
        part.chunks.push_back(chunk);
    }
    return parts;
}

/// Adds a round of a group to that of all.
void
AddRound(const WorkloadList& round, const std::vector<ChunkId>& chunks, WorkloadList& all)
{
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        Workload workload = round.Get(i);
        workload.chunk = chunks[workload.chunk];
        all.Add(workload);
    }
}

} // namespace

AllReduceSchedule
PlanApart(const Topology& topology,
          const Collective& collective,
          const std::function<Ptr<AllReduceScheduler>()>& makeScheduler,
          const PlanningProgress& progress)
{
    if (collective.IsOfAll())
    {
        return Plan(*makeScheduler(), AllReduceState(topology, collective), progress);
    }
    const std::vector<GroupPart> parts = SplitIntoGroups(collective);
    std::vector<WorkloadList> wishes; // beyond what links carry
    for (std::size_t i = 0; i < parts.size(); ++i)
    {
        const AllReduceSchedule plan = Plan(*makeScheduler(),
                                            AllReduceState(topology, parts[i].collective),
                                            progress.GetPart("group", i, parts.size()));
        wishes.resize(std::max(wishes.size(), plan.rounds.size()));
        for (std::size_t round = 0; round < plan.rounds.size(); ++round)
        {
            AddRound(plan.rounds[round], parts[i].chunks, wishes[round]);
        }
    }
    return {collective, Compact(AllReduceState(topology, collective), wishes)};
}

} // namespace ns3::allreduce
