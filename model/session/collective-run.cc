/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "collective-run.h"

#include "ns3/allreduce-error.h"
#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/workload-rates.h"

#include <iterator>
#include <set>
#include <sstream>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceCollectiveRun");

CollectiveRun::CollectiveRun(Ptr<AllReduceNetwork> network,
                             Ptr<AllReduceScheduler> scheduler,
                             Ptr<AllReduceTransport> transport,
                             Collective collective,
                             const std::vector<AllReduceApplication*>& applications,
                             Owner owner)
    : m_network(network),
      m_transport(transport),
      m_collective(std::move(collective)),
      m_owner(std::move(owner)),
      m_applications(applications),
      m_prover(scheduler),
      m_ranks(MakeRankCoordinator(network,
                                  transport,
                                  {[this] { return IsRunning(); },
                                   [this] { NotifyBarrierOver(); },
                                   [this] { NotifyStopped(); }})),
      m_control(network->GetTopology(),
                transport,
                *m_ranks,
                {[this](NodeId server) { return IsHere(server); },
                 [this](const std::vector<uint32_t>& indices) { NotifyGranted(indices); },
                 [this] { NotifyBarrierOver(); }})
{
    m_transport->Open(network,
                      MakeCallback(&CollectiveRun::NotifySent, this),
                      MakeCallback(&CollectiveRun::NotifyDelivered, this));
    m_transport->SetIncomingFinder(
        [this](TransferId transfer) { return m_ranks->FindIncoming(transfer, m_control); });
    m_network->TraceConnectWithoutContext("LinkChanged",
                                          MakeCallback(&CollectiveRun::NotifyLinkChanged, this));
}

void
CollectiveRun::Dispose()
{
    m_watch.Cancel();
    m_next.Cancel();
    m_look.Cancel();
    m_network->TraceDisconnectWithoutContext("LinkChanged",
                                             MakeCallback(&CollectiveRun::NotifyLinkChanged, this));
    m_transport->Dispose();
    m_flows.clear();
    m_arrivals.clear();
    m_dispatcher = nullptr;
    m_rounds.reset();
    m_live.reset();
    m_progress.reset();
    m_ranks->Close();
    m_phase = Phase::CLOSED;
}

void
CollectiveRun::Begin(const Settings& settings)
{
    m_settings = settings;
    const Topology& topology = m_network->GetTopology();
    const bool areLinksShared = !settings.hasBarriers || IsAdapting();
    m_progress = std::make_unique<CollectiveProgress>(topology, m_collective, areLinksShared);
    m_ranks->Begin(settings.bytes, m_collective.GetNChunks(), settings.verifiesData);
    m_prover.Restart();
    m_cutOff.Restart();
    for (LinkId link = 0; link < topology.GetNLinks(); ++link)
    {
        m_progress->SetLinkUp(link, m_network->IsLinkUp(link));
    }
    if (settings.verifiesData)
    {
        std::vector<uint64_t> sizes(m_collective.GetNChunks());
        for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
        {
            sizes[chunk] = GetBytesOf(chunk);
        }
        m_progress->CarryData(std::move(sizes));
    }
    m_clock.Restart();
    m_firstRound = 0;
    if (IsAdapting())
    {
        BeginBeliefs();
    }
    MakeDispatcher();
    m_phase = Phase::RUNNING;
    m_lastArrival = Simulator::Now();
    m_watch = Simulator::Schedule(GetPatience(), &CollectiveRun::CheckProgress, this);
    GoOn();
}

void
CollectiveRun::MakeDispatcher()
{
    if (m_settings.adapt == AllReduceSession::LIVE)
    {
        BeginLive();
        m_dispatcher = m_live.get();
        return;
    }
    const Topology& topology = IsAdapting() ? GetPlanned() : m_network->GetTopology();
    m_rounds = std::make_unique<WorkloadDispatcher>(topology, !m_settings.usesMessages);
    m_dispatcher = m_rounds.get();
}

