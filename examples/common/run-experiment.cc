/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-experiment.h"

#include "progress-line.h"
#include "rank-report.h"
#include "run-network.h"
#include "session-run.h"

#include "ns3/allreduce-error.h"
#include "ns3/chunk-choice.h"
#include "ns3/distributed-run.h"
#include "ns3/input-file.h"
#include "ns3/network-partition.h"
#include "ns3/round-hash.h"
#include "ns3/simulator.h"

#include <fstream>
#include <iostream>

namespace ns3::allreduce
{

namespace
{

/// One run: builds, simulates and measures, alone or as one of several ranks.
class Run
{
  public:
    Run(const Experiment& experiment, const RunOptions& options, const DistributedRun& distributed)
        : m_experiment(experiment),
          m_options(options),
          m_distributed(distributed),
          m_line(experiment.topology.GetName() + " " + experiment.schedulerName,
                 options.showProgress),
          m_run(experiment, options),
          m_network(experiment.topology, options, ShareAmongRanks())
    {
    }

    ExperimentResult Execute()
    {
        m_run.Install(m_network.Get());
        const Ptr<AllReduceSession> session = m_run.GetSession();
        session->TraceConnectWithoutContext("Finished", MakeCallback(&Run::Stop, this));
        session->TraceConnectWithoutContext("Failed", MakeCallback(&Run::StopFailed, this));
        session->TraceConnectWithoutContext("RoundEnded", MakeCallback(&Run::ShowRound, this));
        m_network.AddBackground();
        const Time predicted = Seconds(m_run.GetResult().predictedSeconds);
        const auto faults = m_options.faults.MakeFaults(m_experiment.topology, predicted);
        ScheduleFaults(m_network.Get(), faults);
        Simulate();
        m_run.GetResult().nLateFaults = CountLateFaults(faults);
        Collect();
        return m_run.GetResult();
    }

  private:
    /// @return which rank simulates a node; empty: there is one
    std::function<uint32_t(NodeId)> ShareAmongRanks() const
    {
        if (m_options.nRanks == 1)
        {
            return {};
        }
        const NetworkPartition partition = ChoosePartition();
        const Topology& topology = m_experiment.topology;
        for (const Link& link : topology.GetLinks())
        {
            if (link.errorRate > 0 && UsesNullMessages())
            {
                FailInput("null messages: link ",
                          link.a,
                          "-",
                          link.b,
                          " loses packets, and who misses the end would wait for ever; expected "
                          "ns3::DistributedSimulatorImpl");
            }
        }
        const uint64_t plan = m_experiment.plan.GetHash();
        if (!IsSameOnAllRanks(plan) ||
            !IsSameOnAllRanks(CombineHashes({partition.begin(), partition.end()})))
        {
            FailInput(topology.GetName(),
                      " ",
                      m_experiment.schedulerName,
                      ": ranks have different plans or partitions, expected the same");
        }
        return [partition](NodeId node) { return partition[node]; };
    }

    NetworkPartition ChoosePartition() const
    {
        const Topology& topology = m_experiment.topology;
        if (m_options.partition.empty())
        {
            return PartitionNetwork(topology, m_experiment.plan.GetSchedule(), m_options.nRanks);
        }
        InputFile file(m_options.partition, "--partition: file");
        return ReadPartition(file,
                             "--partition: file " + NamePath(m_options.partition),
                             topology,
                             m_options.nRanks);
    }

    void Stop()
    {
        Simulator::Stop();
    }

    void StopFailed(const std::string& reason)
    {
        if (m_options.nRanks > 1)
        {
            FailAllRanks(reason);
        }
        Simulator::Stop();
    }

    /// The other ranks would wait for this one.
    [[noreturn]] void FailAllRanks(const std::string& reason) const
    {
        std::cerr << "rank " << GetRank() << ": " << m_experiment.topology.GetName() << " "
                  << m_experiment.schedulerName << " failed: " << reason << std::endl;
        AbortAllRanks();
    }

    void Simulate()
    {
        try
        {
            m_network.Simulate(m_run.GetResult());
        }
        catch (const std::exception& error)
        {
            if (m_options.nRanks > 1)
            {
                FailAllRanks(error.what());
            }
            throw;
        }
    }

