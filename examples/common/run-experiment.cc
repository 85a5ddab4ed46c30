/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "run-experiment.h"

#include "progress-line.h"
#include "rank-report.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-error.h"
#include "ns3/allreduce-helper.h"
#include "ns3/allreduce-units.h"
#include "ns3/background-traffic.h"
#include "ns3/boolean.h"
#include "ns3/chakra-iteration.h"
#include "ns3/chunk-choice.h"
#include "ns3/datagram-transport.h"
#include "ns3/distributed-run.h"
#include "ns3/double.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/enum.h"
#include "ns3/flow-monitor-helper.h"
#include "ns3/ideal-time.h"
#include "ns3/input-file.h"
#include "ns3/light-link-device.h"
#include "ns3/network-partition.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/pointer.h"
#include "ns3/round-hash.h"
#include "ns3/schedule-verifier.h"
#include "ns3/simulator.h"
#include "ns3/time-prediction.h"
#include "ns3/topology-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iostream>
#include <map>

namespace ns3::allreduce
{

namespace
{

/// One run: builds, watches and measures.
class Run
{
  public:
    Run(const Experiment& experiment, const RunOptions& options, const DistributedRun& distributed)
        : m_experiment(experiment),
          m_options(options),
          m_distributed(distributed),
          m_line(experiment.topology.GetName() + " " + experiment.schedulerName,
                 options.showProgress),
          m_builder(experiment.topology)
    {
    }

    ~Run()
    {
        m_watcher.reset();
        Simulator::Destroy();
    }

    ExperimentResult Execute()
    {
        BuildNetwork();
        WatchQueues();
        InstallSession();
        RecordFlows();
        InstallBackground();
        Predict();
        CheckDuration();
        const auto faults =
            m_options.faults.MakeFaults(m_experiment.topology, Seconds(m_result.predictedSeconds));
        ScheduleFaults(m_network, faults);
        Simulate();
        m_result.nLateFaults = std::count_if(faults.begin(), faults.end(), [](const auto& fault) {
            return fault.down > Simulator::Now();
        });
        Collect();
        return m_result;
    }

  private:
    void BuildNetwork()
    {
        m_builder.SetDeviceAttribute("Mtu", UintegerValue(m_options.frame));
        m_builder.SetQueue("ns3::DropTailQueue<Packet>",
                           "MaxSize",
                           QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, m_options.queue)));
        m_builder.SetLight(m_options.IsLight());
        // What is the same in several processes must not hang on the order of events.
        m_builder.SetArrivalOrder(m_options.GetControl() == AllReduceSession::PACKETS &&
                                  !m_options.isAnimated);
        if (m_options.nRanks > 1)
        {
            ShareAmongRanks();
        }
        m_network = m_builder.Install();
        if (m_options.prepare)
        {
            m_watcher = m_options.prepare(*m_network);
        }
        m_nStreams = m_builder.AssignStreams(0);
        m_helper.emplace(m_network);
        m_helper->SetCollective(m_experiment.plan.collective);
    }

    void ShareAmongRanks()
    {
        const Topology& topology = m_experiment.topology;
        NetworkPartition partition;
        if (m_options.partition.empty())
        {
            partition = PartitionNetwork(topology, m_experiment.plan, m_options.nRanks);
        }
        else
        {
            std::ifstream file = OpenInput(m_options.partition, "--partition: file");
            partition = ReadPartition(file,
                                      "--partition: file " + NamePath(m_options.partition),
                                      topology,
                                      m_options.nRanks);
        }
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
        const uint64_t plan = HashRounds(MakeRoundRange(m_experiment.plan.rounds));
        if (!IsSameOnAllRanks(plan) ||
            !IsSameOnAllRanks(CombineHashes({partition.begin(), partition.end()})))
        {
            FailInput(topology.GetName(),
                      " ",
                      m_experiment.schedulerName,
                      ": ranks have different plans or partitions, expected the same");
        }
        m_builder.SetSystemId([partition](NodeId node) { return partition[node]; });
    }

