/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-session.h"

#include "collective-run.h"

#include "ns3/abort-on-input-error.h"
#include "ns3/abort.h"
#include "ns3/allreduce-compat.h"
#include "ns3/boolean.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceSession");
NS_OBJECT_ENSURE_REGISTERED(AllReduceSession);

namespace
{

/// @throws InputError that names a path which the network does not have
void
CheckPaths(const Topology& topology, const std::vector<WorkloadList>& rounds)
{
    for (const WorkloadList& round : rounds)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const NodeRange path = round.Get(i).path;
            for (std::size_t j = 1; j < path.size(); ++j)
            {
                if (!topology.FindDirectedLink(path[j - 1], path[j]))
                {
                    topology.CheckPath(Path(path.begin(), path.end()));
                }
            }
        }
    }
}

} // namespace

TypeId
AllReduceSession::GetTypeId()
{
    static TypeId tid = AddTraceSources(AddAttributes(TypeId("ns3::allreduce::AllReduceSession")
                                                          .SetParent<Object>()
                                                          .SetGroupName("AllReduce")
                                                          .AddConstructor<AllReduceSession>()));
    return tid;
}

TypeId
AllReduceSession::AddAttributes(TypeId tid)
{
    return tid
        .AddAttribute("Bytes",
                      "Size of the gradient that is summed up.",
                      UintegerValue(16 << 20),
                      MakeUintegerAccessor(&AllReduceSession::m_bytes),
                      MakeUintegerChecker<uint64_t>(1))
        .AddAttribute("Sync",
                      "What rounds mean on the network: Barrier or Dependency.",
                      EnumValue(BARRIER),
                      MakeAccessorOfEnum<Sync>(&AllReduceSession::m_sync),
                      MakeEnumChecker(BARRIER, "Barrier", DEPENDENCY, "Dependency"))
        .AddAttribute("Iterations",
                      "How many AllReduces there are, one after another.",
                      UintegerValue(1),
                      MakeUintegerAccessor(&AllReduceSession::m_iterations),
                      MakeUintegerChecker<uint32_t>(1))
        .AddAttribute("ComputeTime",
                      "Time between the end of an AllReduce and the beginning of the next.",
                      TimeValue(Time(0)),
                      MakeTimeAccessor(&AllReduceSession::m_computeTime),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("Watchdog",
                      "The session fails if nothing arrives for so long; 0: as long as the "
                      "transport may have to wait.",
                      TimeValue(Time(0)),
                      MakeTimeAccessor(&AllReduceSession::m_watchdog),
                      MakeTimeChecker(Time(0)))
        .AddAttribute("Control",
                      "Whether grants and barriers need messages: Ideal or Packets.",
                      EnumValue(IDEAL),
                      MakeAccessorOfEnum<Control>(&AllReduceSession::m_control),
                      MakeEnumChecker(IDEAL, "Ideal", PACKETS, "Packets"))
        .AddAttribute("Adapt",
                      "What happens if the network is not what was announced: None, Replan (what "
                      "is left is planned for the rates that were seen) or Live (a scheduler "
                      "chooses whenever a port is free).",
                      EnumValue(NO_ADAPTATION),
                      MakeAccessorOfEnum<Adaptation>(&AllReduceSession::m_adapt),
                      MakeEnumChecker(NO_ADAPTATION, "None", REPLAN, "Replan", LIVE, "Live"))
        .AddAttribute("VerifyData",
                      "Whether flows carry real numbers that servers add and compare.",
                      BooleanValue(false),
                      MakeBooleanAccessor(&AllReduceSession::m_verifyData),
                      MakeBooleanChecker());
}

TypeId
AllReduceSession::AddTraceSources(TypeId tid)
{
    return tid
        .AddTraceSource("RoundStarted",
                        "The first workload of a round begins.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_roundStarted),
                        "ns3::allreduce::AllReduceSession::RoundStartedTracedCallback")
        .AddTraceSource("RoundEnded",
                        "The last workload of a round has arrived.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_roundEnded),
                        "ns3::allreduce::AllReduceSession::RoundEndedTracedCallback")
        .AddTraceSource("HandedOut",
                        "Rounds are about to begin: the number of the first, and the rounds.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_handedOut),
                        "ns3::allreduce::AllReduceSession::HandedOutTracedCallback")
        .AddTraceSource("Replanned",
                        "What is left was planned anew: from which round on, and by whom.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_replanned),
                        "ns3::allreduce::AllReduceSession::ReplannedTracedCallback")
        .AddTraceSource("RateBelieved",
                        "With Adapt: flows show that a link is slower or faster than it was "
                        "believed to be: the directed link, its rate before and now, in bit/s.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_rateBelieved),
                        "ns3::allreduce::AllReduceSession::RateBelievedTracedCallback")
        .AddTraceSource("Done",
                        "An AllReduce is done; how long it took.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_done),
                        "ns3::Time::TracedCallback")
        .AddTraceSource("Finished",
                        "All AllReduces are done.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_finished),
                        "ns3::TracedCallback::Empty")
        .AddTraceSource("Failed",
                        "The session has failed.",
                        MakeTraceSourceAccessor(&AllReduceSession::m_failed),
                        "ns3::allreduce::AllReduceSession::FailedTracedCallback");
}

AllReduceSession::AllReduceSession() = default;

AllReduceSession::~AllReduceSession() = default;

void
AllReduceSession::Setup(Ptr<AllReduceNetwork> network,
                        Ptr<AllReduceScheduler> scheduler,
                        Ptr<AllReduceTransport> transport,
                        Collective collective)
{
    m_network = network;
    m_scheduler = scheduler;
    m_transport = transport;
    m_collective = std::move(collective);
    CollectiveRun::Owner owner;
    owner.roundStarted = [this](uint32_t round) { m_roundStarted(round); };
    owner.roundEnded = [this](uint32_t round, Time duration) { m_roundEnded(round, duration); };
    owner.handedOut = [this](uint32_t first, const std::vector<WorkloadList>& rounds) {
        m_handedOut(first, rounds);
    };
    owner.replanned = [this](uint32_t first, const std::string& planner) {
        m_replanned(first, planner);
    };
    owner.believed = [this](const BeliefChange& change) {
        m_rateBelieved(change.link, change.oldBps, change.newBps);
    };
    owner.done = [this](Time duration) { NotifyDone(duration); };
    owner.failed = [this](const std::string& reason) { NotifyFailed(reason); };
    owner.stopped = [this] { End(); };
    m_run = std::make_unique<CollectiveRun>(network,
                                            scheduler,
                                            transport,
                                            m_collective,
                                            m_applications,
                                            std::move(owner));
}

void
AllReduceSession::SetSequence(std::vector<uint64_t> bytes, std::function<Time(uint32_t)> wait)
{
    NS_ABORT_MSG_IF(bytes.empty(), "AllReduceSession: a sequence of no AllReduces");
    m_iterations = bytes.size();
    m_sequence = std::move(bytes);
    m_wait = std::move(wait);
}

void
AllReduceSession::SetAnnounced(Topology announced)
{
    NS_ABORT_MSG_IF(announced.GetNLinks() != m_network->GetTopology().GetNLinks() ||
                        announced.GetNNodes() != m_network->GetTopology().GetNNodes(),
                    "AllReduceSession: SetAnnounced: another network than that of the session");
    GetRun().SetAnnounced(std::move(announced));
}

void
AllReduceSession::SetPlan(VerifiedPlan plan)
{
    NS_ABORT_MSG_UNLESS(m_network, "AllReduceSession: SetPlan before Setup");
    NS_ABORT_MSG_IF(!(plan.GetCollective() == m_collective),
                    "AllReduceSession: a plan for another collective than that of the session");
    AbortOnInputError([&] { CheckPaths(m_network->GetTopology(), plan.GetRounds()); });
    GetRun().GetProver().SetPlan(std::move(plan));
}

void
AllReduceSession::DoDispose()
{
    m_next.Cancel();
    if (m_run)
    {
        m_run->Dispose();
    }
    m_applications.clear();
    m_network = nullptr;
    m_scheduler = nullptr;
    m_transport = nullptr;
    Object::DoDispose();
}

void
AllReduceSession::AddApplication(AllReduceApplication* application)
{
    const NodeId server = application->GetServer();
    m_applications.resize(std::max<std::size_t>(m_applications.size(), server + 1), nullptr);
    NS_ABORT_MSG_IF(m_applications[server],
                    "AllReduceSession: server " << server << " has two applications, expected one");
    m_applications[server] = application;
}

void
AllReduceSession::NotifyReady(NodeId server)
{
    const uint32_t nServers = m_network->GetTopology().GetNServers();
    NS_ABORT_MSG_IF(server >= nServers,
                    "AllReduceApplication: server " << server << ", expected less than "
                                                    << nServers);
    m_isReady.resize(nServers, false);
    m_isReady[server] = true;
    ++m_nReady;
    if (m_nReady == 1)
    {
        m_firstReady = Simulator::Now();
    }
    if (m_adapt == LIVE && !m_wait)
    {
        // Others may become ready at the same time.
        m_nReady == 1 ? void(m_next = Simulator::ScheduleNow(&AllReduceSession::BeginFirst, this))
                      : NotifyLateReady(server);
    }
    else if (m_nReady == nServers)
    {
        BeginFirst();
    }
}

void
AllReduceSession::NotifyLateReady(NodeId server)
{
    if (m_next.IsExpired())
    {
        m_run->NotifyServerReady(server);
    }
}

void
AllReduceSession::BeginFirst()
{
    if (m_wait)
    {
        BeginAfterWait();
    }
    else
    {
        BeginAllReduce();
    }
}

void
AllReduceSession::NotifyStopped(NodeId server)
{
    if (!m_isFinished && m_failure.empty())
    {
        Fail("server " + std::to_string(server) + " was stopped before the end");
    }
}

uint64_t
AllReduceSession::GetChunkBytes(ChunkId chunk) const
{
    return allreduce::GetChunkBytes(m_bytes, m_collective.GetNChunks(), chunk);
}

void
AllReduceSession::BeginAfterWait()
{
    const Time wait = m_wait ? m_wait(m_durations.size()) : m_computeTime;
    m_next = Simulator::Schedule(wait, &AllReduceSession::BeginAllReduce, this);
}

void
AllReduceSession::BeginAllReduce()
{
    NS_LOG_FUNCTION(this << m_durations.size());
    if (!m_sequence.empty())
    {
        m_bytes = m_sequence[m_durations.size()];
    }
    const std::string obstacle = DescribeObstacle();
    if (!obstacle.empty())
    {
        Fail(obstacle);
        return;
    }
    CollectiveRun::Settings settings;
    settings.number = m_durations.size();
    settings.bytes = m_bytes;
    settings.hasBarriers = m_sync == BARRIER;
    settings.usesMessages = m_control == PACKETS;
    settings.verifiesData = m_verifyData;
    settings.watchdog = m_watchdog;
    settings.adapt = m_adapt;
    settings.isReady = m_isReady;
    settings.waited = m_durations.empty() && !m_wait ? Simulator::Now() - m_firstReady : Time(0);
    m_run->Begin(settings);
}

std::string
AllReduceSession::DescribeObstacle() const
{
    if (m_adapt == LIVE && m_sync == BARRIER)
    {
        return "Adapt Live has no rounds, expected Sync Dependency";
    }
    if (m_adapt != NO_ADAPTATION && m_control == PACKETS)
    {
        return "what is believed does not travel as messages, expected Adapt None or Control Ideal";
    }
    return m_network->IsDistributed() ? DescribeObstacleToRanks() : "";
}

std::string
AllReduceSession::DescribeObstacleToRanks() const
{
    if (m_adapt != NO_ADAPTATION)
    {
        return "several ranks: expected Adapt None, because no rank sees all flows";
    }
    if (m_control != PACKETS || m_sync != BARRIER)
    {
        return "several ranks: expected Control Packets and Sync Barrier, because no rank sees all "
               "servers";
    }
    if (m_iterations > 1)
    {
        return "several ranks: " + std::to_string(m_iterations) + " iterations, expected 1";
    }
    if (m_bytes < m_collective.GetNChunks())
    {
        return "several ranks: " + std::to_string(m_bytes) + " bytes in " +
               std::to_string(m_collective.GetNChunks()) + " chunks, expected a byte in each";
    }
    if (m_scheduler->ChoosesByRound())
    {
        return "several ranks: " + m_scheduler->GetInstanceTypeId().GetName() +
               " chooses by round, expected a plan that all ranks know";
    }
    return "";
}

void
AllReduceSession::NotifyDone(Time duration)
{
    m_durations.push_back(duration);
    NS_LOG_INFO("AllReduce " << m_durations.size() << " took " << duration.As(Time::MS));
    m_done(duration);
    if (m_durations.size() < m_iterations)
    {
        BeginAfterWait();
    }
    else
    {
        m_run->Stop();
    }
}

void
AllReduceSession::End()
{
    m_isFinished = true;
    m_finished();
}

void
AllReduceSession::Fail(const std::string& reason)
{
    m_run->Close();
    NotifyFailed(reason);
}

void
AllReduceSession::NotifyFailed(const std::string& reason)
{
    NS_LOG_INFO("failed: " << reason);
    m_failure = reason;
    m_next.Cancel();
    m_failed(reason);
}

CollectiveRun&
AllReduceSession::GetRun() const
{
    NS_ABORT_MSG_UNLESS(m_run, "AllReduceSession: Setup has not been called");
    return *m_run;
}

bool
AllReduceSession::IsFinished() const
{
    return m_isFinished;
}

const std::string&
AllReduceSession::GetFailure() const
{
    return m_failure;
}

const std::vector<Time>&
AllReduceSession::GetDurations() const
{
    return m_durations;
}

const std::vector<Time>&
AllReduceSession::GetRoundDurations() const
{
    return GetRun().GetRoundDurations();
}

const std::vector<AllReduceSession::RoundTimes>&
AllReduceSession::GetRoundTimes() const
{
    return GetRun().GetRoundTimes();
}

Time
AllReduceSession::GetBegin() const
{
    return GetRun().GetBegin();
}

uint32_t
AllReduceSession::GetNReplans() const
{
    return GetRun().GetProver().GetNReplans();
}

const std::vector<std::string>&
AllReduceSession::GetReplanners() const
{
    return GetRun().GetProver().GetReplanners();
}

bool
AllReduceSession::IsVerified() const
{
    return GetRun().IsProven();
}

uint32_t
AllReduceSession::GetNProofs() const
{
    return GetRun().GetProver().GetNProofs();
}

std::optional<uint64_t>
AllReduceSession::GetPlanHash() const
{
    return GetRun().GetProver().GetPlanHash();
}

uint64_t
AllReduceSession::GetNMessages() const
{
    return GetRun().GetNMessages();
}

uint64_t
AllReduceSession::GetBytesGivenUp() const
{
    return GetRun().GetBytesGivenUp();
}

uint32_t
AllReduceSession::GetNAborted() const
{
    return GetRun().GetNAborted();
}

double
AllReduceSession::GetProgress() const
{
    return GetRun().GetShareDone().value_or(m_isFinished ? 1 : 0);
}

Ptr<AllReduceTransport>
AllReduceSession::GetTransport() const
{
    return m_transport;
}

} // namespace ns3::allreduce
