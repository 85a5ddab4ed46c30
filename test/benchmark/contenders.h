/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CONTENDERS_H
#define ALLREDUCE_CONTENDERS_H

#include "ns3/allreduce-state.h"
#include "ns3/policy-rollout.h"

#include <functional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// Someone who plans.
struct Contender
{
    std::string name;                                                     //!< in tables
    std::function<std::vector<WorkloadList>(const AllReduceState&)> plan; //!< on any thread
};

/**
 * @param name of a scheduler, as CreateScheduler takes it
 * @return the scheduler
 */
Contender MakeScheduled(const std::string& name);

/**
 * @param checkpoint the file with the weights
 * @return the scheduler hrl as users get it, with one plan
 */
Contender MakeHrl(const std::string& checkpoint);

/**
 * @param name in tables
 * @param weights of the policies
 * @param options how to choose
 * @return rollouts from as many middles as hrl tries
 */
Contender MakeRollouts(const std::string& name,
                       const PolicyWeights& weights,
                       const RolloutOptions& options);

/**
 * @param checkpoint the file with the weights
 * @return the policies asked in every round, with parts of them replaced: the upper one by all
 * trees at once or by a fixed rule, both by chance
 */
std::vector<Contender> MakeOnline(const std::string& checkpoint);

/**
 * @param checkpoint the file with the weights
 * @return the policies with parts of them replaced: the upper one by all trees at once or by a
 * fixed rule, both by untrained ones or by chance
 */
std::vector<Contender> MakeControls(const std::string& checkpoint);

/// @return all schedulers of the module but hrl
std::vector<Contender> MakeOthers();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CONTENDERS_H */