    void WatchQueues()
    {
        m_result.links.resize(m_experiment.topology.GetNDirectedLinks());
        for (DirectedLinkId link = 0; link < m_result.links.size(); ++link)
        {
            m_result.links[link].link = link;
            if (!GetLightDevice(link))
            {
                GetQueue(link)->TraceConnectWithoutContext(
                    "PacketsInQueue",
                    MakeBoundCallback(&Run::NoteQueueLength, &m_result.links[link]));
            }
        }
        for (NodeId node = 0; node < m_experiment.topology.GetNNodes(); ++node)
        {
            WatchNode(m_network->GetNode(node));
        }
    }

    /// Where a device's queue is full, ns-3 drops packets before they come to it.
    void WatchNode(Ptr<Node> node)
    {
        if (const auto layer = node->GetObject<TrafficControlLayer>())
        {
            layer->TraceConnectWithoutContext(
                "TcDrop",
                MakeBoundCallback(&Run::NoteDropped, &m_result.nDropped));
        }
    }

    static void NoteDropped(uint64_t* nDropped, Ptr<const Packet>)
    {
        ++*nDropped;
    }

    static void NoteQueueLength(LinkUse* use, uint32_t, uint32_t length)
    {
        use->queuePeak = std::max(use->queuePeak, length);
    }

    /// @return the device if it is a light one, which remembers how long its queue was
    Ptr<LightLinkDevice> GetLightDevice(DirectedLinkId link) const
    {
        return DynamicCast<LightLinkDevice>(m_network->GetDevice(link));
    }

    Ptr<Queue<Packet>> GetQueue(DirectedLinkId link) const
    {
        PointerValue queue;
        m_network->GetDevice(link)->GetAttribute("TxQueue", queue);
        return queue.Get<Queue<Packet>>();
    }

    void InstallSession()
    {
        m_helper->SetAttribute("Bytes", UintegerValue(GetTotalBytes(m_experiment.bytes)));
        m_helper->SetAttribute("Sync", EnumValue(m_options.GetSync()));
        m_helper->SetAttribute("Control", EnumValue(m_options.GetControl()));
        m_helper->SetAttribute("Iterations", UintegerValue(m_options.iterations));
        m_helper->SetAttribute("ComputeTime",
                               TimeValue(NanoSeconds(ParseTime(m_options.computeTime))));
        m_helper->SetAttribute("Watchdog", TimeValue(NanoSeconds(ParseTime(m_options.watchdog))));
        m_helper->SetAttribute("VerifyData", BooleanValue(m_options.verifyData));
        m_session = m_helper->Install(m_experiment.scheduler, CreateTransport(m_options.transport));
        m_session->ExpectPlan(HashRounds(MakeRoundRange(m_experiment.plan.rounds)));
        InstallTraining();
        m_session->TraceConnectWithoutContext("Finished", MakeCallback(&Run::Stop, this));
        m_session->TraceConnectWithoutContext("Failed", MakeCallback(&Run::StopFailed, this));
        m_session->TraceConnectWithoutContext("RoundEnded", MakeCallback(&Run::ShowRound, this));
    }

    /// @return the bytes of all groups @param bytes of each
    uint64_t GetTotalBytes(uint64_t bytes) const
    {
        return bytes * m_experiment.shape.nGroups;
    }

    void InstallTraining()
    {
        if (m_experiment.training)
        {
            m_iteration.emplace(*m_experiment.training);
            std::vector<uint64_t> sizes;
            for (const ChakraCollective& collective : m_experiment.training->front().collectives)
            {
                sizes.push_back(collective.bytes);
            }
            m_session->SetSequence(sizes, [this](uint32_t index) { return FindWait(index); });
            m_session->TraceConnectWithoutContext("Done", MakeCallback(&Run::NoteDone, this));
        }
    }

    /// @return how long it is until an AllReduce of the training iteration begins
    Time FindWait(uint32_t index)
    {
        if (index == 0)
        {
            m_trainingBegin = Simulator::Now();
        }
        const Time ready = NanoSeconds(m_iteration->FindReady(index));
        m_result.collectives[index].ready = ready.GetSeconds();
        return Max(Time(0), m_trainingBegin + ready - Simulator::Now());
    }

