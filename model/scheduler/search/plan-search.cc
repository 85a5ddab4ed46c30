/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-search.h"

#include "delivery-search.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// How often the two searches take turns.
constexpr uint32_t N_TURNS = 4;
/// Plans with more workloads get less effort, in proportion,
constexpr std::size_t MANY_WORKLOADS = 12'000;
/// and these get none.
constexpr std::size_t MOST_WORKLOADS = 200'000;

/// @return whether every server but the root sends all it has in one reduce, for each chunk
bool
IsOfWholeSums(const std::vector<WorkloadList>& rounds, std::size_t nWorkloads)
{
    std::size_t nFound = 0;
    for (const WorkloadList& round : rounds)
    {
        nFound += round.GetSize();
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            if (!round.Get(i).contributors.empty())
            {
                return false;
            }
        }
    }
    return nFound == nWorkloads;
}

} // namespace

uint64_t
GetSearchEffort(std::size_t nWorkloads, uint64_t effort)
{
    return nWorkloads > MOST_WORKLOADS
               ? 0
               : effort * MANY_WORKLOADS / std::max(MANY_WORKLOADS, nWorkloads);
}

std::vector<WorkloadList>
ShortenBySearch(const Topology& topology,
                const std::vector<NodeId>& roots,
                std::vector<WorkloadList> rounds,
                uint32_t enough,
                uint64_t effort,
                uint64_t seed,
                const PlanningProgress& progress)
{
    const std::size_t nWorkloads = 2 * roots.size() * (topology.GetNServers() - 1);
    const uint64_t share = GetSearchEffort(nWorkloads, effort);
    if (share == 0 || rounds.size() <= enough || !IsOfWholeSums(rounds, nWorkloads))
    {
        return rounds;
    }
    PathIndex index(topology);
    AddShortestPaths(topology, index);
    std::vector<DeliveryId> order;
    Timetable plan = MakeTimetable(topology, roots.size(), rounds, index, order);
    const SearchPaths paths(topology, std::move(index));
    const SearchSetting setting{topology, roots, paths, seed};
    const auto ejection = MakeEjectionSearch(setting);
    const auto annealing = MakeAnnealingSearch(setting);
    for (uint32_t turn = 0; turn < N_TURNS && plan.nRounds > enough; ++turn)
    {
        const auto part = progress.GetPart("search", turn, N_TURNS);
        part.Show("", 0);
        ejection->Shorten(plan, enough, share / N_TURNS / 3);
        part.Show("", 1.0 / 3);
        annealing->Shorten(plan, enough, share / N_TURNS * 2 / 3);
    }
    return plan.nRounds < rounds.size() ? MakeRounds(plan, topology.GetNServers(), paths) : rounds;
}

} // namespace ns3::allreduce
