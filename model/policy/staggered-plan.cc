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

/// Rules to try.
constexpr std::array<Stagger, 8> RULES{{
    {0.06F, 0.7F},
    {0.12F, 0.75F},
    {0.12F, 0.9F},
    {0.25F, 0.75F},
    {0.25F, 1.2F},
    {1, 0, 0.4F},
    {1, 0, 0.5F},
    {1, 0, 0.65F},
}};

/// How much more or less eager to begin trees the upper policy is made to be.
constexpr std::array<float, 5> SHIFTS{{0, -0.5F, 0.5F, -1.5F, 1.5F}};

/// Keeps the record of the shortest plan; of equal ones the first.
class BestRecord
{
  public:
    BestRecord(const AllReduceState& state, const PolicyWeights& weights)
        : m_state(state),
          m_weights(weights)
    {
    }

    void Try(RolloutOptions options)
    {
        EpisodeRecord record;
        options.recordsTrees = true;
        PlanStaggered(m_state, m_weights, options, &record);
        if (m_best.nRounds == 0 || record.nRounds < m_best.nRounds)
        {
            m_best = std::move(record);
        }
    }

    EpisodeRecord Take()
    {
        return std::move(m_best);
    }

  private:
    const AllReduceState& m_state;  //!< where plans begin
    const PolicyWeights& m_weights; //!< of the policies
    EpisodeRecord m_best;           //!< the best so far
};

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
    BestRecord best(state, weights);
    RolloutOptions options;
    options.seed = seed;
    for (const float shift : SHIFTS)
    {
        options.treeShift = shift;
        best.Try(options);
    }
    for (const Stagger& rule : RULES)
    {
        options.stagger = rule;
        best.Try(options);
    }
    return best.Take();
}

} // namespace ns3::allreduce
