/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RUN_EXPERIMENT_H
#define ALLREDUCE_RUN_EXPERIMENT_H

#include "plan-options.h"
#include "run-options.h"

#include "ns3/allreduce-experiment.h"
#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * Plan what options ask for.
 *
 * @param topology the network, before the rates and delays that the options ask for
 * @param schedulerName who plans
 * @param bytes size of the gradient of each group
 * @param plan how to plan
 * @param run how to run
 * @return what is to be run
 * @throws InputError if an option is not possible
 */
Experiment PlanExperiment(const Topology& topology,
                          const std::string& schedulerName,
                          uint64_t bytes,
                          const PlanOptions& plan,
                          const RunOptions& run);

/**
 * Refuse what is not possible on a network before anything is planned or run, so that one network
 * of several does not fail when others are done.
 *
 * @param topology the network, before the rates and delays that the options ask for
 * @param plan how to plan
 * @param run how to run
 * @throws InputError that names the option
 */
void CheckNetwork(const Topology& topology, const PlanOptions& plan, const RunOptions& run);

/**
 * Run AllReduces packet by packet as options ask for, and say how far they have come.
 *
 * @param experiment what is to be run
 * @param options how
 * @return what came out
 * @throws InputError if an option is not possible
 */
ExperimentResult RunExperiment(const Experiment& experiment, const RunOptions& options);

/**
 * Run what shares a network, with FlowMonitor if the options ask for it, and say how far it has
 * come.
 *
 * @param experiments what is to be run, and how
 * @param options of the network
 * @param task what the line of progress begins with
 * @return what came out, by experiment
 * @throws InputError if that is not possible
 */
std::vector<ExperimentResult> RunExperiments(std::vector<SharedExperiment> experiments,
                                             const RunOptions& options,
                                             const std::string& task);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RUN_EXPERIMENT_H */
