/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-rollout.h"
#include "policy-trainer.h"
#include "training-problems.h"

#include "ns3/parallel-for.h"

#include <numeric>
#include <vector>

namespace ns3::allreduce
{

double
Validate(const PolicyWeights& weights, const TrainingConfig& config, const TrainingGroup& group)
{
    std::vector<double> ratios(CountValidationProblems(config), 0);
    const auto validate = [&](uint32_t i) {
        if (!group.IsOwn(i))
        {
            return;
        }
        const TrainingProblem owned = MakeValidationProblem(config, i);
        PlanningEnvironment environment(owned.problem);
        RolloutOptions options;
        options.seed = i;
        options.mostRounds = GetMostTrainingRounds(owned.problem);
        Episode episode;
        RunRollout(environment, weights, options, {}, &episode);
        ratios[i] = static_cast<double>(episode.nRounds) / episode.nRoundsNeeded;
    };
    RunParallel(ratios.size(), validate, group.GetNThreads());
    group.Gather(ratios, ratios.size());
    return std::accumulate(ratios.begin(), ratios.end(), 0.0) / ratios.size();
}

} // namespace ns3::allreduce
