/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "live-dispatcher.h"

#include "ns3/allreduce-error.h"
#include "ns3/log.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceLiveDispatcher");

namespace
{

/// @return whether there is something in it, and what is left of it can be chosen one by one at any
/// time: servers send all that they hold
bool
IsFollowable(const std::vector<WorkloadList>& plan)
{
    bool hasAny = false;
    for (const WorkloadList& round : plan)
    {
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            if (!round.Get(i).contributors.empty())
            {
                return false;
            }
            hasAny = true;
        }
    }
    return hasAny;
}

} // namespace

LiveDispatcher::LiveDispatcher(const Topology& announced,
                               Ptr<AllReduceScheduler> scheduler,
                               const AllReduceState& state,
                               uint64_t chunkBytes)
    : m_topology(announced),
      m_scheduler(scheduler),
      m_state(state),
      m_chunkBytes(chunkBytes),
      m_begin(Simulator::Now()),
      m_taken(announced.GetNDirectedLinks(), 0),
      m_pacedBps(announced.GetNDirectedLinks(), 0),
      m_nTrailing(announced.GetNDirectedLinks(), 0),
      m_isReady(announced.GetNServers(), true),
      m_isToAsk(announced.GetNDirectedLinks(), false)
{
    uint64_t fastest = 1;
    for (DirectedLinkId link = 0; link < announced.GetNDirectedLinks(); ++link)
    {
        m_announcedBps.push_back(announced.GetLinkOf(link).rateBps);
        fastest = std::max(fastest, m_announcedBps.back());
    }
    m_roundLength = Max(TimeStep(1), Seconds(8.0 * chunkBytes / fastest));
    m_seemingBps = m_announcedBps;
    m_believedBps = m_announcedBps;
    m_freeBps = m_announcedBps;
}

void
LiveDispatcher::Begin(std::vector<WorkloadList> plan)
{
    Clear();
    m_isHalted = false;
    UpdateBelieved();
    m_isSurprised = !IsFollowable(plan) || !IsAsAnnounced();
    if (!m_isSurprised)
    {
        m_followed = std::make_unique<WorkloadDispatcher>(m_topology, true);
        m_followed->Load(std::move(plan));
        m_entryOf.assign(m_followed->GetSize(), 0);
    }
}

void
LiveDispatcher::Clear()
{
    m_entries.clear();
    m_underWay.clear();
    m_underWayIndices.clear();
    m_counts.clear();
    m_completable.clear();
    m_arrived.clear();
    m_followed.reset();
    std::fill(m_nTrailing.begin(), m_nTrailing.end(), 0);
    m_isHalted = true;
}

const WorkloadDispatcher*
LiveDispatcher::GetFollowed() const
{
    return m_followed.get();
}

std::vector<WorkloadList>
LiveDispatcher::ListRounds() const
{
    std::vector<WorkloadList> rounds(m_counts.size());
    for (const Entry& entry : m_entries)
    {
        rounds[entry.round].Add(entry.transfer.GetWorkload());
    }
    return rounds;
}

LiveView
LiveDispatcher::GetView() const
{
    return {m_state,
            m_announcedBps,
            m_believedBps,
            m_freeBps,
            m_underWay,
            m_chunkBytes,
            (Simulator::Now() - m_begin).GetSeconds()};
}

void
LiveDispatcher::SetBelieved(const std::vector<uint64_t>& believedBps)
{
    m_seemingBps = believedBps;
    NotifySurprise();
}

void
LiveDispatcher::SetReady(NodeId server, bool isReady)
{
    m_isReady[server] = isReady;
    NotifySurprise();
}

void
LiveDispatcher::NotifySurprise()
{
    m_isSurprised = true;
    if (m_followed)
    {
        LeavePlan();
    }
}

const std::vector<uint64_t>&
LiveDispatcher::GetBelievedBps() const
{
    return m_believedBps;
}

bool
LiveDispatcher::IsAsAnnounced() const
{
    return m_believedBps == m_announcedBps;
}

/// All servers and links are as planned so far, and the plan says what is next.
std::optional<uint32_t>
LiveDispatcher::FollowPlan()
{
    m_arrived.clear();
    const auto planned = m_followed->BeginNext();
    return planned ? std::optional<uint32_t>(AddPlanned(*planned)) : std::nullopt;
}

std::optional<uint32_t>
LiveDispatcher::CompleteInPlan()
{
    const auto planned = m_followed->CompleteNext();
    if (!planned)
    {
        return std::nullopt;
    }
    const uint32_t index = m_entryOf[*planned];
    EndTransfer(index);
    return index;
}

void
LiveDispatcher::LeavePlan()
{
    NS_LOG_INFO("the plan is left");
    m_followed.reset();
    m_arrived.clear();
    for (const uint32_t index : m_underWayIndices)
    {
        Entry& entry = m_entries[index];
        if (entry.hasArrived)
        {
            m_completable.push_back(index); // The plan would have let it wait for others.
        }
        else if (entry.holdsPorts)
        {
            TakeLinks(entry);
        }
        else
        {
            BeginTrail(entry);
        }
    }
}

/// Tell the scheduler what has happened since it was asked last.
void
LiveDispatcher::NotifyScheduler()
{
    if (m_isSurprised)
    {
        UpdateBelieved();
    }
    for (const uint32_t index : m_hasAsked ? std::exchange(m_arrived, {}) : std::vector<uint32_t>())
    {
        m_scheduler->NotifyArrived(GetView(), m_entries[index].transfer.GetWorkload());
    }
    if (m_isSurprised)
    {
        m_isSurprised = false;
        if (!std::exchange(m_hasAsked, true))
        {
            m_arrived.clear();
            m_scheduler->BeginTransfers(GetView());
        }
        m_scheduler->NotifySurprise(GetView());
        AskAllPorts();
    }
}

