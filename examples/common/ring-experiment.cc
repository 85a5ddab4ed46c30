/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-experiment.h"

#include "progress-line.h"
#include "ring-network.h"
#include "run-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-helper.h"
#include "ns3/cluster-simulation.h"
#include "ns3/enum.h"
#include "ns3/queue-watch.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/topology-helper.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cmath>
#include <optional>
#include <stdexcept>

namespace ns3::allreduce
{

namespace
{

/// @return by directed link, how often the rings cross it
std::vector<uint32_t>
CountCrossings(const Topology& topology, const std::vector<RingEmbedding>& rings)
{
    std::vector<uint32_t> crossings(topology.GetNDirectedLinks(), 0);
    for (const RingEmbedding& ring : rings)
    {
        for (const DirectedLinkId link : GetLinks(topology, ring))
        {
            ++crossings[link];
        }
    }
    return crossings;
}

/// @return the most of some numbers over the links of a ring
uint32_t
FindMost(const Topology& topology, const RingEmbedding& ring, const std::vector<uint32_t>& counts)
{
    uint32_t most = 0;
    for (const DirectedLinkId link : GetLinks(topology, ring))
    {
        most = std::max(most, counts[link]);
    }
    return most;
}

/// A network and rings that run on it.
class RingSimulation
{
  public:
    RingSimulation(const GpuCluster& cluster, const RingRunOptions& options)
        : m_options(options),
          m_topology(cluster.topology)
    {
        m_topology.SetDeviceAttribute("Mtu", UintegerValue(options.frame));
        m_topology.SetLight(true);
        m_network = m_topology.Install();
        m_topology.AssignStreams(0);
        m_queues.emplace(*m_network);
    }

    ~RingSimulation()
    {
        Simulator::Destroy();
    }

    void Add(const RingMeasurement& measurement)
    {
        const RingEmbedding& ring = measurement.ring;
        const bool isReserved = m_options.share == "reserved";
        const RingNetwork part =
            MakeRingNetwork(*m_network, ring, isReserved ? measurement.bandwidthBps : 0);
        const auto session = CreateObject<AllReduceSession>();
        session->SetAttribute("Bytes", UintegerValue(GetSessionBytes(measurement)));
        session->SetAttribute("Sync", EnumValue(AllReduceSession::DEPENDENCY));
        session->SetAttribute("Iterations", UintegerValue(m_options.iterations));
        session->SetAttribute(
            "ComputeTime",
            TimeValue(Seconds(measurement.analyticalIteration - measurement.analyticalTransfer)));
        session->Setup(part.network,
                       CreateScheduler("greedy"),
                       CreateTransport(m_options.transport),
                       part.schedule.collective);
        session->SetPlan(VerifiedPlan(part.network->GetTopology(), part.schedule, "ring"));
        for (NodeId server = 0; server < ring.servers.size(); ++server)
        {
            const auto application = CreateObject<AllReduceApplication>();
            application->SetSession(session, server);
            part.network->GetNode(server)->AddApplication(application);
        }
        m_sessions.push_back(session);
    }

    /// @return how long the AllReduces of each ring took on average
    std::vector<double> Run()
    {
        Simulator::Run();
        std::vector<double> seconds;
        for (const auto& session : m_sessions)
        {
            if (!session->IsFinished())
            {
                throw std::runtime_error("a ring did not finish: " + session->GetFailure());
            }
            Time sum;
            for (const Time& duration : session->GetDurations())
            {
                sum += duration;
            }
            seconds.push_back(sum.GetSeconds() / session->GetDurations().size());
        }
        return seconds;
    }

    /// @return the queues of the network
    const QueueWatch& GetQueues() const
    {
        return *m_queues;
    }

  private:
    /// A ring of s servers moves 2 (s-1)/s of its bytes over a hop, one of w workers 2 (w-1)/w.
    static uint64_t GetSessionBytes(const RingMeasurement& measurement)
    {
        const double w = measurement.ring.GetNWorkers();
        const double s = measurement.ring.servers.size();
        return std::max(1.0, std::round(measurement.gradientBytes * (w - 1) / w * s / (s - 1)));
    }

