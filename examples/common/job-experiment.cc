/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-experiment.h"

#include "progress-line.h"
#include "run-network.h"
#include "session-run.h"

#include "ns3/simulator.h"

#include <algorithm>
#include <memory>

namespace ns3::allreduce
{

namespace
{

/// One job of a simulation.
struct JobRun
{
    /// @param job the job @param runOptions how it is run
    JobRun(const PlannedJob& job, RunOptions runOptions)
        : planned(job),
          options(std::move(runOptions)),
          run(job.experiment, options)
    {
    }

    const PlannedJob& planned; //!< what is run
    RunOptions options;        //!< how
    SessionRun run;            //!< runs it
    Time end{Time::Max()};     //!< when it was over
};

/// Jobs that share a network.
class JobSimulation
{
  public:
    JobSimulation(const std::vector<const PlannedJob*>& jobs, const RunOptions& options)
        : m_options(options),
          m_line(DescribeTask(jobs), options.showProgress),
          m_runs(MakeRuns(jobs, options)),
          m_network(jobs.front()->experiment.topology, options)
    {
    }

    /// @return by job: what came out of it beside the others
    std::vector<JobResult> Execute()
    {
        for (const auto& job : m_runs)
        {
            Install(*job);
        }
        m_network.AddBackground();
        const auto faults =
            m_options.faults.MakeFaults(m_network.Get()->GetTopology(), FindHorizon());
        ScheduleFaults(m_network.Get(), faults);
        ExperimentResult shared;
        m_network.Simulate(shared);
        shared.nLateFaults = CountLateFaults(faults);
        m_network.CollectLinks(shared);
        std::vector<JobResult> results;
        for (const auto& job : m_runs)
        {
            results.push_back(Collect(*job, shared));
            shared.nLateFaults = 0; // They are told once.
        }
        return results;
    }

  private:
    static std::string DescribeTask(const std::vector<const PlannedJob*>& jobs)
    {
        return jobs.front()->experiment.topology.GetName() + " " +
               (jobs.size() == 1 ? jobs.front()->options.name + " alone"
                                 : std::to_string(jobs.size()) + " jobs");
    }

    /// @return the jobs, with what the network's options say of all
    static std::vector<std::unique_ptr<JobRun>> MakeRuns(const std::vector<const PlannedJob*>& jobs,
                                                         const RunOptions& options)
    {
        std::vector<std::unique_ptr<JobRun>> runs;
        for (const PlannedJob* job : jobs)
        {
            RunOptions own = options;
            own.iterations = job->options.run.iterations;
            own.computeTime = job->options.run.computeTime;
            runs.push_back(std::make_unique<JobRun>(*job, std::move(own)));
        }
        return runs;
    }

    void Install(JobRun& job)
    {
        ForJob(job.planned.options.name,
               [&] { job.run.Install(m_network.Get(), job.planned.options.start); });
        const auto session = job.run.GetSession();
        session->TraceConnectWithoutContext("Finished",
                                            Callback<void>([this, &job] { NoteEnd(job); }));
        session->TraceConnectWithoutContext(
            "Failed",
            Callback<void, const std::string&>([this, &job](const auto&) { NoteEnd(job); }));
        session->TraceConnectWithoutContext(
            "RoundEnded",
            Callback<void, uint32_t, Time>([this](uint32_t, Time) { ShowProgress(); }));
    }

    /// The simulation ends with the last job.
    void NoteEnd(JobRun& job)
    {
        job.end = Simulator::Now();
        const auto isOver = [](const auto& other) { return other->end < Time::Max(); };
        if (std::all_of(m_runs.begin(), m_runs.end(), isOver))
        {
            Simulator::Stop();
        }
    }

    void ShowProgress()
    {
        double sum = 0;
        for (const auto& job : m_runs)
        {
            sum += job->run.GetProgress();
        }
        m_line.Show("simulating", sum / m_runs.size());
    }

    /// @return about when the jobs will be over
    Time FindHorizon() const
    {
        Time horizon;
        for (const auto& job : m_runs)
        {
            const Time predicted = Seconds(job->run.GetResult().predictedSeconds);
            horizon = Max(horizon, job->planned.options.start + predicted);
        }
        return horizon;
    }

    /// @return what came out @param shared what is the same for all jobs
    JobResult Collect(JobRun& job, const ExperimentResult& shared)
    {
        job.run.Collect();
        ExperimentResult& result = job.run.GetResult();
        result.wallSeconds = shared.wallSeconds;
        result.nEvents = shared.nEvents;
        result.nLateFaults = shared.nLateFaults;
        result.links = shared.links;
        result.nDropped = shared.nDropped;
        m_network.ComputeUse(result);
        job.run.CheckBound();
        JobResult collected;
        collected.endSeconds = Min(job.end, Simulator::Now()).GetSeconds();
        collected.together = std::move(result);
        return collected;
    }

    const RunOptions& m_options;                 //!< how the network is built
    ProgressLine m_line;                         //!< says how far it has come
    std::vector<std::unique_ptr<JobRun>> m_runs; //!< the jobs; outlive the network
    RunNetwork m_network;                        //!< what they share
};

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
    std::vector<ExperimentResult> alone;
    std::vector<const PlannedJob*> all;
    for (const PlannedJob& job : jobs)
    {
        alone.push_back(JobSimulation({&job}, aloneOptions).Execute().front().together);
        all.push_back(&job);
    }
    std::vector<JobResult> results = JobSimulation(all, options).Execute();
    for (std::size_t i = 0; i < jobs.size(); ++i)
    {
        results[i].alone = std::move(alone[i]);
    }
    return results;
}

} // namespace ns3::allreduce
