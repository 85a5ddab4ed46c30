/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How a CollectiveRun adapts to a network that is not what was announced.
 */

#include "collective-run.h"

#include "ns3/allreduce-error.h"
#include "ns3/chunk-needs.h"
#include "ns3/crawling-transfer.h"
#include "ns3/ideal-time.h"
#include "ns3/log.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceCollectiveRunAdapt");

void
CollectiveRun::SetAnnounced(Topology announced)
{
    m_announced = std::move(announced);
}

bool
CollectiveRun::IsAdapting() const
{
    return m_settings.adapt != AllReduceSession::NO_ADAPTATION;
}

const Topology&
CollectiveRun::GetAnnounced() const
{
    return m_announced ? *m_announced : m_network->GetTopology();
}

const Topology&
CollectiveRun::GetPlanned() const
{
    return m_believed ? m_believed->topology : GetAnnounced();
}

void
CollectiveRun::BeginLive()
{
    const Ptr<AllReduceScheduler> scheduler = m_prover.GetScheduler();
    m_live = std::make_unique<LiveDispatcher>(
        GetAnnounced(),
        scheduler->ChoosesByTransfer() ? scheduler : CreateScheduler("live"),
        m_progress->GetState(),
        GetBytesOf(0));
    m_live->SetBelieved(m_beliefs->GetBelievedBps());
    m_hasFollowed = false;
    m_nLate = 0;
    for (NodeId server = 0; server < m_settings.isReady.size(); ++server)
    {
        m_live->SetReady(server, m_settings.isReady[server]);
        m_nLate += m_settings.isReady[server] ? 0 : 1;
    }
}

void
CollectiveRun::NotifyServerReady(NodeId server)
{
    if (!IsRunning())
    {
        return;
    }
    NS_LOG_INFO("server " << server << " is ready");
    m_lastArrival = Simulator::Now();
    --m_nLate;
    m_live->SetReady(server, true);
    CompleteArrived();
    BeginWorkloads();
    if (m_flows.empty())
    {
        GoOnSoon(); // It may have no link that is up.
    }
}

/// @return what is planned for the announced network at first, and nothing after that: one empty
/// round
std::vector<WorkloadList>
CollectiveRun::GetRoundsToFollow()
{
    const Ptr<AllReduceScheduler> scheduler = m_prover.GetScheduler();
    const bool isPlanned =
        m_prover.HasPlan() || !scheduler->ChoosesByTransfer() || !scheduler->ChoosesByRound();
    if (std::exchange(m_hasFollowed, true) || !isPlanned)
    {
        return {WorkloadList()};
    }
    AllReduceState state = m_progress->GetState();
    ContributionLedger ledger = m_progress->GetLedger();
    state.SetRates(GetAnnounced());
    ledger.SetRates(GetAnnounced());
    state.SetLinksShared(false);
    return m_prover.GetAll(state, ledger);
}

std::vector<WorkloadList>
CollectiveRun::GetRoundsForBelieved()
{
    const bool isAnew = std::exchange(m_isReplanDue, false);
    if (isAnew)
    {
        const auto believed =
            std::make_shared<const BelievedNetwork>(MakeBelievedNetwork(GetAnnounced(),
                                                                        m_beliefs->GetBelievedBps(),
                                                                        m_collective,
                                                                        m_settings.bytes));
        m_rounds =
            std::make_unique<WorkloadDispatcher>(believed->topology, !m_settings.usesMessages);
        m_dispatcher = m_rounds.get();
        m_believed = believed; // What was planned for before must outlive its dispatcher.
    }
    AllReduceState state = m_progress->GetState();
    ContributionLedger ledger = m_progress->GetLedger();
    state.SetRates(m_believed->topology);
    ledger.SetRates(m_believed->topology);
    state.SetLinksShared(false);
    AllReduceState without = state;
    for (const LinkId link : m_believed->useless)
    {
        without.SetLinkUp(link, false);
    }
    if (FindCutOff(without, false).empty())
    {
        state = without; // Else links that broke since have made some of them useful.
    }
    if (!m_settings.hasBarriers)
    {
        return m_prover.PlanAnew(state, ledger);
    }
    if (isAnew || state.IsFresh())
    {
        m_prover.PlanAnew(state, ledger); // Not the plan for the announced network.
    }
    return {m_prover.GetRound(state, ledger)};
}