    void NoteDone(Time duration)
    {
        const uint32_t index = m_session->GetDurations().size() - 1;
        const Time now = Simulator::Now() - m_trainingBegin;
        m_iteration->NoteEnd(index, now.GetNanoSeconds());
        m_result.collectives[index].begin = (now - duration).GetSeconds();
        m_result.collectives[index].end = now.GetSeconds();
        m_nCollectivesDone = index + 1;
        if (m_nCollectivesDone == m_result.collectives.size())
        {
            m_result.iterationSeconds = 1e-9 * m_iteration->FindEnd();
        }
    }

    void RecordFlows()
    {
        if (!m_options.recordsFlows)
        {
            return;
        }
        const ApplicationContainer applications = m_helper->GetApplications();
        for (uint32_t i = 0; i < applications.GetN(); ++i)
        {
            const Ptr<Application> application = applications.Get(i);
            application->TraceConnectWithoutContext("FlowStarted",
                                                    MakeCallback(&Run::NoteStarted, this));
            application->TraceConnectWithoutContext("FlowFinished",
                                                    MakeCallback(&Run::NoteFlow, this));
            application->TraceConnectWithoutContext("FlowAborted",
                                                    MakeCallback(&Run::NoteAborted, this));
        }
        m_session->TraceConnectWithoutContext("RoundStarted",
                                              MakeCallback(&Run::NoteRoundStarted, this));
        m_session->TraceConnectWithoutContext("RoundEnded", MakeCallback(&Run::NoteRound, this));
        m_session->TraceConnectWithoutContext("HandedOut", MakeCallback(&Run::NoteHandedOut, this));
        m_session->TraceConnectWithoutContext("Replanned", MakeCallback(&Run::NoteReplanned, this));
        m_network->TraceConnectWithoutContext("LinkChanged",
                                              MakeCallback(&Run::NoteLinkChanged, this));
    }

    static std::pair<uint32_t, uint32_t> GetPlace(const AllReduceFlow& flow)
    {
        return {flow.round, flow.position};
    }

    void NoteStarted(const AllReduceFlow& flow)
    {
        m_started.push_back(flow);
        m_underWay[GetPlace(flow)] = flow;
    }

    void NoteFlow(const AllReduceFlow& flow)
    {
        m_underWay.erase(GetPlace(flow));
        m_result.flows.push_back(flow);
    }

    void NoteAborted(const AllReduceFlow& flow)
    {
        m_underWay.erase(GetPlace(flow));
        m_result.abortedFlows.push_back(flow);
    }

    uint32_t GetNAllReduces() const
    {
        return m_experiment.training ? m_experiment.training->front().collectives.size()
                                     : m_options.iterations;
    }

    uint32_t GetIteration() const
    {
        return m_session->GetDurations().size();
    }

    void NoteHandedOut(uint32_t first, const std::vector<WorkloadList>& rounds)
    {
        m_result.handedOut.resize(GetIteration() + 1);
        auto& handedOut = m_result.handedOut.back();
        handedOut.resize(first);
        handedOut.insert(handedOut.end(), rounds.begin(), rounds.end());
    }

    void NoteRoundStarted(uint32_t round)
    {
        const bool isNext = m_result.handedOut.size() > m_nAllReducesBegun;
        m_nAllReducesBegun = m_result.handedOut.size();
        m_nRoundsBegun = std::max(isNext ? 0 : m_nRoundsBegun, round + 1);
    }

    RunMark MakeMark(RunMark::Kind kind) const
    {
        RunMark mark{};
        mark.kind = kind;
        mark.time = Simulator::Now();
        mark.iteration = GetIteration();
        mark.round = m_nAllReducesBegun > mark.iteration ? m_nRoundsBegun : 0;
        return mark;
    }

    void NoteReplanned(uint32_t first, const std::string& planner)
    {
        RunMark mark = MakeMark(RunMark::REPLANNED);
        mark.round = first + 1;
        mark.planner = planner;
        m_result.marks.push_back(std::move(mark));
    }

    void NoteLinkChanged(LinkId link, bool isUp)
    {
        RunMark mark = MakeMark(isUp ? RunMark::LINK_MENDED : RunMark::LINK_BROKE);
        mark.a = m_experiment.topology.GetLink(link).a;
        mark.b = m_experiment.topology.GetLink(link).b;
        m_result.marks.push_back(std::move(mark));
    }

