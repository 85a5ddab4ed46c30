/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "datagram-transport.h"

#include "ns3/log.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <cmath>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceDatagramTransport");
NS_OBJECT_ENSURE_REGISTERED(DatagramTransport);

namespace
{

/// By how much the wait for news can grow.
constexpr uint32_t MOST_BACKOFF = 8;
/// How many round trips without queues to wait for news, and how many of those that were seen.
constexpr int64_t TIMEOUT_FACTOR = 4;
constexpr int64_t SEEN_FACTOR = 2;

/// How often a packet is sent again before silence means that nothing gets through. Where a packet
/// and its acknowledgement are lost every second time, one silence in 65,536 is no such sign.
constexpr uint32_t MANY_ATTEMPTS = 16;

/// Tells the packets of sessions apart; the value has no influence on what happens.
uint32_t g_nextSession = 0;

} // namespace

TypeId
DatagramTransport::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::DatagramTransport")
                            .SetParent<AllReduceTransport>()
                            .SetGroupName("AllReduce")
                            .AddAttribute("AckEvery",
                                          "How many packets an acknowledgement stands for.",
                                          UintegerValue(8),
                                          MakeUintegerAccessor(&DatagramTransport::m_ackEvery),
                                          MakeUintegerChecker<uint32_t>(1));
    return tid;
}

DatagramTransport::DatagramTransport()
    : m_sessionNumber(g_nextSession++)
{
}

void
DatagramTransport::DoDispose()
{
    Close();
    AllReduceTransport::DoDispose();
}

uint32_t
DatagramTransport::GetSessionNumber() const
{
    return m_sessionNumber;
}

void
DatagramTransport::Send(const Transfer& transfer)
{
    NS_LOG_FUNCTION(this << transfer.id << FormatPath(transfer.path) << transfer.bytes);
    auto flow = MakeFlow(transfer);
    flow->lastNews = Simulator::Now();
    flow->timer =
        Simulator::Schedule(flow->timeout, &DatagramTransport::CheckNews, this, transfer.id);
    flow->sendNext = Ptr<EventImpl>(MakeEvent(&DatagramTransport::SendNext, this, transfer.id),
                                    false); // which is its first owner
    const Time wait = ReserveStart(*flow) - Simulator::Now();
    if (wait.IsStrictlyPositive())
    {
        flow->pacer = Simulator::Schedule(wait, flow->sendNext);
    }
    m_flows[transfer.id] = std::move(flow);
    if (wait.IsZero())
    {
        SendNext(transfer.id);
    }
}

Time
DatagramTransport::Flow::GetInterval(uint64_t payload) const
{
    return Seconds(8.0 * format.GetWireBytes(payload) / transfer.rateBps);
}

std::unique_ptr<DatagramTransport::Flow>
DatagramTransport::MakeFlow(const Transfer& transfer)
{
    auto flow = std::make_unique<Flow>();
    flow->transfer = transfer;
    flow->forth = MakeRoute(transfer.path);
    flow->back = MakeRoute(Path(transfer.path.rbegin(), transfer.path.rend()));
    const Topology& topology = GetNetwork().GetTopology();
    flow->first = *topology.FindDirectedLink(transfer.path[0], transfer.path[1]);
    flow->last = *topology.FindDirectedLink(*(transfer.path.end() - 2), transfer.path.back());
    flow->format = GetFrameFormat(transfer.path.size() - 1, GetMtu());
    m_roundTrips.resize(topology.GetNDirectedLinks());
    flow->nPackets = (transfer.bytes + flow->format.payload - 1) / flow->format.payload;
    flow->arrived.resize(flow->nPackets, false);
    flow->data.resize(transfer.payload ? transfer.bytes : 0);
    SetTimes(*flow);
    return flow;
}

void
DatagramTransport::SetTimes(Flow& flow)
{
    flow.fullInterval = flow.GetInterval(flow.format.payload);
    const uint64_t largest = std::min<uint64_t>(flow.format.payload, flow.transfer.bytes);
    SetTimesForFrames(flow, flow.format.GetFrameBits());
    // Patience is for full frames: a small one may have to wait behind those of others.
    m_longestTimeout = std::max(m_longestTimeout, flow.timeout);
    SetTimesForFrames(flow, 8.0 * flow.format.GetWireBytes(largest));
    for (const DirectedLinkId link : {flow.first, flow.last})
    {
        flow.timeout = Max(flow.timeout, m_roundTrips[link] * SEEN_FACTOR);
    }
    m_longestTimeout = std::max(m_longestTimeout, flow.timeout);
}

