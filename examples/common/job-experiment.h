/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_EXPERIMENT_H
#define ALLREDUCE_JOB_EXPERIMENT_H

#include "job-options.h"
#include "run-experiment.h"

#include "ns3/allreduce-topology.h"

#include <optional>
#include <vector>

namespace ns3::allreduce
{

/// A job with its plan.
struct PlannedJob
{
    JobOptions options;    //!< what was asked for
    Experiment experiment; //!< what is to be run
};

/// What came out of a job.
struct JobResult
{
    ExperimentResult together; //!< beside the other jobs
    ExperimentResult alone;    //!< by itself on an empty network

    /// @return how much longer an AllReduce took in the mean than alone; none if one failed
    std::optional<double> GetSlowdown() const;
};

/**
 * Refuse what is not possible on a network before anything is planned or run.
 *
 * @param topology the network, before the rates and delays that the options ask for
 * @param jobs what was asked for
 * @throws InputError that names the option, and the job if it is one of a job
 */
void CheckJobs(const Topology& topology, const std::vector<JobOptions>& jobs);

/**
 * Plan jobs, each by itself.
 *
 * @param topology the network, before the rates and delays that the options ask for
 * @param jobs what was asked for
 * @return the jobs with their plans, in the same order
 * @throws InputError that names the job
 */
std::vector<PlannedJob> PlanJobs(const Topology& topology, const std::vector<JobOptions>& jobs);

/**
 * Run jobs on one network packet by packet, and before that each by itself. Alone, a job starts at
 * the same time on the same network with the same slow links, but no link breaks and there is no
 * background traffic. Uses and destroys the simulator.
 *
 * @param jobs jobs on one network, one or more
 * @param options how the network is built, and what goes wrong
 * @return what came out, by job
 * @throws InputError if an option is not possible
 */
std::vector<JobResult> RunJobs(const std::vector<PlannedJob>& jobs, const RunOptions& options);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_EXPERIMENT_H */