    void NoteRound(uint32_t round, Time duration)
    {
        m_result.roundSpans.push_back({round, Simulator::Now() - duration, duration});
    }

    void InstallBackground()
    {
        const double load = m_options.faults.GetBackground();
        if (load == 0)
        {
            return;
        }
        const auto loads = BackgroundTraffic::ComputeLinkLoads(*m_network);
        for (NodeId server = 0; server < m_experiment.topology.GetNServers(); ++server)
        {
            const auto traffic = CreateObject<BackgroundTraffic>();
            traffic->SetLinkLoads(loads);
            traffic->SetAttribute("Load", DoubleValue(load));
            traffic->SetNetwork(m_network, server);
            m_nStreams += traffic->AssignRandomStreams(m_nStreams);
            m_network->GetServer(server)->AddApplication(traffic);
        }
    }

    void Predict()
    {
        const auto& plan = m_experiment.plan;
        m_result.boundRounds =
            ComputeLowerBounds(m_experiment.topology, plan.collective).GetBest().rounds;
        if (m_experiment.training)
        {
            PredictTraining();
            return;
        }
        const CollectiveSpan span = PredictSize(m_experiment.bytes);
        m_result.idealSeconds = span.ideal;
        m_result.predictedSeconds = span.predicted;
    }

    void PredictTraining()
    {
        std::map<uint64_t, CollectiveSpan> spans;
        const auto& collectives = m_experiment.training->front().collectives;
        for (const ChakraCollective& collective : collectives)
        {
            const auto [entry, isNew] = spans.try_emplace(collective.bytes);
            if (isNew)
            {
                entry->second = PredictSize(collective.bytes);
            }
            m_result.idealSeconds += entry->second.ideal / collectives.size();
            m_result.predictedSeconds += entry->second.predicted / collectives.size();
            m_result.collectives.push_back(entry->second);
        }
    }

    CollectiveSpan PredictSize(uint64_t bytes) const
    {
        const Topology& topology = m_network->GetTopology();
        const AllReduceSchedule& plan = m_experiment.plan;
        CollectiveSpan span;
        const uint64_t total = GetTotalBytes(bytes);
        span.ideal = ComputeIdealTime(topology, plan.collective, total).seconds;
        span.predicted = PredictSeconds(topology,
                                        *m_session->GetTransport(),
                                        m_options.frame,
                                        plan,
                                        total,
                                        m_options.GetSync() == AllReduceSession::BARRIER);
        return span;
    }