void
DatagramTransport::RecordRoundTrip(const Flow& flow)
{
    constexpr int64_t SLOWLY = 8; // Of transfers that meet a queue not all do.
    const Time seen = Simulator::Now() - flow.lastSent;
    for (const DirectedLinkId link : {flow.first, flow.last})
    {
        Time& known = m_roundTrips[link];
        known = seen > known ? seen : known - (known - seen) / SLOWLY;
    }
}

void
DatagramTransport::SetTimesForFrames(Flow& flow, double frameBits) const
{
    const PathTiming timing =
        ComputePathTiming(GetNetwork().GetTopology(), flow.transfer.path, frameBits);
    const double roundTrip = timing.frame + 2 * timing.propagation;
    const double interval = frameBits / flow.transfer.rateBps;
    // Twice what keeps the path full, and what is on the way while an acknowledgement is due.
    flow.window = 2 * std::ceil(roundTrip / interval) + 2 * m_ackEvery;
    const uint32_t mostUnderWay = std::min(flow.window, flow.nPackets);
    // On the fastest links it is less than a tick, and timers of no time would never let any pass.
    flow.timeout =
        Max(Seconds(TIMEOUT_FACTOR * (roundTrip + mostUnderWay * interval)), TimeStep(1));
}

Time
DatagramTransport::ReserveStart(const Flow& flow)
{
    const uint64_t first = std::min<uint64_t>(flow.format.payload, flow.transfer.bytes);
    const double frameBits = 8.0 * flow.format.GetWireBytes(first);
    const uint64_t rate = GetNetwork().GetTopology().GetLinkOf(flow.first).rateBps;
    const Time start = std::max(Simulator::Now(), m_nextStarts[flow.first]);
    m_nextStarts[flow.first] = start + Seconds(frameBits / rate);
    return start;
}

void
DatagramTransport::SendNext(TransferId id)
{
    Flow& flow = *m_flows.at(id);
    if (flow.nSent == flow.nPackets)
    {
        m_sent(id);
        return;
    }
    if (flow.nSent == flow.nAcked + flow.window)
    {
        return; // The next acknowledgement goes on.
    }
    const uint64_t left = flow.transfer.bytes - uint64_t{flow.nSent} * flow.format.payload;
    SendData(flow, flow.nSent++, DatagramHeader::DATA);
    flow.lastNews = flow.lastSent = Simulator::Now();
    flow.pacer =
        Simulator::Schedule(left < flow.format.payload ? flow.GetInterval(left) : flow.fullInterval,
                            flow.sendNext);
}

void
DatagramTransport::SendData(Flow& flow, uint32_t sequence, DatagramHeader::Kind kind)
{
    const uint64_t begin = uint64_t{sequence} * flow.format.payload;
    const uint32_t size = std::min<uint64_t>(flow.format.payload, flow.transfer.bytes - begin);
    const auto& payload = flow.transfer.payload;
    const Ptr<Packet> packet =
        payload ? Create<Packet>(payload->data() + begin, size) : Create<Packet>(size);
    DatagramHeader header;
    header.kind = kind;
    header.session = m_sessionNumber;
    header.transfer = flow.transfer.id;
    header.sequence = sequence;
    if (IsPathInHeader())
    {
        header.path.assign(flow.forth.path.begin(), flow.forth.path.end());
    }
    packet->AddHeader(header);
    Transmit(flow.forth, packet);
}

void
DatagramTransport::SendAck(Flow& flow, uint32_t gapBegin, uint32_t gapEnd)
{
    flow.nUnacknowledged = 0;
    DatagramHeader header;
    header.kind = DatagramHeader::ACK;
    header.session = m_sessionNumber;
    header.transfer = flow.transfer.id;
    header.sequence = flow.firstMissing;
    header.gapBegin = gapBegin;
    header.gapEnd = gapEnd;
    if (IsPathInHeader())
    {
        header.path.assign(flow.back.path.begin(), flow.back.path.end());
    }
    const Ptr<Packet> packet = Create<Packet>();
    packet->AddHeader(header);
    Transmit(flow.back, packet);
}