void
CollectiveRun::GoOn()
{
    EndRounds();
    if (m_progress->GetState().IsDone())
    {
        End();
        return;
    }
    const std::string cutOff = m_cutOff.Find(*m_progress, m_settings.usesMessages);
    m_cutOff.Update(!cutOff.empty(), !m_clock.HasBegun());
    if (m_cutOff.IsCutOff() &&
        !IsMendingDue(m_progress->GetState(), *m_network, m_settings.usesMessages))
    {
        Fail(cutOff);
    }
    if (m_cutOff.IsCutOff())
    {
        return; // A link that comes back goes on.
    }
    const uint32_t nReplans = m_prover.GetNReplans();
    try
    {
        m_nextRounds = GetNextRounds();
    }
    catch (const InputError& error)
    {
        Fail(error.what());
        return;
    }
    if (m_prover.GetNReplans() > nReplans)
    {
        m_owner.replanned(m_firstRound, m_prover.GetLastReplanner());
    }
    if (m_settings.usesMessages && !m_clock.HasBegun())
    {
        PlanBarrier();
    }
    Prepare();
}

void
CollectiveRun::EndRounds()
{
    m_ranks->EndRounds(*m_progress);
    for (auto flow = m_flows.begin(); flow != m_flows.end();)
    {
        // Those to other ranks may be on their way; nobody waits for them here.
        flow = IsHere(flow->second.watched.target) ? std::next(flow) : m_flows.erase(flow);
    }
    uint32_t nBegun = 0;
    for (uint32_t round = 0; round < m_dispatcher->GetNRounds(); ++round)
    {
        if (m_ranks->HasBegun(m_dispatcher->GetNBegun(round)))
        {
            nBegun = round + 1;
            m_progress->EndRound();
            if (!m_dispatcher->IsRoundOver(round))
            {
                NotifyRoundEnded(round); // A link broke, and not all of it has arrived.
            }
        }
    }
    if (m_live && nBegun > 0)
    {
        m_owner.handedOut(m_firstRound, m_live->ListRounds());
    }
    m_firstRound += nBegun;
    m_clock.Resize(m_firstRound);
    m_live ? m_live->Clear() : m_rounds->Load({});
}

std::vector<WorkloadList>
CollectiveRun::GetNextRounds()
{
    if (m_live)
    {
        return GetRoundsToFollow();
    }
    if (m_believed || m_isReplanDue)
    {
        return GetRoundsForBelieved();
    }
    if (m_settings.hasBarriers)
    {
        std::vector<WorkloadList> rounds;
        rounds.push_back(m_prover.GetRound(m_progress->GetState(), m_progress->GetLedger()));
        return rounds;
    }
    AllReduceState state = m_progress->GetState();
    state.SetLinksShared(false);
    return m_prover.GetAll(state, m_progress->GetLedger());
}

void
CollectiveRun::Prepare()
{
    if (m_preparation != Preparation::NONE)
    {
        BeginRounds();
        return;
    }
    m_preparation = Preparation::GATHERING;
    m_ranks->SetPlan(m_prover.GetPresentAndAhead());
    m_control.GetBarrier().BeginGathering();
    if (!m_transport->NeedsPreparation() ||
        !m_transport->Prepare(FindFirstTransfers(),
                              !m_settings.hasBarriers,
                              MakeCallback(&CollectiveRun::NotifyPrepared, this)))
    {
        m_preparation = Preparation::DONE;
        BeginRounds();
    }
}

void
CollectiveRun::NotifyPrepared(NodeId server)
{
    if (m_preparation != Preparation::GATHERING)
    {
        return; // A link broke in the meantime.
    }
    if (m_settings.usesMessages)
    {
        m_control.GetBarrier().NotifyArrival(server);
    }
    else if (++m_nPrepared == m_network->GetTopology().GetNServers())
    {
        BeginRounds();
    }
}