void
CollectiveRun::NotifyLinkChangedLive(LinkId link, bool isUp)
{
    if (!isUp)
    {
        AbortFlowsOver(link);
    }
    m_live->NotifySurprise();
    CompleteArrived();
    BeginWorkloads();
    if (m_flows.empty())
    {
        GoOnSoon();
    }
}

/// Where rounds are followed, something is always under way; a scheduler may choose nothing.
void
CollectiveRun::FailIfStuck()
{
    const bool isWaiting = m_nLate > 0 || m_preparation != Preparation::DONE || m_cutOff.IsCutOff();
    if (IsRunning() && m_flows.empty() && !isWaiting && m_next.IsExpired())
    {
        Fail(GetSchedulerName(*m_prover.GetScheduler()) + " chooses nothing, although " +
             std::to_string(m_progress->GetState().GetNMissing()) + " sums are missing");
    }
}

/// Links believed slow are sent to a little faster: else nobody would see that they recover.
uint64_t
CollectiveRun::FindPace(const Flow& flow) const
{
    constexpr double PROBING_FACTOR = 1.3;
    const uint64_t rate = m_dispatcher->GetRate(flow.index);
    if (!m_beliefs || m_live)
    {
        return rate;
    }
    const auto& announced = m_beliefs->GetAnnouncedBps();
    const auto& believed = m_beliefs->GetBelievedBps();
    uint64_t least = UINT64_MAX;
    bool isSlow = false;
    for (const DirectedLinkId link : flow.links)
    {
        least = std::min(least, announced[link]);
        isSlow = isSlow || believed[link] < announced[link];
    }
    return isSlow ? std::min<uint64_t>(least, PROBING_FACTOR * rate) : rate;
}

/// What was learned in one collective serves the next.
void
CollectiveRun::BeginBeliefs()
{
    constexpr double MEMORY_CHUNKS = 16;
    constexpr double LOOK_FRAMES = 4;
    constexpr int64_t SETTLING_CHUNKS = 8;
    constexpr double SETTLING_SHARE = 1.0 / 32;
    constexpr double NEVER = 1e9;
    const Topology& announced = GetAnnounced();
    uint64_t slowest = UINT64_MAX;
    for (const Link& link : announced.GetLinks())
    {
        slowest = std::min(slowest, link.rateBps);
    }
    const FrameFormat format = m_transport->GetFrameFormat(1, m_network->GetMtu());
    m_chunkTime = Seconds(8.0 * GetBytesOf(0) / slowest);
    m_settling = Max(SETTLING_CHUNKS * m_chunkTime,
                     Seconds(SETTLING_SHARE *
                             ComputeIdealTime(announced, m_collective, m_settings.bytes).seconds));
    m_lookInterval = Max(TimeStep(1), Seconds(LOOK_FRAMES * format.GetFrameBits() / slowest));
    if (!m_beliefs)
    {
        RateBeliefsSettings settings;
        settings.memorySeconds =
            std::max(settings.memorySeconds, MEMORY_CHUNKS * m_chunkTime.GetSeconds());
        if (m_settings.adapt == AllReduceSession::REPLAN)
        {
            settings.memorySeconds = NEVER; // To plan for a mere hope would cost more than it wins.
        }
        m_beliefs = std::make_unique<RateBeliefs>(announced, settings);
    }
    m_lastUse = Simulator::Now();
    m_pause = m_settings.adapt == AllReduceSession::LIVE ? m_chunkTime : m_settling;
    m_usedVersion = 0;
    if (m_beliefs->GetBelievedBps() == m_beliefs->GetAnnouncedBps())
    {
        m_believed.reset();
    }
    m_isReplanDue = m_believed != nullptr; // It paid before, at rates that may have changed since.
    m_lastProgress = Simulator::Now();
    m_look = Simulator::Schedule(m_lookInterval, &CollectiveRun::LookAtFlows, this);
}