    /// ns-3's clock holds 292 years; faults and retries need some of them.
    void CheckDuration() const
    {
        constexpr double MOST_SECONDS = 1e8;
        const double seconds = m_result.predictedSeconds * GetNAllReduces();
        if (!(seconds <= MOST_SECONDS))
        {
            FailInput(m_experiment.topology.GetName(),
                      " ",
                      m_experiment.schedulerName,
                      ": would take ",
                      seconds,
                      " s of simulated time, expected at most ",
                      MOST_SECONDS);
        }
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

    void RunSimulator() const
    {
        try
        {
            Simulator::Run();
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

    void ShowRound(uint32_t round, Time duration)
    {
        // What is planned anew on the way can be longer; the share then waits for it.
        const double nPlanned = m_experiment.plan.rounds.size();
        const double share = std::min(1.0, (round + 1) / nPlanned);
        m_line.Show("round " + std::to_string(round + 1) + " of " +
                        std::to_string(m_experiment.plan.rounds.size()),
                    (GetIteration() + share) / GetNAllReduces());
    }

    void Simulate()
    {
        FlowMonitorHelper flowMonitor;
        std::ofstream flowMonitorFile;
        if (!m_options.flowMonitor.empty())
        {
            flowMonitorFile.open(m_options.flowMonitor);
            CheckFile(flowMonitorFile);
            flowMonitor.InstallAll();
        }
        const auto begin = std::chrono::steady_clock::now();
        RunSimulator();
        m_result.wallSeconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
        m_result.nEvents = Simulator::GetEventCount();
        if (!m_options.flowMonitor.empty())
        {
            flowMonitor.SerializeToXmlStream(flowMonitorFile, 0, false, false);
            CheckFile(flowMonitorFile.flush());
        }
    }

    void CheckFile(const std::ostream& file) const
    {
        if (!file)
        {
            FailInput("--flow-monitor: file ",
                      NamePath(m_options.flowMonitor),
                      " cannot be written");
        }
    }

    void Collect()
    {
        m_result.endSeconds = Simulator::Now().GetSeconds();
        m_result.failure = m_session->GetFailure();
        if (m_result.failure.empty() && !m_session->IsFinished())
        {
            m_result.failure = "the simulation ended before the AllReduce did";
        }
        Time sum;
        for (const Time& duration : m_session->GetDurations())
        {
            sum += duration;
        }
        m_result.measuredSeconds =
            sum.GetSeconds() / std::max<std::size_t>(1, m_session->GetDurations().size());
        for (const Time& duration : m_session->GetRoundDurations())
        {
            m_result.roundSeconds.push_back(duration.GetSeconds());
        }
        m_result.rounds = m_result.roundSeconds.size();
        m_result.collectives.resize(m_nCollectivesDone);
        m_result.isVerified = m_session->IsVerified();
        m_result.nReplans = m_session->GetNReplans();
        for (const std::string& name : m_session->GetReplanners())
        {
            m_result.replannedBy += (m_result.replannedBy.empty() ? "" : ",") + name;
        }
        m_result.nAborted = m_session->GetNAborted();
        m_result.nMessages = m_session->GetNMessages();
        if (const auto datagrams = DynamicCast<DatagramTransport>(m_session->GetTransport()))
        {
            m_result.countsResent = true;
            m_result.nResent = datagrams->GetNResent();
        }
        for (auto& [place, flow] : m_underWay)
        {
            flow.duration = Simulator::Now() - flow.begin;
            m_result.unfinishedFlows.push_back(flow);
        }
        CollectLinks();
        if (m_options.nRanks > 1)
        {
            CollectFromRanks();
        }
        ComputeUse();
        CheckBound();
    }

    void CollectFromRanks()
    {
        RankReport report;
        report.result = m_result;
        report.begin = m_session->GetBegin();
        report.rounds = m_session->GetRoundTimes();
        report.started = m_started;
        report.waitSeconds = m_distributed.GetWaitSeconds();
        for (DirectedLinkId link = 0; link < m_result.links.size(); ++link)
        {
            if (m_network->IsHere(m_experiment.topology.GetSource(link)))
            {
                report.links.push_back(link);
            }
        }
        const auto texts = GatherAtFirstRank(WriteRankReport(report));
        m_result.unfinishedFlows.clear(); // All have arrived, at one rank or another.
        if (GetRank() == 0)
        {
            MergeRankReports(texts, m_result);
        }
    }

    void CollectLinks()
    {
        for (LinkUse& use : m_result.links)
        {
            const auto queue = GetQueue(use.link);
            use.bytes = queue->GetTotalReceivedBytes();
            use.nDropped = queue->GetTotalDroppedPackets();
            if (const auto device = GetLightDevice(use.link))
            {
                use.queuePeak = device->GetQueuePeak();
            }
            m_result.nDropped += use.nDropped;
        }
    }

    void ComputeUse()
    {
        const double seconds = m_result.endSeconds;
        for (LinkUse& use : m_result.links)
        {
            const double rate = m_network->GetRate(use.link);
            use.utilization = seconds > 0 ? 8.0 * use.bytes / (rate * seconds) : 0;
        }
    }

    /// What is faster than any schedule can be is an error somewhere.
    void CheckBound()
    {
        const double least = m_result.idealSeconds * (1 - GetClockGain());
        if (GetRank() == 0 && m_result.failure.empty() && m_result.measuredSeconds < least)
        {
            m_result.failure = "measured " + std::to_string(m_result.measuredSeconds) +
                               " s, less than the bound of " + std::to_string(least) + " s";
        }
    }

    /// The clock has ticks, to which the time of a frame on a link is rounded. Where a frame's
    /// headers take less than half a tick, data can be faster than the rate of the link.
    /// @return the share of time that this can save
    double GetClockGain() const
    {
        const FrameFormat format = m_session->GetTransport()->GetFrameFormat(1, m_options.frame);
        double gain = 0;
        for (const Link& link : m_network->GetTopology().GetLinks())
        {
            const double saved =
                TimeStep(1).GetSeconds() / 2 - 8.0 * format.overhead / link.rateBps;
            gain = std::max(gain, saved * link.rateBps / (8.0 * format.payload));
        }
        return gain;
    }

    const Experiment& m_experiment;             //!< what is to be run
    const RunOptions& m_options;                //!< how
    const DistributedRun& m_distributed;        //!< the ranks, if there are several
    ProgressLine m_line;                        //!< says how far it has come
    TopologyHelper m_builder;                   //!< builds the network
    Ptr<AllReduceNetwork> m_network;            //!< the network
    std::shared_ptr<void> m_watcher;            //!< what RunOptions::prepare returned
    std::optional<AllReduceHelper> m_helper;    //!< installs the session
    Ptr<AllReduceSession> m_session;            //!< the AllReduces
    std::optional<ChakraIteration> m_iteration; //!< what is computed between them
    Time m_trainingBegin;                       //!< when that began
    uint32_t m_nCollectivesDone{0};             //!< AllReduces of it that are over
    int64_t m_nStreams{0};                      //!< random streams in use
    ExperimentResult m_result;                  //!< what comes out
    std::vector<AllReduceFlow> m_started; //!< flows that have begun, if they are to be recorded
    uint32_t m_nAllReducesBegun{0};       //!< AllReduces of which a round has begun
    uint32_t m_nRoundsBegun{0};           //!< rounds of the last of them that have begun
    /// by round and position: the flows that are under way, if flows are to be recorded
    std::map<std::pair<uint32_t, uint32_t>, AllReduceFlow> m_underWay;
};

void
CheckPlan(const Topology& topology, const std::string& name, const AllReduceSchedule& plan)
{
    const Verdict verdict = Verify(topology, plan);
    if (!verdict.isCorrect)
    {
        FailInput(topology.GetName(), " ", name, " is not correct: ", verdict.reason);
    }
}

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

AllReduceSchedule
PlanVerified(const Topology& topology,
             const Collective& collective,
             const std::string& name,
             AllReduceScheduler& scheduler,
             const PlanningProgress& progress)
{
    AllReduceSchedule plan = Plan(scheduler, AllReduceState(topology, collective), progress);
    CheckPlan(topology, name, plan);
    return plan;
}

Experiment
PlanExperiment(const Topology& topology,
               const std::string& schedulerName,
               uint64_t bytes,
               const PlanOptions& plan,
               const RunOptions& run)
{
    const Topology network = run.Apply(topology);
    std::optional<ProgressLine> line; // one for each plan, as nobody knows how many there will be
    const auto makeScheduler = [&] {
        line.emplace("planning " + network.GetName() + " " + schedulerName, run.showProgress);
        return MakeScheduler(schedulerName, plan);
    };
    const PlanningProgress progress(
        [&](const std::string& what, double share) { line->Show(what, share); });
    const GroupShape shape = GetShape(plan.groups.MakeGroups(network));
    if (plan.chunksPerServer == "auto")
    {
        const auto makeCollective = [&](uint32_t m) { return plan.groups.Make(network, m); };
        ChunkChoice choice = ChooseChunks(network,
                                          makeCollective,
                                          makeScheduler,
                                          *CreateTransport(run.transport),
                                          run.frame,
                                          bytes * shape.nGroups,
                                          run.GetSync() == AllReduceSession::BARRIER,
                                          progress);
        CheckPlan(network, schedulerName, choice.plan);
        return {network,
                schedulerName,
                choice.scheduler,
                std::move(choice.plan),
                bytes,
                nullptr,
                shape};
    }
    const Ptr<AllReduceScheduler> scheduler = makeScheduler();
    AllReduceSchedule schedule =
        PlanVerified(network, MakeCollective(network, plan), schedulerName, *scheduler, progress);
    return {network, schedulerName, scheduler, std::move(schedule), bytes, nullptr, shape};
}

ExperimentResult
RunExperiment(const Experiment& experiment, const RunOptions& options)
{
    options.Check();
    const DistributedRun distributed(options.nRanks);
    return Run(experiment, options, distributed).Execute();
}

} // namespace ns3::allreduce