std::optional<uint32_t>
LiveDispatcher::BeginNext()
{
    if (m_isHalted)
    {
        return std::nullopt;
    }
    if (m_followed)
    {
        return FollowPlan();
    }
    NotifyScheduler();
    while (!m_ask.empty())
    {
        const DirectedLinkId port = m_ask.front();
        if (HasRateLeft(port))
        {
            if (auto chosen = m_scheduler->NextTransfer(GetView(), port))
            {
                return AddChosen(std::move(*chosen));
            }
        }
        m_ask.pop_front();
        m_isToAsk[port] = false;
    }
    return std::nullopt;
}

bool
LiveDispatcher::IsLastRoundPast() const
{
    return m_counts.empty() || Simulator::Now() >= m_lastRoundBegin + m_roundLength;
}

LiveDispatcher::Entry
LiveDispatcher::MakeEntry(ChosenTransfer&& transfer) const
{
    Entry entry;
    entry.transfer = std::move(transfer);
    entry.links = FindLinks(m_topology, entry.transfer.path);
    return entry;
}

uint32_t
LiveDispatcher::AddChosen(ChosenTransfer&& transfer)
{
    m_topology.CheckPath(transfer.path);
    Entry entry = MakeEntry(std::move(transfer));
    FindRates(entry);
    TakeLinks(entry);
    return Add(std::move(entry));
}

uint32_t
LiveDispatcher::AddPlanned(uint32_t planned)
{
    const Workload workload = m_followed->Get(planned);
    Entry entry =
        MakeEntry({workload.chunk, workload.kind, {workload.path.begin(), workload.path.end()}});
    entry.planned = planned;
    entry.rateBps = entry.paceBps = m_followed->GetRate(planned);
    return m_entryOf[planned] = Add(std::move(entry));
}

uint32_t
LiveDispatcher::Add(Entry&& entry)
{
    if (IsLastRoundPast())
    {
        m_counts.emplace_back();
        m_lastRoundBegin = Simulator::Now();
    }
    entry.round = m_counts.size() - 1;
    entry.position = m_counts[entry.round].nBegun++;
    entry.underWay = m_underWay.size();
    m_underWayIndices.push_back(m_entries.size());
    m_entries.push_back(std::move(entry));
    const Workload workload = m_entries.back().transfer.GetWorkload();
    m_underWay.push_back(
        {workload, m_entries.back().rateBps, (Simulator::Now() - m_begin).GetSeconds()});
    NS_LOG_LOGIC(Describe(workload) << " begins");
    return m_entries.size() - 1;
}

void
LiveDispatcher::NotifyArrived(uint32_t index)
{
    m_entries[index].hasArrived = true;
    if (m_followed)
    {
        m_entries[index].holdsPorts = false;
        m_followed->NotifyArrived(m_entries[index].planned);
        return;
    }
    EndTrail(m_entries[index]);
    GiveBackLinks(m_entries[index]);
    m_completable.push_back(index);
}

std::optional<uint32_t>
LiveDispatcher::CompleteNext()
{
    if (m_followed)
    {
        return CompleteInPlan();
    }
    if (m_completable.empty())
    {
        return std::nullopt;
    }
    const uint32_t index = m_completable.back();
    m_completable.pop_back();
    EndTransfer(index);
    m_arrived.push_back(index);
    AskPortsOf(m_entries[index].transfer.path.back());
    return index;
}

void
LiveDispatcher::Drop(uint32_t index)
{
    NotifySurprise();
    EndTrail(m_entries[index]);
    GiveBackLinks(m_entries[index]);
    EndTransfer(index);
}

void
LiveDispatcher::EndTransfer(uint32_t index)
{
    ++m_counts[m_entries[index].round].nCompleted;
    const uint32_t place = m_entries[index].underWay;
    m_underWay[place] = m_underWay.back();
    m_underWayIndices[place] = m_underWayIndices.back();
    m_entries[m_underWayIndices[place]].underWay = place;
    m_underWay.pop_back();
    m_underWayIndices.pop_back();
}

void
LiveDispatcher::Halt()
{
    m_isHalted = true;
}

std::optional<uint32_t>
LiveDispatcher::FindGrant()
{
    return std::nullopt;
}

void
LiveDispatcher::Grant(uint32_t)
{
}

Workload
LiveDispatcher::Get(uint32_t index) const
{
    return m_entries[index].transfer.GetWorkload();
}

uint32_t
LiveDispatcher::GetRound(uint32_t index) const
{
    return m_entries[index].round;
}

uint32_t
LiveDispatcher::GetPosition(uint32_t index) const
{
    return m_entries[index].position;
}

uint64_t
LiveDispatcher::GetRate(uint32_t index) const
{
    return m_entries[index].paceBps;
}

uint64_t
LiveDispatcher::GetExpectedRate(uint32_t index) const
{
    return m_entries[index].rateBps;
}

uint32_t
LiveDispatcher::GetSize() const
{
    return m_entries.size();
}

uint32_t
LiveDispatcher::GetNRounds() const
{
    return m_counts.size();
}

uint32_t
LiveDispatcher::GetNBegun(uint32_t round) const
{
    return m_counts[round].nBegun;
}

bool
LiveDispatcher::IsRoundOver(uint32_t round) const
{
    const bool isPast = round + 1 < m_counts.size() || IsLastRoundPast();
    return isPast && m_counts[round].nBegun == m_counts[round].nCompleted;
}

} // namespace ns3::allreduce