    void ShowRound(uint32_t, Time)
    {
        m_line.Show(m_run.DescribeProgress(), m_run.GetProgress());
    }

    void Collect()
    {
        m_run.Collect();
        m_network.CollectLinks(m_run.GetResult());
        if (m_options.nRanks > 1)
        {
            CollectFromRanks();
        }
        m_network.ComputeUse(m_run.GetResult());
        if (GetRank() == 0)
        {
            m_run.CheckBound();
        }
    }

    void CollectFromRanks()
    {
        ExperimentResult& result = m_run.GetResult();
        RankReport report;
        report.result = result;
        report.begin = m_run.GetSession()->GetBegin();
        report.rounds = m_run.GetSession()->GetRoundTimes();
        report.started = m_run.GetStarted();
        report.waitSeconds = m_distributed.GetWaitSeconds();
        for (DirectedLinkId link = 0; link < result.links.size(); ++link)
        {
            if (m_network.Get()->IsHere(m_experiment.topology.GetSource(link)))
            {
                report.links.push_back(link);
            }
        }
        const auto texts = GatherAtFirstRank(WriteRankReport(report));
        result.unfinishedFlows.clear(); // All have arrived, at one rank or another.
        if (GetRank() == 0)
        {
            MergeRankReports(texts, result);
        }
    }

    const Experiment& m_experiment;      //!< what is to be run
    const RunOptions& m_options;         //!< how
    const DistributedRun& m_distributed; //!< the ranks, if there are several
    ProgressLine m_line;                 //!< says how far it has come
    SessionRun m_run;                    //!< the AllReduces; outlives the network
    RunNetwork m_network;                //!< where they are
};

} // namespace

std::string
RunMark::Describe() const
{
    if (kind == REPLANNED)
    {
        return planner + (round > 1 ? " planned what was left" : " planned anew");
    }
    return "link " + std::to_string(a) + "-" + std::to_string(b) +
           (kind == LINK_BROKE ? " broke" : " was mended");
}

void
CheckNetwork(const Topology& topology, const PlanOptions& plan, const RunOptions& run)
{
    run.CheckFor(topology);
    MakeCollective(topology, plan);
}

Experiment
PlanExperiment(const Topology& topology,
               const std::string& schedulerName,
               uint64_t bytes,
               const PlanOptions& plan,
               const RunOptions& run)
{
    const Topology announced = run.MakeAnnounced(topology);
    std::optional<ProgressLine> line; // one for each plan, as nobody knows how many there will be
    const auto makeScheduler = [&] {
        line.emplace("planning " + announced.GetName() + " " + schedulerName, run.showProgress);
        return MakeScheduler(schedulerName, plan);
    };
    const PlanningProgress progress(
        [&](const std::string& what, double share) { line->Show(what, share); });
    const GroupShape shape = GetShape(plan.groups.MakeGroups(announced));
    const auto makeExperiment = [&](Ptr<AllReduceScheduler> scheduler, VerifiedPlan made) {
        Experiment experiment{run.MakeActual(topology), schedulerName, scheduler, made, bytes};
        experiment.shape = shape;
        if (!run.faults.slow.empty())
        {
            experiment.announced = announced;
        }
        return experiment;
    };
    if (ChoosesByBytes(announced, plan))
    {
        const auto makeCollective = [&](uint32_t m) { return plan.groups.Make(announced, m); };
        const ChunkChoice choice = ChooseChunks(announced,
                                                makeCollective,
                                                makeScheduler,
                                                *CreateTransport(run.transport),
                                                run.frame,
                                                bytes * shape.nGroups,
                                                run.GetSync() == AllReduceSession::BARRIER,
                                                progress);
        Experiment experiment = makeExperiment(choice.scheduler, choice.plan);
        experiment.predictedSeconds = choice.predictedSeconds;
        return experiment;
    }
    const Ptr<AllReduceScheduler> scheduler = makeScheduler();
    return makeExperiment(
        scheduler,
        PlanVerified(announced, MakeCollective(announced, plan), *scheduler, progress));
}

ExperimentResult
RunExperiment(const Experiment& experiment, const RunOptions& options)
{
    options.Check();
    const DistributedRun distributed(options.nRanks);
    return Run(experiment, options, distributed).Execute();
}

} // namespace ns3::allreduce