void
DatagramTransport::Receive(const DatagramHeader& header, Ptr<Packet> packet)
{
    Flow* const flow = header.session == m_sessionNumber ? FindFlow(header) : nullptr;
    if (!flow)
    {
        return; // What was on the way when its transfer was cancelled.
    }
    if (header.kind == DatagramHeader::ACK)
    {
        ReceiveAck(*flow, header);
    }
    else
    {
        ReceiveData(*flow, header, packet);
    }
}

DatagramTransport::Flow*
DatagramTransport::FindFlow(const DatagramHeader& header)
{
    const auto place = m_flows.find(header.transfer);
    if (place != m_flows.end())
    {
        return place->second.get();
    }
    if (!m_findIncoming || header.kind == DatagramHeader::ACK)
    {
        return nullptr;
    }
    const auto incoming = m_findIncoming(header.transfer);
    if (!incoming)
    {
        return nullptr;
    }
    auto flow = MakeFlow(incoming->transfer);
    if (incoming->isDelivered)
    {
        // The sender has not heard that all of it has arrived.
        flow->firstMissing = flow->nPackets;
        SendAck(*flow, 0, 0);
        return nullptr;
    }
    return (m_flows[header.transfer] = std::move(flow)).get();
}

bool
DatagramTransport::IsFromElsewhere(const Flow& flow) const
{
    return !GetNetwork().IsHere(flow.transfer.path.front());
}

void
DatagramTransport::ReceiveData(Flow& flow, const DatagramHeader& header, Ptr<Packet> packet)
{
    const uint32_t sequence = header.sequence;
    const bool isNew = !flow.arrived[sequence];
    const uint32_t gapBegin = flow.nSeen;
    if (isNew)
    {
        StoreData(flow, sequence, packet);
    }
    const bool isComplete = flow.nArrived == flow.nPackets;
    if (header.kind == DatagramHeader::PROBE)
    {
        SendAck(flow, flow.firstMissing, FindGapEnd(flow));
    }
    else if (sequence > gapBegin)
    {
        SendAck(flow, gapBegin, sequence);
    }
    else if (isComplete || ++flow.nUnacknowledged == m_ackEvery)
    {
        SendAck(flow, 0, 0);
    }
    if (isNew && isComplete)
    {
        const Bytes data = std::move(flow.data);
        const TransferId id = flow.transfer.id;
        if (IsFromElsewhere(flow))
        {
            Erase(id); // Its acknowledgements come to another rank.
        }
        m_delivered(id, data);
    }
}

void
DatagramTransport::StoreData(Flow& flow, uint32_t sequence, Ptr<Packet> packet)
{
    NotifyArrival();
    flow.arrived[sequence] = true;
    ++flow.nArrived;
    flow.nSeen = std::max(flow.nSeen, sequence + 1);
    while (flow.firstMissing < flow.nPackets && flow.arrived[flow.firstMissing])
    {
        ++flow.firstMissing;
    }
    if (flow.transfer.payload)
    {
        packet->CopyData(flow.data.data() + uint64_t{sequence} * flow.format.payload,
                         packet->GetSize());
    }
}

uint32_t
DatagramTransport::FindGapEnd(const Flow& flow) const
{
    uint32_t end = flow.firstMissing;
    while (end < flow.nSeen && !flow.arrived[end])
    {
        ++end;
    }
    return end;
}

void
DatagramTransport::ReceiveAck(Flow& flow, const DatagramHeader& header)
{
    if (flow.nAcked == flow.nPackets)
    {
        return; // It was known.
    }
    const TransferId id = flow.transfer.id;
    flow.lastNews = Simulator::Now();
    flow.backoff = 1;
    flow.nAcked = std::max(flow.nAcked, header.sequence);
    if (flow.nAcked == flow.nPackets)
    {
        End(flow);
        return;
    }
    for (uint32_t sequence = std::max(header.gapBegin, flow.nAcked); sequence < header.gapEnd;
         ++sequence)
    {
        NS_LOG_INFO("packet " << sequence << " of transfer " << id << " was lost: sent again");
        SendData(flow, sequence, DatagramHeader::DATA);
        flow.wasResent = true;
        ++m_nResent;
    }
    if (flow.pacer.IsExpired() && flow.nSent < flow.nPackets)
    {
        SendNext(id);
    }
}