std::vector<TransferPlan>
CollectiveRun::FindFirstTransfers() const
{
    // A scheduler that chooses by round has only said what comes next.
    const RoundRange plan = m_prover.GetPresentAndAhead();
    const bool isKnown = m_settings.hasBarriers && !plan.empty();
    std::vector<TransferPlan> transfers;
    std::set<Path> paths;
    for (const WorkloadList& round : isKnown ? plan : MakeRoundRange(m_nextRounds))
    {
        const std::vector<uint64_t> rates = ComputeWorkloadRates(m_network->GetTopology(), round);
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            const uint64_t bytes = GetBytesOf(workload.chunk);
            const Path path(workload.path.begin(), workload.path.end());
            if (bytes > 0 && paths.insert(path).second)
            {
                transfers.push_back({path, bytes, rates[i]});
            }
        }
    }
    if (m_settings.usesMessages)
    {
        AddFirstMessages(transfers);
    }
    return transfers;
}

void
CollectiveRun::AddFirstMessages(std::vector<TransferPlan>& transfers) const
{
    std::vector<Path> paths = m_control.GetBarrier().GetPaths();
    if (!m_settings.hasBarriers)
    {
        for (const TransferPlan& transfer : transfers)
        {
            paths.emplace_back(transfer.path.rbegin(), transfer.path.rend());
        }
    }
    for (const Path& path : paths)
    {
        const auto timing = ComputePathTiming(m_network->GetTopology(), path, 0);
        transfers.push_back({path, ControlPlane::MESSAGE_BYTES, timing.slowestBps});
    }
}

void
CollectiveRun::BeginRounds()
{
    if (!IsRunning() || m_nextRounds.empty())
    {
        return; // A link broke in the meantime: others begin, or have begun without waiting.
    }
    m_clock.Begin(m_cutOff.GetWaited() + m_settings.waited);
    const bool hasGathered = m_preparation == Preparation::GATHERED;
    m_preparation = Preparation::DONE;
    m_isHalted = false;
    m_control.BeginWithGrants();
    if (m_live)
    {
        m_owner.handedOut(m_firstRound, {WorkloadList()}); // What it is to be is known later.
        m_live->Begin(std::exchange(m_nextRounds, {}));
        BeginWorkloads();
        FailIfStuck();
        return;
    }
    m_owner.handedOut(m_firstRound, m_nextRounds);
    m_rounds->Load(std::exchange(m_nextRounds, {}));
    m_clock.Resize(m_firstRound + m_dispatcher->GetNRounds());
    m_ranks->BeginRounds(*m_dispatcher, m_firstRound, *m_progress);
    if (m_settings.usesMessages && m_settings.hasBarriers)
    {
        const bool isTogether = m_firstRound == 0 && !hasGathered;
        m_control.BeginBarrier(m_rounds->GetWorkloads(0), isTogether);
    }
    BeginWorkloads();
}

void
CollectiveRun::NotifyBarrierOver()
{
    if (m_preparation == Preparation::GATHERING)
    {
        m_preparation = Preparation::GATHERED;
        BeginRounds();
    }
    else
    {
        GoOn();
    }
}

void
CollectiveRun::NotifyNothingUnderWay()
{
    if (m_live && !m_flows.empty())
    {
        return; // Something else happened at the same time, and let transfers begin.
    }
    if (!m_settings.usesMessages || m_live || m_progress->GetState().IsDone())
    {
        GoOn();
    }
    else if (m_isHalted || m_cutOff.IsCutOff())
    {
        ComeTogether();
    }
    // Else messages are on their way that go on.
}

void
CollectiveRun::ComeTogether()
{
    m_isHalted = true;
    m_control.Halt();
    if (!DescribeCutOff(m_progress->GetState(), m_settings.usesMessages).empty())
    {
        GoOn(); // which waits for a link
        return;
    }
    m_cutOff.Update(false, !m_clock.HasBegun());
    PlanBarrier();
    m_control.GetBarrier().BeginTogether({});
}

