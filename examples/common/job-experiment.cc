/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-experiment.h"

#include "ns3/allreduce-experiment.h"

namespace ns3::allreduce
{

namespace
{

/// @return a job with what the network's options say of all
SharedExperiment
MakeShared(const PlannedJob& job, RunOptions options)
{
    options.iterations = job.options.run.iterations;
    options.computeTime = job.options.run.computeTime;
    ExperimentSettings settings = options.MakeSettings(job.experiment.topology);
    settings.start = job.options.start;
    return {job.experiment, settings};
}

/// @return the options with nobody else on the network, and nothing kept but times
RunOptions
MakeAlone(const RunOptions& options)
{
    RunOptions alone = options;
    alone.faults = {};
    alone.fullStack = !options.IsLight();
    alone.flowMonitor.clear();
    alone.prepare = nullptr;
    alone.recordsFlows = false;
    return alone;
}

} // namespace

std::optional<double>
JobResult::GetSlowdown() const
{
    if (!together.failure.empty() || !alone.failure.empty())
    {
        return std::nullopt;
    }
    return together.measuredSeconds / alone.measuredSeconds;
}

void
CheckJobs(const Topology& topology, const std::vector<JobOptions>& jobs)
{
    jobs.front().run.CheckFor(topology); // It is the same for all.
    for (const JobOptions& job : jobs)
    {
        ForJob(job.name, [&] { MakeCollective(topology, job.plan); });
    }
}

std::vector<PlannedJob>
PlanJobs(const Topology& topology, const std::vector<JobOptions>& jobs)
{
    std::vector<PlannedJob> planned;
    for (const JobOptions& job : jobs)
    {
        const auto plan = [&] {
            return PlanExperiment(topology,
                                  job.plan.schedulers.front(),
                                  job.bytes,
                                  job.plan,
                                  job.run);
        };
        planned.push_back({job, ForJob(job.name, plan)});
    }
    return planned;
}

std::vector<JobResult>
RunJobs(const std::vector<PlannedJob>& jobs, const RunOptions& options)
{
    options.Check();
    const RunOptions aloneOptions = MakeAlone(options);
    const std::string network = jobs.front().experiment.topology.GetName();
    std::vector<JobResult> results(jobs.size());
    std::vector<SharedExperiment> all;
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        const std::string& name = jobs[i].options.name;
        results[i].alone = ForJob(name, [&] {
                               return RunExperiments({MakeShared(jobs[i], aloneOptions)},
                                                     aloneOptions,
                                                     network + " " + name + " alone");
                           }).front();
        all.push_back(MakeShared(jobs[i], options));
    }
    const std::string task = network + " " + std::to_string(jobs.size()) + " jobs";
    std::vector<ExperimentResult> together = RunExperiments(std::move(all), options, task);
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        results[i].together = std::move(together[i]);
    }
    return results;
}

} // namespace ns3::allreduce