void
CollectiveRun::WatchFlow(TransferId transfer, const Flow& flow, uint64_t paceBps)
{
    const Workload workload = m_dispatcher->Get(flow.index);
    const Path path(workload.path.begin(), workload.path.end());
    ObservedFlow observed;
    observed.id = transfer;
    observed.links = flow.links;
    observed.paceBps = paceBps;
    observed.format = m_transport->GetFrameFormat(flow.links.size(), m_network->GetMtu());
    const PathTiming timing =
        ComputePathTiming(GetAnnounced(), path, observed.format.GetFrameBits());
    observed.tripSeconds = timing.frame + timing.propagation;
    observed.setupSeconds = m_transport->GetSetupSeconds(GetAnnounced(),
                                                         m_network->GetMtu(),
                                                         {path, flow.watched.bytes, paceBps});
    m_beliefs->BeginFlow(observed, Simulator::Now().GetSeconds());
    m_lastProgress = Simulator::Now();
    if (Simulator::GetDelayLeft(m_look) > m_lookInterval)
    {
        m_look.Cancel();
        m_look = Simulator::Schedule(m_lookInterval, &CollectiveRun::LookAtFlows, this);
    }
}

void
CollectiveRun::LookAtFlows()
{
    uint64_t bytesArrived = 0;
    for (const auto& [transfer, flow] : m_flows)
    {
        const TransferProgress progress = m_transport->GetProgress(transfer);
        m_beliefs->Progress(transfer, progress);
        bytesArrived += progress.arrived;
    }
    m_beliefs->Update(Simulator::Now().GetSeconds());
    if (std::exchange(m_bytesArrived, bytesArrived) != bytesArrived)
    {
        m_lastProgress = Simulator::Now();
    }
    // Where delays are long, or nothing can be sent, frames are no measure of time.
    constexpr int64_t SILENT_LOOKS = 16;
    const Time silence = Simulator::Now() - m_lastProgress;
    m_look = Simulator::Schedule(Max(m_lookInterval, silence / SILENT_LOOKS),
                                 &CollectiveRun::LookAtFlows,
                                 this);
    UseBeliefs();
    BeginWorkloads();
}

/// Act on what is believed, if that has changed and was not acted on just before.
void
CollectiveRun::UseBeliefs()
{
    if (!m_beliefs)
    {
        return;
    }
    for (const BeliefChange& change : m_beliefs->TakeChanges())
    {
        NS_LOG_INFO("link " << FormatPath({GetAnnounced().GetSource(change.link),
                                           GetAnnounced().GetTarget(change.link)})
                            << " is believed to have " << change.newBps << " bit/s, before "
                            << change.oldBps);
        m_owner.believed(change);
        m_lastChange = Simulator::Now();
    }
    // Choices can be changed at any time, plans cannot: they are for what seems to last.
    const bool isSettled = m_live || Simulator::Now() >= m_lastChange + m_settling;
    if (m_beliefs->GetVersion() == m_usedVersion || m_isHalted || !m_nextRounds.empty() ||
        !isSettled || Simulator::Now() < m_lastUse + m_pause)
    {
        return;
    }
    m_usedVersion = m_beliefs->GetVersion();
    m_lastUse = Simulator::Now();
    const bool isFollowing = !m_live || m_live->GetFollowed();
    if (isFollowing && !DoesReplanPay())
    {
        return;
    }
    if (m_live)
    {
        m_live->SetBelieved(m_beliefs->GetBelievedBps());
        GiveUpCrawling();
        CompleteArrived();
    }
    else
    {
        m_pause = 2 * m_pause; // Where beliefs change all the time no plan is right for long.
        BeginReplan();
    }
}