void
CollectiveRun::PlanBarrier()
{
    // Those that have something left to do reach each other.
    m_control.PlanTree(m_progress->GetState(), m_progress->FindLacking());
}

void
CollectiveRun::NotifyRoundBegun(uint32_t round)
{
    if (m_dispatcher->GetNBegun(round) == 1)
    {
        m_clock.BeginRound(m_firstRound + round);
        m_owner.roundStarted(m_firstRound + round);
    }
}

void
CollectiveRun::NotifyRoundEnded(uint32_t round)
{
    const uint32_t number = m_firstRound + round;
    const AllReduceSession::RoundTimes& times = m_clock.GetTimes()[number];
    const Time end = m_ranks->GetEnd(times.end);
    if (times.begin > end)
    {
        return; // No server here received anything.
    }
    m_owner.roundEnded(number, m_clock.EndRound(number, end));
}

void
CollectiveRun::NotifyLinkChanged(LinkId link, bool isUp)
{
    if (!IsRunning())
    {
        return;
    }
    NS_LOG_INFO("link " << link << (isUp ? " is up" : " is down"));
    m_lastArrival = Simulator::Now(); // What was silent before tells nothing any more.
    m_progress->SetLinkUp(link, isUp);
    if (m_live && m_nextRounds.empty())
    {
        NotifyLinkChangedLive(link, isUp);
        return;
    }
    if (!isUp)
    {
        AbortFlowsOver(link);
        m_control.DropMessagesOver(link);
    }
    // Rounds to come may need servers that were cut off when the barrier was planned.
    const bool lacksSomebody =
        m_settings.usesMessages && m_settings.hasBarriers && !m_control.GetBarrier().HasEverybody();
    if (!isUp || lacksSomebody)
    {
        m_control.Halt();
        m_dispatcher->Halt();
        CompleteArrived();
        m_nextRounds.clear();
        if (m_preparation == Preparation::GATHERING)
        {
            m_preparation = Preparation::DONE;
        }
        m_isHalted = true;
    }
    if (m_flows.empty())
    {
        GoOnSoon();
    }
}

void
CollectiveRun::GoOnSoon()
{
    // Several links can change at the same time; the scheduler is asked once.
    if (m_next.IsExpired())
    {
        m_next = Simulator::ScheduleNow(&CollectiveRun::NotifyNothingUnderWay, this);
    }
}

void
CollectiveRun::End()
{
    m_phase = Phase::IDLE;
    m_control.Halt();
    m_watch.Cancel();
    m_look.Cancel();
    const Time begin = m_clock.GetBegin();
    const auto& times = m_clock.GetTimes();
    const Time end = m_ranks->GetEnd(times.empty() ? begin : times.back().end);
    const std::string wrong =
        m_progress->FindWrong([this](NodeId server) { return IsHere(server); });
    if (!wrong.empty())
    {
        Fail(wrong);
        return;
    }
    m_owner.done(end - begin);
}

void
CollectiveRun::Stop()
{
    m_phase = Phase::STOPPING;
    m_ranks->Stop(m_control);
}

void
CollectiveRun::NotifyStopped()
{
    m_phase = Phase::IDLE;
    m_owner.stopped();
}

RoundProver&
CollectiveRun::GetProver()
{
    return m_prover;
}

const std::vector<AllReduceSession::RoundTimes>&
CollectiveRun::GetRoundTimes() const
{
    return m_clock.GetTimes();
}

const std::vector<Time>&
CollectiveRun::GetRoundDurations() const
{
    return m_clock.GetDurations();
}

Time
CollectiveRun::GetBegin() const
{
    return m_clock.GetBegin();
}

uint32_t
CollectiveRun::GetNAborted() const
{
    return m_nAborted;
}

uint64_t
CollectiveRun::GetNMessages() const
{
    return m_control.GetNMessages();
}

std::optional<double>
CollectiveRun::GetShareDone() const
{
    return m_progress ? std::optional(m_progress->GetShareDone()) : std::nullopt;
}

} // namespace ns3::allreduce
