/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-schedule.h"

#include <algorithm>

namespace ns3::allreduce
{

uint64_t
AllReduceSchedule::CountWorkloads() const
{
    uint64_t count = 0;
    for (const WorkloadList& round : rounds)
    {
        count += round.GetSize();
    }
    return count;
}

std::vector<WorkloadList>
Mirror(const std::vector<WorkloadList>& rounds)
{
    std::vector<WorkloadList> mirrored;
    mirrored.reserve(rounds.size());
    Path path;
    for (auto round = rounds.rbegin(); round != rounds.rend(); ++round)
    {
        WorkloadList list;
        list.Reserve(*round);
        for (std::size_t i = 0; i < round->GetSize(); ++i)
        {
            const Workload workload = round->Get(i);
            path.assign(workload.path.begin(), workload.path.end());
            std::reverse(path.begin(), path.end());
            list.Add(workload.chunk,
                     workload.kind == WorkloadKind::REDUCE ? WorkloadKind::BROADCAST
                                                           : WorkloadKind::REDUCE,
                     path);
        }
        mirrored.push_back(std::move(list));
    }
    return mirrored;
}

std::vector<LinkLoad>
ComputeLinkLoads(const Topology& topology, const AllReduceSchedule& schedule)
{
    std::vector<LinkLoad> loads(topology.GetNDirectedLinks());
    for (DirectedLinkId link = 0; link < loads.size(); ++link)
    {
        loads[link].link = link;
    }
    for (const WorkloadList& round : schedule.rounds)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            ForEachLink(topology, round.Get(i).path, [&](DirectedLinkId link) {
                ++loads[link].nWorkloads;
            });
        }
    }
    for (LinkLoad& load : loads)
    {
        const double most =
            static_cast<double>(topology.GetCapacity(load.link)) * schedule.rounds.size();
        load.utilization = most > 0 ? load.nWorkloads / most : 0;
    }
    std::stable_sort(loads.begin(), loads.end(), [](const LinkLoad& x, const LinkLoad& y) {
        return x.utilization > y.utilization;
    });
    return loads;
}

} // namespace ns3::allreduce