/// @return whether what is left of the plan takes clearly longer than a new plan could
bool
CollectiveRun::DoesReplanPay() const
{
    constexpr double MOST_LONGER = 1.15;
    constexpr double PAUSE_CHUNKS = 2;
    const auto& believed = m_beliefs->GetBelievedBps();
    const std::vector<uint64_t> bits = CountBitsAhead();
    double expected = 0;
    for (DirectedLinkId link = 0; link < bits.size(); ++link)
    {
        expected = std::max(expected, bits[link] / static_cast<double>(believed[link]));
    }
    const double pause = PAUSE_CHUNKS * m_chunkTime.GetSeconds();
    if (expected <= pause)
    {
        return false;
    }
    const double left = 1 - GetShareDone().value_or(0);
    const double ideal =
        ComputeIdealTime(MakeWithRates(GetAnnounced(), believed), m_collective, m_settings.bytes)
            .bandwidth;
    return expected > MOST_LONGER * left * ideal + pause;
}

/// @return by directed link: what workloads that have not begun will send over it
std::vector<uint64_t>
CollectiveRun::CountBitsAhead() const
{
    std::vector<uint64_t> bits(m_network->GetTopology().GetNDirectedLinks(), 0);
    const auto count = [&](const Workload& workload) {
        ForEachLink(m_network->GetTopology(), workload.path, [&](DirectedLinkId link) {
            bits[link] += 8 * GetBytesOf(workload.chunk);
        });
    };
    if (m_settings.hasBarriers)
    {
        RoundRange ahead = m_prover.GetPresentAndAhead();
        for (ahead.advance_begin(ahead.empty() ? 0 : 1); !ahead.empty(); ahead.advance_begin(1))
        {
            for (std::size_t i = 0; i < ahead.front().GetSize(); ++i)
            {
                count(ahead.front().Get(i));
            }
        }
    }
    const WorkloadDispatcher& rounds = m_live ? *m_live->GetFollowed() : *m_rounds;
    for (uint32_t index = 0; index < rounds.GetSize() && !m_settings.hasBarriers; ++index)
    {
        if (!rounds.HasBegun(index))
        {
            count(rounds.Get(index));
        }
    }
    return bits;
}

/// What is under way runs to its end, unless it crawls; what has not begun is planned anew.
void
CollectiveRun::BeginReplan()
{
    NS_LOG_INFO("what is left is planned anew for the rates that flows show");
    m_isReplanDue = true;
    if (m_settings.hasBarriers)
    {
        return; // The present round runs to its end.
    }
    m_control.Halt();
    m_dispatcher->Halt();
    CompleteArrived();
    m_isHalted = true;
    GiveUpCrawling();
    if (m_flows.empty())
    {
        GoOnSoon();
    }
}

void
CollectiveRun::GiveUpCrawling()
{
    const auto& announced = m_beliefs->GetAnnouncedBps();
    const auto& believed = m_beliefs->GetBelievedBps();
    for (auto next = m_flows.begin(); next != m_flows.end();)
    {
        const auto present = next++;
        const Flow& flow = present->second;
        uint64_t announcedBps = UINT64_MAX;
        uint64_t believedBps = UINT64_MAX;
        for (const DirectedLinkId link : flow.links)
        {
            announcedBps = std::min(announcedBps, announced[link]);
            believedBps = std::min(believedBps, believed[link]);
        }
        const uint64_t arrived = m_transport->GetProgress(present->first).arrived;
        const double bits = 8.0 * flow.watched.bytes;
        const CrawlingTransfer transfer{1 - arrived / std::max<double>(1, flow.watched.bytes),
                                        bits / m_dispatcher->GetExpectedRate(flow.index),
                                        bits / announcedBps,
                                        bits / believedBps};
        if (IsToBeGivenUp(transfer))
        {
            m_bytesGivenUp += arrived;
            Abort(present);
        }
    }
}

uint64_t
CollectiveRun::GetBytesGivenUp() const
{
    return m_bytesGivenUp;
}

bool
CollectiveRun::IsProven() const
{
    // What is chosen one by one is legal, or the run fails, and the ledger proves the end.
    return m_live ? m_live->GetSize() > 0 || m_firstRound > 0 : m_prover.IsProven();
}

} // namespace ns3::allreduce
