/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "staggered-plan.h"

#include "broadcast-environment.h"

#include "ns3/rest-planner.h"

#include <array>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Rules to try. The first selects all trees at once: nothing overlaps.
constexpr std::array<Stagger, 7> RULES{{
    {1, 0},
    {0.12F, 0.75F},
    {0.12F, 0.9F},
    {0.25F, 0.75F},
    {0.25F, 0.9F},
    {0.4F, 0.75F},
    {0.25F, 1.2F},
}};

} // namespace

std::vector<WorkloadList>
PlanStaggered(const AllReduceState& state,
              const PolicyWeights& weights,
              const RolloutOptions& options,
              EpisodeRecord* record)
{
    const auto planReduce = [&](const BroadcastProblem& problem) {
        BroadcastEnvironment environment(problem, {}, true);
        return RunRollout(environment, weights, options, record);
    };
    const auto planBroadcast = [&](const BroadcastProblem& problem, const BroadcastLimits& limits) {
        BroadcastEnvironment environment(problem, limits);
        return RunRollout(environment, weights, options);
    };
    std::vector<WorkloadList> plan = PlanOverlapping(state, planReduce, planBroadcast);
    if (record)
    {
        // What the rounds of the reduce earned says nothing about the whole.
        record->rewards.clear();
        record->rows[static_cast<std::size_t>(PolicyHead::VALUE)].clear();
        record->nRounds = plan.size();
    }
    return plan;
}

EpisodeRecord
FindBestStagger(const AllReduceState& state, const PolicyWeights& weights, uint64_t seed)
{
    EpisodeRecord best;
    for (const Stagger& rule : RULES)
    {
        RolloutOptions options;
        options.seed = seed;
        options.stagger = rule;
        EpisodeRecord record;
        PlanStaggered(state, weights, options, &record);
        if (best.nRounds == 0 || record.nRounds < best.nRounds)
        {
            best = std::move(record);
        }
    }
    return best;
}

} // namespace ns3::allreduce
