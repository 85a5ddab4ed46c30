/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-compaction.h"

#include "link-slots.h"
#include "timetable.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

std::vector<WorkloadList>
DropEmptyReduces(const AllReduceState& state, const std::vector<WorkloadList>& rounds)
{
    BitMatrix partials = state.GetPartials();
    std::vector<WorkloadList> kept;
    for (const WorkloadList& round : rounds)
    {
        WorkloadList list;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            if (workload.kind == WorkloadKind::BROADCAST ||
                partials.Test(workload.GetSource(), workload.chunk))
            {
                list.Add(workload);
            }
        }
        const auto forEachReduce = [&list](auto call) {
            for (std::size_t i = 0; i < list.GetSize(); ++i)
            {
                if (list.Get(i).kind == WorkloadKind::REDUCE)
                {
                    call(list.Get(i));
                }
            }
        };
        forEachReduce([&](const Workload& w) { partials.Clear(w.GetSource(), w.chunk); });
        forEachReduce([&](const Workload& w) { partials.Set(w.GetTarget(), w.chunk); });
        if (!list.IsEmpty())
        {
            kept.push_back(std::move(list));
        }
    }
    return kept;
}

std::vector<WorkloadList>
Compact(const AllReduceState& state, const std::vector<WorkloadList>& rounds)
{
    const Topology& topology = state.GetTopology();
    const auto getIndex = [&](NodeId server, ChunkId chunk) {
        return std::size_t{server} * state.GetNChunks() + chunk;
    };
    // [server][chunk]: from which round on it can send all contributions, and the final sum
    std::vector<uint32_t> partialFrom(getIndex(topology.GetNServers(), 0), 0);
    std::vector<uint32_t> finalFrom(partialFrom.size());
    for (std::size_t i = 0; i < finalFrom.size(); ++i)
    {
        const bool isFinal = state.GetFinals().Test(i / state.GetNChunks(), i % state.GetNChunks());
        finalFrom[i] = isFinal ? 0 : NEVER;
    }
    LinkSlots slots(state.GetCapacities());
    std::vector<WorkloadList> compacted;
    const auto add = [&](const Workload& workload) {
        const bool isReduce = workload.kind == WorkloadKind::REDUCE;
        const std::size_t source = getIndex(workload.GetSource(), workload.chunk);
        const std::size_t target = getIndex(workload.GetTarget(), workload.chunk);
        if (!isReduce && finalFrom[source] == NEVER &&
            workload.GetSource() == state.GetRoots()[workload.chunk])
        {
            finalFrom[source] = partialFrom[source]; // the last contribution has been planned
        }
        const std::vector<DirectedLinkId> path = FindLinks(topology, workload.path);
        const PathTable::Links links(path.data(), path.data() + path.size());
        const uint32_t round =
            slots.FindRound(links, isReduce ? partialFrom[source] : finalFrom[source]);
        slots.Take(links, round);
        compacted.resize(std::max<std::size_t>(compacted.size(), round + 1));
        compacted[round].Add(workload);
        uint32_t& from = isReduce ? partialFrom[target] : finalFrom[target];
        from = isReduce ? std::max(from, round + 1) : round + 1;
    };
    for (const WorkloadList& round : rounds)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            add(round.Get(i));
        }
    }
    return compacted;
}

} // namespace ns3::allreduce