    const RingRunOptions& m_options;               //!< how
    TopologyHelper m_topology;                     //!< builds the network
    Ptr<AllReduceNetwork> m_network;               //!< the network
    std::optional<QueueWatch> m_queues;            //!< its queues
    std::vector<Ptr<AllReduceSession>> m_sessions; //!< one for each ring
};

/// @return how long the AllReduces of each ring take on average, if all run at once
std::vector<double>
RunTogether(const GpuCluster& cluster,
            std::vector<RingMeasurement>& measurements,
            const RingRunOptions& options)
{
    RingSimulation simulation(cluster, options);
    for (const RingMeasurement& measurement : measurements)
    {
        simulation.Add(measurement);
    }
    const std::vector<double> seconds = simulation.Run();
    for (RingMeasurement& measurement : measurements)
    {
        measurement.queuePeak = simulation.GetQueues().GetLargestPeak();
        measurement.nDropped = simulation.GetQueues().GetNDropped();
    }
    return seconds;
}

/// Fills in what the analytical model says, with time scaled as the gradient is.
RingMeasurement
MakeMeasurement(const GpuCluster& cluster,
                const Job& job,
                const RingEmbedding& ring,
                double bandwidthBps,
                uint64_t mostBytes)
{
    RingMeasurement measurement;
    measurement.ring = ring;
    measurement.bandwidthBps = bandwidthBps;
    measurement.gradientBytes = std::min(job.gradientBytes, mostBytes);
    const double scale = double(measurement.gradientBytes) / job.gradientBytes;
    const IterationTime time =
        GetIterationTime(job, ring.GetNWorkers(), bandwidthBps, cluster.reduceBytesPerSecond);
    measurement.analyticalTransfer = scale * time.transfer;
    measurement.analyticalIteration = scale * time.GetTotal();
    return measurement;
}

} // namespace

void
RingRunOptions::AddTo(ProgramOptions& options)
{
    options.Add("transport",
                transport,
                "of --run-slot: " + boost::algorithm::join(GetTransportNames(), ", ") +
                    ", or a TypeId name");
    options.Add("share",
                share,
                "of --run-slot: reserved (flows keep to what is reserved) or best-effort");
    options.Add("most-bytes", mostBytes, "of --run-slot: larger gradients are scaled down to this");
    options.Add("frame", frame, "of --run-slot: MTU of the devices");
    options.Add("iterations", iterations, "of --run-slot: AllReduces of every ring");
}

void
RingRunOptions::Check() const
{
    CreateTransport(transport);
    ParseSize(mostBytes, "--most-bytes");
    if (share != "reserved" && share != "best-effort")
    {
        FailInput("--share ", Quote(share), ": expected reserved or best-effort");
    }
    if (frame < 576 || frame > 65535)
    {
        FailInput("--frame \"", frame, "\": expected 576 to 65535");
    }
    if (iterations == 0)
    {
        FailInput("--iterations \"0\": expected 1 or more");
    }
}

std::vector<RingMeasurement>
MeasureRings(const GpuCluster& cluster,
             const std::vector<Job>& jobs,
             const std::vector<RingEmbedding>& rings,
             const RingRunOptions& options)
{
    options.Check();
    const uint64_t mostBytes = ParseSize(options.mostBytes, "--most-bytes");
    const auto bandwidths = FindRingBandwidths(cluster, jobs, rings);
    const auto crossings = CountCrossings(cluster.topology, rings);
    std::vector<RingMeasurement> measurements;
    for (std::size_t i = 0; i < rings.size(); ++i)
    {
        if (rings[i].servers.size() > 1)
        {
            const Job& job = jobs[rings[i].job];
            measurements.push_back(
                MakeMeasurement(cluster, job, rings[i], bandwidths[i], mostBytes));
            measurements.back().nRingsOnLink = FindMost(cluster.topology, rings[i], crossings);
        }
    }
    ProgressLine line(cluster.topology.GetName());
    line.Show("all rings together", 0);
    const std::vector<double> together = RunTogether(cluster, measurements, options);
    for (std::size_t i = 0; i < measurements.size(); ++i)
    {
        RingMeasurement& measurement = measurements[i];
        line.Show("ring by ring", (1.0 + i) / (1 + measurements.size()));
        const double rest = measurement.analyticalIteration - measurement.analyticalTransfer;
        std::vector<RingMeasurement> alone{measurement};
        measurement.aloneTransfer = RunTogether(cluster, alone, options).front();
        measurement.aloneIteration = measurement.aloneTransfer + rest;
        measurement.togetherTransfer = together[i];
        measurement.togetherIteration = together[i] + rest;
    }
    return measurements;
}

} // namespace ns3::allreduce