/// Where links of the path have become slower, its packets wait behind such as take longer: what is
/// sent again too soon would fill these links.
Time
DatagramTransport::GetTimeout(const Flow& flow) const
{
    if (GetNetwork().GetWorstSlowdown() == 1)
    {
        return flow.timeout;
    }
    double slowdown = 1;
    ForEachLink(GetNetwork().GetTopology(), flow.transfer.path, [&](DirectedLinkId link) {
        slowdown = std::max(
            {slowdown, GetNetwork().GetSlowdown(link), GetNetwork().GetSlowdown(Reverse(link))});
    });
    constexpr double MOST_SECONDS = 1e7;
    return Seconds(std::min(flow.timeout.GetSeconds() * slowdown, MOST_SECONDS));
}

void
DatagramTransport::CheckNews(TransferId id)
{
    Flow& flow = *m_flows.at(id);
    const Time timeout = GetTimeout(flow);
    const Time wait = timeout * flow.backoff;
    const Time silence = Simulator::Now() - flow.lastNews;
    if (silence >= wait && flow.nAcked < flow.nSent)
    {
        NS_LOG_INFO("transfer " << id << ": nothing heard for " << silence.As(Time::MS)
                                << ", packet " << flow.nAcked << " is sent again");
        SendData(flow, flow.nAcked, DatagramHeader::PROBE);
        flow.wasResent = true;
        ++m_nResent;
        flow.backoff = std::min(2 * flow.backoff, MOST_BACKOFF);
        flow.lastNews = Simulator::Now();
    }
    const Time next = std::max(flow.lastNews + timeout * flow.backoff - Simulator::Now(), timeout);
    flow.timer = Simulator::Schedule(next, &DatagramTransport::CheckNews, this, id);
}

void
DatagramTransport::End(Flow& flow)
{
    if (!flow.wasResent)
    {
        RecordRoundTrip(flow);
        Erase(flow.transfer.id);
        return;
    }
    // What was sent twice may be on the way for a while: its receiver, which cannot know that all
    // has been heard, acknowledges it.
    flow.pacer.Cancel();
    flow.timer.Cancel();
    flow.transfer.payload.reset();
    const Time now = Simulator::Now();
    m_ended.emplace_back(now, flow.transfer.id);
    while (now - m_ended.front().first > GetLongestSilence())
    {
        Erase(m_ended.front().second);
        m_ended.pop_front();
    }
}

void
DatagramTransport::Cancel(TransferId id)
{
    NS_LOG_FUNCTION(this << id);
    Erase(id);
}

void
DatagramTransport::Erase(TransferId id)
{
    const auto flow = m_flows.find(id);
    if (flow != m_flows.end())
    {
        flow->second->pacer.Cancel();
        flow->second->timer.Cancel();
        m_flows.erase(flow);
    }
}

void
DatagramTransport::Close()
{
    while (!m_flows.empty())
    {
        Erase(m_flows.begin()->first);
    }
    m_ended.clear();
}

TransferProgress
DatagramTransport::GetProgress(TransferId id) const
{
    const auto place = m_flows.find(id);
    if (place == m_flows.end())
    {
        return {};
    }
    const Flow& flow = *place->second;
    const auto countBytes = [&](uint32_t nPackets) {
        return std::min(flow.transfer.bytes, uint64_t{nPackets} * flow.format.payload);
    };
    return {countBytes(flow.nSent), countBytes(flow.nArrived)};
}

std::string
DatagramTransport::DescribeProgress(TransferId id) const
{
    const Flow& flow = *m_flows.at(id);
    return std::to_string(flow.nArrived) + " of " + std::to_string(flow.nPackets) +
           " packets arrived";
}

Time
DatagramTransport::GetLongestSilence() const
{
    // Attempts follow each other after one timeout, two, four and so on.
    int64_t nTimeouts = 0;
    for (uint32_t attempt = 0, backoff = 1; attempt < MANY_ATTEMPTS; ++attempt)
    {
        nTimeouts += backoff;
        backoff = std::min(2 * backoff, MOST_BACKOFF);
    }
    return std::max(MilliSeconds(100), m_longestTimeout * nTimeouts);
}

uint64_t
DatagramTransport::GetNResent() const
{
    return m_nResent;
}

} // namespace ns3::allreduce
