/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-experiment.h"

#include "experiment-network.h"
#include "experiment-session.h"
#include "network-surprises.h"
#include "rank-report.h"

#include "ns3/allreduce-error.h"
#include "ns3/chunk-choice.h"
#include "ns3/distributed-run.h"
#include "ns3/network-partition.h"
#include "ns3/round-hash.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iostream>

namespace ns3::allreduce
{

namespace
{

/// @return which rank simulates a node; empty: there is one
std::function<uint32_t(NodeId)>
ShareAmongRanks(const Experiment& experiment, const ExperimentSettings& settings)
{
    if (settings.nRanks == 1)
    {
        return {};
    }
    const Topology& topology = experiment.topology;
    const NetworkPartition partition =
        settings.partition.empty()
            ? PartitionNetwork(topology, experiment.plan.GetSchedule(), settings.nRanks)
            : settings.partition;
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
    if (!IsSameOnAllRanks(experiment.plan.GetHash()) ||
        !IsSameOnAllRanks(CombineHashes({partition.begin(), partition.end()})))
    {
        FailInput(topology.GetName(),
                  " ",
                  experiment.schedulerName,
                  ": ranks have different plans or partitions, expected the same");
    }
    return [partition](NodeId node) { return partition[node]; };
}

/// Experiments on one network: builds, simulates and measures, alone or as one of several ranks.
class ExperimentRun
{
  public:
    ExperimentRun(const std::vector<SharedExperiment>& experiments,
                  const DistributedRun& distributed)
        : m_first(experiments.front().experiment),
          m_settings(experiments.front().settings),
          m_distributed(distributed),
          m_sessions(MakeSessions(experiments)),
          m_network(m_first.topology, m_settings, ShareAmongRanks(m_first, m_settings))
    {
    }

    /// @return what came out, by experiment
    std::vector<ExperimentResult> Execute()
    {
        for (const auto& session : m_sessions)
        {
            Install(*session);
        }
        m_network.AddBackground();
        const Surprises surprises = MakeSurprises();
        ScheduleFaults(m_network.Get(), surprises.faults);
        ScheduleRateChanges(m_network.Get(), ListRates(m_first.topology, surprises));
        Simulate();
        m_sessions.front()->GetResult().nLateFaults =
            CountLateFaults(surprises.faults) + CountLateChanges(surprises.rateChanges);
        std::vector<ExperimentResult> results;
        for (const auto& session : m_sessions)
        {
            Collect(*session, surprises);
            results.push_back(std::move(session->GetResult()));
        }
        return results;
    }

  private:
    using Sessions = std::vector<std::unique_ptr<ExperimentSession>>;

    static Sessions MakeSessions(const std::vector<SharedExperiment>& experiments)
    {
        Sessions sessions;
        for (const auto& [experiment, settings] : experiments)
        {
            CheckSurprises(experiment.topology, settings);
            sessions.push_back(std::make_unique<ExperimentSession>(experiment, settings));
        }
        return sessions;
    }

    void Install(ExperimentSession& part)
    {
        part.Install(m_network.Get());
        const Ptr<AllReduceSession> session = part.GetSession();
        session->TraceConnectWithoutContext("Finished",
                                            Callback<void>([this, &part] { NoteEnd(part); }));
        session->TraceConnectWithoutContext(
            "Failed",
            Callback<void, const std::string&>([this, &part](const std::string& reason) {
                FailAllRanks(reason);
                NoteEnd(part);
            }));
        session->TraceConnectWithoutContext("RoundEnded",
                                            MakeCallback(&ExperimentRun::ShowProgress, this));
    }

    /// The simulation ends with the last session.
    void NoteEnd(ExperimentSession& part)
    {
        part.NoteEnd();
        if (++m_nEnded == m_sessions.size())
        {
            Simulator::Stop();
        }
    }

    /// The other ranks would wait for this one.
    void FailAllRanks(const std::string& reason) const
    {
        if (m_settings.nRanks > 1)
        {
            std::cerr << "rank " << GetRank() << ": " << m_first.topology.GetName() << " "
                      << m_first.schedulerName << " failed: " << reason << std::endl;
            AbortAllRanks();
        }
    }

