/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "allreduce-session.h"

#include "distributed-run.h"
#include "token-barrier.h"
#include "transfer-numbers.h"
#include "workload-dispatcher.h"

#include "ns3/abort.h"
#include "ns3/allreduce-compat.h"
#include "ns3/allreduce-error.h"
#include "ns3/boolean.h"
#include "ns3/chunk-needs.h"
#include "ns3/contribution-ledger.h"
#include "ns3/enum.h"
#include "ns3/log.h"
#include "ns3/round-prover.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"
#include "ns3/workload-rates.h"

#include <algorithm>
#include <set>
#include <sstream>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceSession");
NS_OBJECT_ENSURE_REGISTERED(AllReduceSession);

namespace
{

/// @return whether a way crosses a link, in either direction
bool
IsOver(const std::vector<DirectedLinkId>& way, LinkId link)
{
    return std::any_of(way.begin(), way.end(), [link](DirectedLinkId part) {
        return part / 2 == link;
    });
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

AllReduceSession::AllReduceSession()
    : m_prover(std::make_unique<RoundProver>()),
      m_barrier(std::make_unique<TokenBarrier>(TokenBarrier::Owner{
          [this](const Path& path, const TokenBarrier::Message& message) {
              if (m_numbers)
              {
                  SendMessageBytes(m_numbers->NameMessage(message), path);
                  return;
              }
              SendMessage(path, [this, message] { m_barrier->Arrive(message); });
          },
          [this](NodeId server) { return IsHere(server); },
          [this](NodeId server) { NoteReleased(server); },
          [this] { NoteBarrierOver(); }}))
{
}

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
    m_transport->Open(network,
                      MakeCallback(&AllReduceSession::NoteSent, this),
                      MakeCallback(&AllReduceSession::NoteDelivered, this));
    if (network->IsDistributed())
    {
        m_transport->SetIncomingFinder(
            [this](TransferId transfer) { return FindIncoming(transfer); });
    }
    m_network->TraceConnectWithoutContext("LinkChanged",
                                          MakeCallback(&AllReduceSession::NoteLinkChanged, this));
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
AllReduceSession::ExpectPlan(uint64_t hash)
{
    m_prover->ExpectPlan(hash);
}

void
AllReduceSession::DoDispose()
{
    m_watch.Cancel();
    m_next.Cancel();
    m_data.reset();
    if (m_network)
    {
        m_network->TraceDisconnectWithoutContext(
            "LinkChanged",
            MakeCallback(&AllReduceSession::NoteLinkChanged, this));
        m_transport->Dispose();
    }
    m_applications.clear();
    m_flights.clear();
    m_arrivals.clear();
    m_dispatcher.reset();
    m_state.reset();
    m_ledger.reset();
    m_network = nullptr;
    m_scheduler = nullptr;
    m_transport = nullptr;
    m_isRunning = false;
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
AllReduceSession::NoteReady(NodeId server)
{
    const uint32_t nServers = m_network->GetTopology().GetNServers();
    NS_ABORT_MSG_IF(server >= nServers,
                    "AllReduceApplication: server " << server << ", expected less than "
                                                    << nServers);
    if (++m_nReady < nServers)
    {
        return;
    }
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
AllReduceSession::NoteStopped(NodeId server)
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
    const Topology& topology = m_network->GetTopology();
    m_state.emplace(topology, m_collective);
    m_state->SetLinksShared(m_sync == DEPENDENCY);
    m_ledger = std::make_unique<ContributionLedger>(topology, m_collective);
    m_prover->Restart();
    m_connectedAt.reset();
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        m_state->SetLinkUp(link, m_network->IsLinkUp(link));
        m_ledger->SetLinkUp(link, m_network->IsLinkUp(link));
    }
    if (m_verifyData)
    {
        std::vector<uint64_t> sizes(m_collective.GetNChunks());
        for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
        {
            sizes[chunk] = GetChunkBytes(chunk);
        }
        m_data.emplace(m_collective, topology.GetNServers(), std::move(sizes));
    }
    CountLacking();
    m_roundTimes.clear();
    m_roundDurations.clear();
    m_firstRound = 0;
    m_dispatcher = std::make_unique<WorkloadDispatcher>(topology, !UsesMessages());
    m_isRunning = true;
    m_hasBegun = false;
    m_begin = Simulator::Now();
    m_waited = Time(0);
    m_lastArrival = m_begin;
    m_watch = Simulator::Schedule(GetPatience(), &AllReduceSession::CheckProgress, this);
    GoOn();
}

void
AllReduceSession::CountLacking()
{
    const uint32_t nServers = m_network->GetTopology().GetNServers();
    m_nSums = m_state->GetNMissing();
    m_nLacking.assign(nServers, m_collective.GetNChunks());
    for (NodeId server = 0; server < nServers && !m_collective.IsOfAll(); ++server)
    {
        m_nLacking[server] = 0;
        for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
        {
            m_nLacking[server] +=
                m_state->IsReceiver(server, chunk) && !m_state->GetFinals().Test(server, chunk);
        }
    }
}

void
AllReduceSession::EndRounds()
{
    if (m_numbers)
    {
        EndEverywhere();
    }
    uint32_t nBegun = 0;
    for (uint32_t round = 0; round < m_dispatcher->GetNRounds(); ++round)
    {
        if (m_dispatcher->GetNBegun(round) > 0 || m_numbers)
        {
            nBegun = round + 1;
            m_state->EndRound();
            if (!m_dispatcher->IsRoundOver(round))
            {
                NoteRoundEnded(round); // A link broke, and not all of it has arrived.
            }
        }
    }
    m_roundTimes.resize(m_firstRound + nBegun);
    m_roundDurations.resize(m_firstRound + nBegun);
    m_firstRound += nBegun;
    m_dispatcher->Load({});
}

void
AllReduceSession::GoOn()
{
    EndRounds();
    if (m_state->IsDone())
    {
        EndAllReduce();
        return;
    }
    const std::string cutOff = FindCutOff();
    NoteCutOff(!cutOff.empty());
    if (m_isCutOff && !IsMendingDue())
    {
        Fail(cutOff);
    }
    if (m_isCutOff)
    {
        return; // A link that comes back goes on.
    }
    const uint32_t nReplans = GetNReplans();
    try
    {
        m_nextRounds = AskScheduler();
    }
    catch (const InputError& error)
    {
        Fail(error.what());
        return;
    }
    if (GetNReplans() > nReplans)
    {
        m_replanned(m_firstRound, m_prover->GetLastReplanner());
    }
    if (m_network->IsDistributed() && !m_numbers)
    {
        const std::string obstacle = DescribeObstacle();
        if (!obstacle.empty())
        {
            Fail(obstacle);
            return;
        }
        m_numbers = std::make_unique<TransferNumbers>(m_scheduler->GetPlan(),
                                                      m_network->GetTopology().GetNServers());
    }
    if (UsesMessages() && !m_hasBegun)
    {
        PlanBarrier();
    }
    Prepare();
}

void
AllReduceSession::Prepare()
{
    if (m_isPrepared)
    {
        BeginRounds();
        return;
    }
    m_isPrepared = true;
    m_isGathering = true;
    m_barrier->BeginGathering();
    if (!m_transport->NeedsPreparation() ||
        !m_transport->Prepare(FindFirstTransfers(),
                              m_sync == DEPENDENCY,
                              MakeCallback(&AllReduceSession::NotePrepared, this)))
    {
        m_isGathering = false;
        BeginRounds();
    }
}

void
AllReduceSession::NotePrepared(NodeId server)
{
    if (!m_isGathering)
    {
        return; // A link broke in the meantime.
    }
    if (UsesMessages())
    {
        m_barrier->NoteArrival(server);
    }
    else if (++m_nPrepared == m_network->GetTopology().GetNServers())
    {
        BeginRounds();
    }
}

void
AllReduceSession::NoteBarrierOver()
{
    if (m_isGathering)
    {
        m_hasGathered = true;
        BeginRounds();
    }
    else
    {
        GoOn();
    }
}

std::vector<TransferPlan>
AllReduceSession::FindFirstTransfers() const
{
    // A scheduler that keeps no plan has only said what comes next.
    const RoundRange plan = m_scheduler->GetPlan();
    const bool isKnown = m_sync == BARRIER && !plan.empty();
    std::vector<TransferPlan> transfers;
    std::set<Path> paths;
    for (const WorkloadList& round : isKnown ? plan : MakeRoundRange(m_nextRounds))
    {
        const std::vector<uint64_t> rates = ComputeWorkloadRates(m_network->GetTopology(), round);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            const uint64_t bytes = GetChunkBytes(workload.chunk);
            const Path path(workload.path.begin(), workload.path.end());
            if (bytes > 0 && paths.insert(path).second)
            {
                transfers.push_back({path, bytes, rates[i]});
            }
        }
    }
    if (UsesMessages())
    {
        AddFirstMessages(transfers);
    }
    return transfers;
}

void
AllReduceSession::AddFirstMessages(std::vector<TransferPlan>& transfers) const
{
    std::vector<Path> paths = m_barrier->GetPaths();
    if (m_sync == DEPENDENCY)
    {
        for (const TransferPlan& transfer : transfers)
        {
            paths.emplace_back(transfer.path.rbegin(), transfer.path.rend());
        }
    }
    for (const Path& path : paths)
    {
        const auto timing = ComputePathTiming(m_network->GetTopology(), path, 0);
        transfers.push_back({path, MESSAGE_BYTES, timing.slowestBps});
    }
}

void
AllReduceSession::BeginRounds()
{
    if (!m_isRunning || m_nextRounds.empty())
    {
        return; // A link broke in the meantime: others begin, or have begun without waiting.
    }
    if (!m_hasBegun)
    {
        m_hasBegun = true;
        m_begin = Simulator::Now() - m_waited;
    }
    m_isGathering = false;
    m_handedOut(m_firstRound, m_nextRounds);
    m_isHalted = false;
    ++m_epoch;
    m_dispatcher->Load(std::move(m_nextRounds));
    m_nextRounds.clear();
    m_roundTimes.resize(m_firstRound + m_dispatcher->GetNRounds());
    m_roundDurations.resize(m_roundTimes.size());
    if (m_numbers)
    {
        BeginEverywhere();
    }
    if (UsesMessages() && m_sync == BARRIER)
    {
        BeginBarrier(m_dispatcher->GetWorkloads(0));
    }
    BeginWorkloads();
}

bool
AllReduceSession::UsesMessages() const
{
    return m_control == PACKETS;
}

void
AllReduceSession::PlanBarrier()
{
    const Topology& topology = m_network->GetTopology();
    std::vector<bool> isUp(topology.GetNLinks());
    for (LinkId link = 0; link < isUp.size(); ++link)
    {
        isUp[link] = m_state->IsLinkUp(link);
    }
    // Those that have something left to do reach each other.
    const auto busy =
        std::find_if(m_nLacking.begin(), m_nLacking.end(), [](uint32_t n) { return n > 0; });
    m_barrier->PlanTree(topology, isUp, busy - m_nLacking.begin());
}

void
AllReduceSession::BeginBarrier(const WorkloadList& round)
{
    const uint32_t nServers = m_network->GetTopology().GetNServers();
    m_isReleased.assign(nServers, false);
    m_held.assign(nServers, {});
    if (m_firstRound == 0 && !m_hasGathered)
    {
        m_barrier->BeginTogether(round);
    }
    else
    {
        m_barrier->BeginRound(round);
    }
    m_hasGathered = false;
}

void
AllReduceSession::NoteReleased(NodeId server)
{
    if (m_isHalted || !m_isRunning)
    {
        return; // Servers only come together, or hear that it is over.
    }
    m_isReleased[server] = true;
    for (const uint32_t index : m_held[server])
    {
        m_dispatcher->Grant(index);
    }
    m_held[server].clear();
    BeginWorkloads();
}

void
AllReduceSession::GiveGrants()
{
    while (const auto index = m_dispatcher->FindGrant())
    {
        const NodeId source = m_dispatcher->Get(*index).GetSource();
        if (m_sync == DEPENDENCY)
        {
            SendGrant(*index);
        }
        else if (m_isReleased[source])
        {
            m_dispatcher->Grant(*index);
        }
        else
        {
            m_held[source].push_back(*index);
        }
    }
}

void
AllReduceSession::SendGrant(uint32_t index)
{
    const NodeRange path = m_dispatcher->Get(index).path;
    SendMessage(
        Path(boost::make_reverse_iterator(path.end()), boost::make_reverse_iterator(path.begin())),
        [this, index, epoch = m_epoch] {
            if (epoch == m_epoch)
            {
                m_dispatcher->Grant(index);
                BeginWorkloads();
            }
        });
}

void
AllReduceSession::SendMessage(const Path& path, std::function<void()> arrive)
{
    const TransferId transfer = m_nextTransfer++;
    m_messages[transfer] = {FindLinks(m_network->GetTopology(), path), std::move(arrive)};
    SendMessageBytes(transfer, path);
}

void
AllReduceSession::SendMessageBytes(TransferId transfer, const Path& path)
{
    ++m_nMessages;
    const auto timing = ComputePathTiming(m_network->GetTopology(), path, 0);
    m_transport->Send({transfer, path, MESSAGE_BYTES, timing.slowestBps, m_stopText});
}

void
AllReduceSession::NoteMessage(TransferId transfer)
{
    const auto place = m_messages.find(transfer);
    const Message message = std::move(place->second);
    m_messages.erase(place);
    if (m_isRunning)
    {
        m_lastArrival = Simulator::Now();
        message.arrive();
    }
}

void
AllReduceSession::DropMessagesOver(LinkId link)
{
    for (auto message = m_messages.begin(); message != m_messages.end();)
    {
        if (IsOver(message->second.way, link))
        {
            m_transport->Cancel(message->first);
            message = m_messages.erase(message);
        }
        else
        {
            ++message;
        }
    }
}

void
AllReduceSession::NoteNothingInFlight()
{
    if (!UsesMessages() || m_state->IsDone())
    {
        GoOn();
    }
    else if (m_isHalted || m_isCutOff)
    {
        ComeTogether();
    }
    // Else messages are on their way that go on.
}

void
AllReduceSession::ComeTogether()
{
    m_isHalted = true;
    if (!DescribeCutOff().empty())
    {
        GoOn(); // which waits for a link
        return;
    }
    NoteCutOff(false);
    PlanBarrier();
    m_barrier->BeginTogether({});
}

std::vector<WorkloadList>
AllReduceSession::AskScheduler()
{
    if (m_sync == BARRIER)
    {
        std::vector<WorkloadList> rounds;
        rounds.push_back(m_prover->AskForRound(*m_scheduler, *m_state, *m_ledger));
        return rounds;
    }
    AllReduceState state = *m_state;
    state.SetLinksShared(false);
    return m_prover->AskForAll(*m_scheduler, state, *m_ledger);
}

void
AllReduceSession::BeginWorkloads()
{
    try
    {
        while (m_isRunning)
        {
            GiveGrants();
            const auto index = m_dispatcher->BeginNext();
            if (!index)
            {
                return;
            }
            BeginWorkload(*index);
            LandArrived();
        }
    }
    catch (const InputError& error)
    {
        Fail(m_scheduler->GetInstanceTypeId().GetName() + ": " + error.what());
    }
}

void
AllReduceSession::BeginWorkload(uint32_t index)
{
    const Workload workload = m_dispatcher->Get(index);
    Flight flight = MakeFlight(index);
    if (m_data)
    {
        flight.parcel = m_data->Take(workload);
    }
    const uint32_t round = m_dispatcher->GetRound(index);
    NoteRoundBegun(round);
    m_applications[flight.flow.source]->NoteStarted(flight.flow);
    const TransferId transfer =
        m_numbers
            ? m_numbers->NameWorkload({m_firstRound + round, m_dispatcher->GetPosition(index)})
            : m_nextTransfer++;
    const auto place = m_flights.emplace(transfer, std::move(flight)).first;
    Emit(transfer, workload, place->second);
}

AllReduceSession::Record
AllReduceSession::Begin(uint32_t index)
{
    const Workload workload = m_dispatcher->Get(index);
    return {m_state->Start(workload), m_ledger->Begin(workload)};
}

AllReduceSession::Flight
AllReduceSession::MakeFlight(uint32_t index)
{
    const Workload workload = m_dispatcher->Get(index);
    Flight flight{};
    flight.index = index;
    flight.record = m_numbers ? *m_records[index] : Begin(index);
    flight.flow = {workload.chunk,
                   workload.kind,
                   workload.GetSource(),
                   workload.GetTarget(),
                   GetChunkBytes(workload.chunk),
                   Simulator::Now(),
                   Time(0),
                   static_cast<uint32_t>(m_durations.size()),
                   m_firstRound + m_dispatcher->GetRound(index),
                   m_dispatcher->GetPosition(index)};
    flight.way = FindLinks(m_network->GetTopology(), workload.path);
    return flight;
}

AllReduceSession::Flight
AllReduceSession::TakeFlight(TransferId transfer)
{
    const auto place = m_flights.find(transfer);
    if (place == m_flights.end())
    {
        return MakeFlight(m_numbers->FindWorkload(transfer)->position); // from another rank
    }
    Flight flight = std::move(place->second);
    m_flights.erase(place);
    return flight;
}

void
AllReduceSession::Emit(TransferId transfer, const Workload& workload, const Flight& flight)
{
    if (flight.flow.bytes == 0)
    {
        Simulator::ScheduleNow(&AllReduceSession::DeliverEmpty, this, transfer);
        return;
    }
    m_transport->Send({transfer,
                       Path(workload.path.begin(), workload.path.end()),
                       flight.flow.bytes,
                       m_dispatcher->GetRate(flight.index),
                       flight.parcel.payload});
}

void
AllReduceSession::DeliverEmpty(TransferId transfer)
{
    if (m_flights.count(transfer) > 0)
    {
        NoteDelivered(transfer, {});
    }
}

void
AllReduceSession::NoteSent(TransferId transfer)
{
    const auto flight = m_flights.find(transfer);
    if (m_isRunning && flight != m_flights.end())
    {
        m_dispatcher->FreePorts(flight->second.index);
        if (!IsHere(flight->second.flow.target))
        {
            m_applications[flight->second.flow.source]->NoteSent(flight->second.flow);
            m_flights.erase(flight);
        }
        BeginWorkloads();
    }
}

void
AllReduceSession::NoteDelivered(TransferId transfer, const Bytes& data)
{
    if (m_numbers && !m_numbers->FindWorkload(transfer))
    {
        NoteBarrierMessage(transfer, data);
        return;
    }
    if (m_messages.count(transfer) > 0)
    {
        NoteMessage(transfer);
        return;
    }
    Flight flight = TakeFlight(transfer);
    flight.flow.duration = Simulator::Now() - flight.flow.begin;
    m_lastArrival = Simulator::Now();
    const NodeId target = flight.flow.target;
    const uint32_t index = flight.index;
    m_arrivals.emplace(index, Arrival{std::move(flight), data});
    m_dispatcher->NoteArrived(index);
    LandArrived();
    BeginWorkloads();
    if (m_numbers)
    {
        m_isDelivered[transfer] = true;
        --m_nAwaited;
    }
    else if (m_isRunning && m_flights.empty() && m_next.IsExpired())
    {
        NoteNothingInFlight();
    }
    if (m_isRunning && UsesMessages() && m_sync == BARRIER && !m_isHalted)
    {
        m_barrier->NoteArrival(target);
    }
}

void
AllReduceSession::LandArrived()
{
    while (const auto index = m_dispatcher->LandNext())
    {
        const auto place = m_arrivals.find(*index);
        const Arrival arrival = std::move(place->second);
        m_arrivals.erase(place);
        Finish(arrival.flight, arrival.data);
        const uint32_t round = m_dispatcher->GetRound(*index);
        m_roundTimes[m_firstRound + round].end = Simulator::Now();
        if (m_dispatcher->IsRoundOver(round))
        {
            NoteRoundEnded(round);
        }
    }
}

void
AllReduceSession::Finish(const Flight& flight, const Bytes& data)
{
    const ChunkId chunk = flight.flow.chunk;
    const NodeId target = flight.flow.target;
    const bool wasFinal = m_state->IsFinal(chunk);
    m_state->Finish(flight.record.id);
    m_ledger->End(flight.record.entry);
    if (m_numbers)
    {
        m_records[flight.index].reset();
    }
    if (m_data)
    {
        m_data->Put(m_dispatcher->Get(flight.index), data);
    }
    if (IsHere(flight.flow.source))
    {
        m_applications[flight.flow.source]->NoteSent(flight.flow);
    }
    m_applications[target]->NoteReceived(flight.flow);
    if (m_state->IsFinal(chunk) && !wasFinal)
    {
        if (m_data)
        {
            m_data->MakeFinal(chunk);
        }
        m_applications[target]->NoteReduced(chunk);
        NoteServerProgress(target, chunk);
    }
    else if (flight.flow.kind == WorkloadKind::BROADCAST)
    {
        NoteServerProgress(target, chunk);
    }
}

void
AllReduceSession::NoteServerProgress(NodeId server, ChunkId chunk)
{
    if (m_state->IsReceiver(server, chunk) && --m_nLacking[server] == 0)
    {
        m_applications[server]->NoteDone(Simulator::Now() - m_begin);
    }
}

void
AllReduceSession::NoteRoundBegun(uint32_t round)
{
    if (m_dispatcher->GetNBegun(round) == 1)
    {
        m_roundTimes[m_firstRound + round].begin = Simulator::Now();
        m_roundStarted(m_firstRound + round);
    }
}

void
AllReduceSession::NoteRoundEnded(uint32_t round)
{
    const uint32_t number = m_firstRound + round;
    RoundTimes& times = m_roundTimes[number];
    if (m_numbers && times.begin > times.end)
    {
        return; // No server here took part.
    }
    times.end = m_numbers ? times.end : Simulator::Now();
    m_roundDurations[number] = times.end - times.begin;
    m_roundEnded(number, m_roundDurations[number]);
}

void
AllReduceSession::NoteLinkChanged(LinkId link, bool isUp)
{
    if (!m_isRunning)
    {
        return;
    }
    NS_LOG_INFO("link " << link << (isUp ? " is up" : " is down"));
    m_lastArrival = Simulator::Now(); // What was silent before tells nothing any more.
    m_state->SetLinkUp(link, isUp);
    m_ledger->SetLinkUp(link, isUp);
    if (!isUp)
    {
        AbortFlightsOver(link);
        DropMessagesOver(link);
        m_dispatcher->Halt();
        LandArrived();
        m_nextRounds.clear();
        m_isGathering = false;
        m_isHalted = true;
        ++m_epoch;
    }
    if (m_flights.empty())
    {
        GoOnSoon();
    }
}

void
AllReduceSession::AbortFlightsOver(LinkId link)
{
    for (auto flight = m_flights.begin(); flight != m_flights.end();)
    {
        if (!IsOver(flight->second.way, link))
        {
            ++flight;
            continue;
        }
        if (flight->second.flow.bytes > 0)
        {
            m_transport->Cancel(flight->first);
        }
        m_state->Abort(flight->second.record.id);
        m_ledger->Abort(flight->second.record.entry);
        if (m_data)
        {
            m_data->PutBack(m_dispatcher->Get(flight->second.index),
                            std::move(flight->second.parcel));
        }
        ++m_nAborted;
        AllReduceFlow& flow = flight->second.flow;
        flow.duration = Simulator::Now() - flow.begin;
        m_applications[flow.source]->NoteAborted(flow);
        flight = m_flights.erase(flight);
    }
}

void
AllReduceSession::GoOnSoon()
{
    // Several links can change at the same time; the scheduler is asked once.
    if (m_next.IsExpired())
    {
        m_next = Simulator::ScheduleNow(&AllReduceSession::NoteNothingInFlight, this);
    }
}

void
AllReduceSession::EndAllReduce()
{
    m_isRunning = false;
    m_watch.Cancel();
    const Time end = m_numbers ? m_roundTimes.back().end : Simulator::Now();
    const Time duration = end - m_begin;
    std::string wrong =
        m_data ? m_data->FindWrong([this](NodeId server) { return IsHere(server); }) : "";
    if (wrong.empty() && !m_ledger->IsDone())
    {
        wrong = "the AllReduce is over, but not every contribution is in every sum";
    }
    if (!wrong.empty())
    {
        Fail(wrong);
        return;
    }
    m_durations.push_back(duration);
    NS_LOG_INFO("AllReduce " << m_durations.size() << " took " << duration.As(Time::MS));
    m_done(duration);
    if (m_numbers)
    {
        EndAllRanks();
        return;
    }
    if (m_durations.size() < m_iterations)
    {
        BeginAfterWait();
        return;
    }
    EndSession();
}

void
AllReduceSession::EndSession()
{
    m_isFinished = true;
    m_finished();
}

Time
AllReduceSession::GetPatience() const
{
    if (m_watchdog.IsStrictlyPositive())
    {
        return m_watchdog;
    }
    return m_transport->GetLongestSilence();
}

void
AllReduceSession::CheckProgress()
{
    const Time patience = GetPatience();
    const bool isWaitingForLink = m_isCutOff && m_watchdog.IsZero() && IsMendingDue();
    // Ranks whose servers take no part in a round hear nothing of it.
    constexpr int64_t LONG = 1000;
    const bool awaitsOthers = AwaitsOthers() && Simulator::Now() - m_lastArrival < patience * LONG;
    const Time begin = isWaitingForLink || awaitsOthers
                           ? Simulator::Now()
                           : Max(m_lastArrival, m_transport->GetLastArrival());
    const Time end = begin + patience;
    if (Simulator::Now() < end)
    {
        m_watch =
            Simulator::Schedule(end - Simulator::Now(), &AllReduceSession::CheckProgress, this);
        return;
    }
    std::ostringstream reason;
    reason << "nothing has arrived for " << patience.As(Time::MS) << ": "
           << (m_isCutOff             ? DescribeCutOff()
               : m_nextRounds.empty() ? DescribeStuck()
                                      : m_transport->DescribePreparation());
    Fail(reason.str());
}

std::string
AllReduceSession::DescribeStuck() const
{
    constexpr std::size_t MOST = 4;
    std::ostringstream text;
    std::size_t n = 0;
    for (const auto& [transfer, flight] : m_flights)
    {
        if (n++ == MOST)
        {
            text << "; and " << m_flights.size() - MOST << " more";
            break;
        }
        const Workload workload = m_dispatcher->Get(flight.index);
        text << (n > 1 ? "; " : "") << Describe(workload) << " from server " << workload.GetSource()
             << " to server " << workload.GetTarget() << " ("
             << m_transport->DescribeProgress(transfer) << ")";
    }
    if (m_flights.empty() && m_numbers)
    {
        text << m_nAwaited << " workloads of other ranks have not arrived";
    }
    return text.str();
}

std::string
AllReduceSession::FindCutOff()
{
    if (m_connectedAt == m_ledger->GetNUpsets())
    {
        return ""; // No link has changed since.
    }
    std::string cutOff = DescribeCutOff();
    m_connectedAt.reset();
    if (cutOff.empty())
    {
        m_connectedAt = m_ledger->GetNUpsets();
    }
    return cutOff;
}

std::string
AllReduceSession::DescribeCutOff() const
{
    std::ostringstream text;
    for (const NodeId server : allreduce::FindCutOff(*m_state, UsesMessages()))
    {
        text << (text.tellp() > 0 ? ", " : "") << server;
    }
    const char* rule = m_collective.mayRelay ? "" : " and servers that may not relay";
    return text.str().empty()
               ? ""
               : std::string("cut off by links that are down") + rule + ": server " + text.str();
}

bool
AllReduceSession::IsMendingDue() const
{
    AllReduceState mended = *m_state;
    for (LinkId link = 0; link < m_network->GetTopology().GetNLinks(); ++link)
    {
        mended.SetLinkUp(link, m_network->IsLinkUpOrDue(link));
    }
    return allreduce::FindCutOff(mended, UsesMessages()).empty();
}

void
AllReduceSession::NoteCutOff(bool isCutOff)
{
    if (isCutOff && !m_isCutOff)
    {
        m_cutOffSince = Simulator::Now();
    }
    if (!isCutOff && m_isCutOff && !m_hasBegun)
    {
        m_waited += Simulator::Now() - m_cutOffSince;
    }
    m_isCutOff = isCutOff;
}

void
AllReduceSession::Fail(const std::string& reason)
{
    NS_LOG_INFO("failed: " << reason);
    m_isRunning = false;
    m_failure = reason;
    m_watch.Cancel();
    m_next.Cancel();
    m_flights.clear();
    m_arrivals.clear();
    m_messages.clear();
    m_transport->Close();
    m_failed(reason);
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
    return m_roundDurations;
}

const std::vector<AllReduceSession::RoundTimes>&
AllReduceSession::GetRoundTimes() const
{
    return m_roundTimes;
}

Time
AllReduceSession::GetBegin() const
{
    return m_begin;
}

uint32_t
AllReduceSession::GetNReplans() const
{
    return m_prover->GetNRests();
}

const std::vector<std::string>&
AllReduceSession::GetReplanners() const
{
    return m_prover->GetReplanners();
}

bool
AllReduceSession::IsVerified() const
{
    return m_prover->IsProven();
}

uint32_t
AllReduceSession::GetNProofs() const
{
    return m_prover->GetNProofs();
}

std::optional<uint64_t>
AllReduceSession::GetPlanHash() const
{
    return m_prover->GetPlanHash();
}

uint64_t
AllReduceSession::GetNMessages() const
{
    return m_nMessages;
}

uint32_t
AllReduceSession::GetNAborted() const
{
    return m_nAborted;
}

double
AllReduceSession::GetProgress() const
{
    if (!m_state)
    {
        return m_isFinished ? 1 : 0;
    }
    return m_nSums == 0 ? 1 : 1 - static_cast<double>(m_state->GetNMissing()) / m_nSums;
}

Ptr<AllReduceTransport>
AllReduceSession::GetTransport() const
{
    return m_transport;
}

} // namespace ns3::allreduce