    /// @return what happens on the network, links that break at random until about the end of the
    /// last session, and bursts for longer
    Surprises MakeSurprises() const
    {
        Time predicted;
        Time latest;
        for (const auto& session : m_sessions)
        {
            predicted = Max(predicted, session->GetPredictedEnd());
            latest = Max(latest, session->GetLatestEnd());
        }
        return DrawSurprises(m_first.topology, m_settings, predicted, latest);
    }

    void Simulate()
    {
        try
        {
            m_network.Simulate();
        }
        catch (const std::exception& error)
        {
            FailAllRanks(error.what());
            throw;
        }
    }

    void ShowProgress(uint32_t, Time)
    {
        if (m_settings.progress)
        {
            double sum = 0;
            for (const auto& session : m_sessions)
            {
                sum += session->GetProgress();
            }
            m_settings.progress(m_sessions.size() == 1 ? m_sessions.front()->DescribeProgress()
                                                       : "simulating",
                                sum / m_sessions.size());
        }
    }

    void Collect(ExperimentSession& part, const Surprises& surprises)
    {
        ExperimentResult& result = part.GetResult();
        part.Collect(surprises);
        m_network.Collect(result);
        if (m_settings.nRanks > 1)
        {
            CollectFromRanks(part);
        }
        m_network.ComputeUse(result);
        if (GetRank() == 0)
        {
            part.CheckBound();
        }
    }

    void CollectFromRanks(ExperimentSession& part)
    {
        ExperimentResult& result = part.GetResult();
        RankReport report;
        report.result = result;
        report.begin = part.GetSession()->GetBegin();
        report.rounds = part.GetSession()->GetRoundTimes();
        report.started = part.GetStarted();
        report.waitSeconds = m_distributed.GetWaitSeconds();
        for (DirectedLinkId link = 0; link < result.links.size(); ++link)
        {
            if (m_network.Get()->IsHere(m_first.topology.GetSource(link)))
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

    const Experiment& m_first;            //!< whose network is simulated
    const ExperimentSettings& m_settings; //!< how it is built, and what goes wrong
    const DistributedRun& m_distributed;  //!< the ranks, if there are several
    const Sessions m_sessions;            //!< by experiment; outlive the network
    ExperimentNetwork m_network;          //!< where they are
    std::size_t m_nEnded{0};              //!< sessions that are over
};

} // namespace

double
GroupShape::GetBusFactor() const
{
    const double n = nServers;
    if (collective == "allreduce")
    {
        return 2 * (n - 1) / n;
    }
    if (collective == "reduce-scatter" || collective == "all-gather")
    {
        return (n - 1) / n;
    }
    return collective == "other" ? 0 : 1;
}

GroupShape
GetShape(const std::vector<Group>& groups)
{
    GroupShape shape;
    shape.collective = ToString(groups.front().kind);
    shape.nGroups = groups.size();
    for (const Group& group : groups)
    {
        shape.nServers = std::max<uint32_t>(shape.nServers, group.servers.size());
    }
    return shape;
}

GroupShape
GetShape(const Collective& collective, const Topology& topology)
{
    return {collective.IsOfAll() ? "allreduce" : "other", 1, topology.GetNServers()};
}

Experiment
PlanExperiment(const Topology& topology,
               const std::string& scheduler,
               uint64_t bytes,
               const ExperimentSettings& settings)
{
    const ChunkChoice choice = ChooseChunks(
        topology,
        [&](uint32_t m) { return Collective(MakeRoots(topology.GetNServers(), m)); },
        [&] { return CreateScheduler(scheduler); },
        *CreateTransport(settings.transport),
        settings.frame,
        bytes,
        {settings.sync == AllReduceSession::BARRIER,
         settings.adapt != AllReduceSession::NO_ADAPTATION});
    Experiment experiment{topology, scheduler, choice.scheduler, choice.plan, bytes};
    experiment.shape.nServers = topology.GetNServers();
    experiment.predictedSeconds = choice.predictedSeconds;
    return experiment;
}

ExperimentResult
RunExperiment(const Experiment& experiment, const ExperimentSettings& settings)
{
    return RunExperiments({{experiment, settings}}).front();
}

std::vector<ExperimentResult>
RunExperiments(const std::vector<SharedExperiment>& experiments)
{
    const DistributedRun distributed(experiments.front().settings.nRanks);
    return ExperimentRun(experiments, distributed).Execute();
}

} // namespace ns3::allreduce
