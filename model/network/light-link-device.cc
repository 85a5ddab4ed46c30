/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "light-link-device.h"

#include "arrival-order.h"
#include "distributed-run.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <iterator>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceLightLinkDevice");

namespace
{

constexpr uint16_t ETHER_IPV4 = 0x0800;
constexpr uint16_t ETHER_IPV6 = 0x86DD;

uint16_t
ToPpp(uint16_t protocol)
{
    NS_ABORT_MSG_UNLESS(protocol == ETHER_IPV4 || protocol == ETHER_IPV6,
                        "LightLinkDevice::Send: protocol "
                            << protocol << ", expected that of IPv4 (" << ETHER_IPV4
                            << ") or IPv6 (" << ETHER_IPV6 << ")");
    return protocol == ETHER_IPV4 ? LightLinkDevice::PPP_IPV4 : LightLinkDevice::PPP_IPV6;
}

/// Take the PPP header off a frame.
/// @return the protocol number that the node knows
uint16_t
RemovePpp(const Ptr<Packet>& frame)
{
    PppHeader header;
    frame->RemoveHeader(header);
    return header.GetProtocol() == LightLinkDevice::PPP_IPV4 ? ETHER_IPV4 : ETHER_IPV6;
}

/// Tell those who listen, if there are any.
void
Tell(const TracedCallback<Ptr<const Packet>>& trace, const Ptr<Packet>& frame)
{
    if (!trace.IsEmpty())
    {
        trace(frame);
    }
}

} // namespace

LightLinkDevice::LightLinkDevice()
    : m_endOfTransmission(Create<Event>(this, &LightLinkDevice::EndTransmission)),
      m_arrival(Create<Event>(this, &LightLinkDevice::Arrive))
{
}

LightLinkDevice::~LightLinkDevice() = default;

void
LightLinkDevice::DoDispose()
{
    // Events of this device that are left in the simulator do nothing.
    m_endOfTransmission->Cancel();
    m_arrival->Cancel();
    m_node = nullptr;
    m_channel = nullptr;
    m_peer = nullptr;
    m_order = nullptr;
    m_queue = nullptr;
    m_flowControl = nullptr;
    m_errors = nullptr;
    m_current = nullptr;
    m_arrivals.clear();
    m_shortcuts.clear();
    m_receive = NetDevice::ReceiveCallback();
    m_promiscuous = NetDevice::PromiscReceiveCallback();
    NetDevice::DoDispose();
}

void
LightLinkDevice::Attach(Ptr<LightLinkChannel> channel, Ptr<LightLinkDevice> peer)
{
    m_channel = channel;
    m_peer = peer;
    m_linkChanged();
}

void
LightLinkDevice::SetQueue(Ptr<Queue<Packet>> queue)
{
    m_queue = queue;
}

Ptr<Queue<Packet>>
LightLinkDevice::GetQueue() const
{
    return m_queue;
}

uint32_t
LightLinkDevice::GetQueuePeak() const
{
    return m_queuePeak;
}

void
LightLinkDevice::SetFlowControl(Ptr<NetDeviceQueue> queue)
{
    m_flowControl = queue;
}

void
LightLinkDevice::SetDataRate(DataRate rate)
{
    m_rate = rate;
    m_times = {};
}

DataRate
LightLinkDevice::GetDataRate() const
{
    return m_rate;
}

void
LightLinkDevice::SetRemote()
{
    m_isRemote = true;
    SetRemoteReceiver(this, MakeCallback(&LightLinkDevice::Deliver, this));
}

void
LightLinkDevice::SetArrivalOrder(Ptr<ArrivalOrder> order)
{
    m_order = order;
    m_order->SetReceiver(m_index, [this](const Ptr<Packet>& frame) { TakeIn(frame); });
}

void
LightLinkDevice::AddShortcut(Shortcut shortcut)
{
    m_shortcuts.push_back(std::move(shortcut));
}

bool
LightLinkDevice::HasRoom() const
{
    return !m_flowControl || !m_flowControl->IsStopped();
}

const Time&
LightLinkDevice::GetTransmitTime(uint32_t size)
{
    if (m_times[0].size != size)
    {
        std::swap(m_times[0], m_times[1]);
        if (m_times[0].size != size)
        {
            m_times[0] = {size, m_rate.CalculateBytesTxTime(size)};
        }
    }
    return m_times[0].time;
}

bool
LightLinkDevice::Send(Ptr<Packet> packet, const Address& destination, uint16_t protocol)
{
    NS_LOG_FUNCTION(this << packet << destination << protocol);
    if (!IsLinkUp())
    {
        m_macTxDropTrace(packet);
        return false;
    }
    PppHeader header;
    header.SetProtocol(ToPpp(protocol));
    packet->AddHeader(header);
    return SendFrame(packet);
}

bool
LightLinkDevice::SendFrame(const Ptr<Packet>& frame)
{
    Tell(m_macTxTrace, frame);
    if (!m_queue->Enqueue(frame))
    {
        if (m_flowControl)
        {
            m_flowControl->PacketDiscarded(PeekPointer(m_queue), frame);
        }
        m_macTxDropTrace(frame);
        return false;
    }
    m_queuePeak = std::max(m_queuePeak, m_queue->GetNPackets());
    if (m_flowControl)
    {
        m_flowControl->PacketEnqueued(PeekPointer(m_queue), frame);
    }
    if (!m_current)
    {
        TransmitNext();
    }
    return true;
}

void
LightLinkDevice::TransmitNext()
{
    m_current = m_queue->Dequeue();
    if (!m_current)
    {
        return;
    }
    if (m_flowControl)
    {
        m_flowControl->PacketDequeued(PeekPointer(m_queue), m_current);
    }
    Tell(m_snifferTrace, m_current);
    Tell(m_promiscSnifferTrace, m_current);
    Tell(m_phyTxBeginTrace, m_current);
    const Time& time = GetTransmitTime(m_current->GetSize());
    Simulator::Schedule(time + m_gap, m_endOfTransmission);
    if (m_isRemote)
    {
        SendToRank(m_current, Simulator::Now() + time + m_channel->GetDelay(), m_peer);
    }
    else
    {
        m_peer->Expect(time + m_channel->GetDelay(), m_current);
    }
}

void
LightLinkDevice::EndTransmission()
{
    Tell(m_phyTxEndTrace, m_current);
    TransmitNext();
}

void
LightLinkDevice::Expect(const Time& delay, const Ptr<Packet>& frame)
{
    const Time time = Simulator::Now() + delay;
    // Frames come in order, unless the channel's delay has become shorter.
    auto place = m_arrivals.end();
    while (place != m_arrivals.begin() && time < std::prev(place)->time)
    {
        --place;
    }
    m_arrivals.insert(place, Arrival{time, frame});
    Simulator::ScheduleWithContext(m_nodeId, delay, GetPointer(m_arrival));
}

void
LightLinkDevice::Arrive()
{
    const Ptr<Packet> frame = std::move(m_arrivals.front().frame);
    m_arrivals.pop_front();
    Deliver(frame);
}

void
LightLinkDevice::Deliver(Ptr<Packet> frame)
{
    if (m_order)
    {
        m_order->Arrive(m_index, std::move(frame));
    }
    else
    {
        TakeIn(frame);
    }
}

void
LightLinkDevice::TakeIn(const Ptr<Packet>& frame)
{
    if (m_errors && m_errors->IsCorrupt(frame))
    {
        m_phyRxDropTrace(frame);
        return;
    }
    Tell(m_snifferTrace, frame);
    Tell(m_promiscSnifferTrace, frame);
    Tell(m_phyRxEndTrace, frame);
    if (frame->GetReferenceCount() > 1)
    {
        // Whoever else holds it shall not see it change.
        Receive(frame->Copy());
    }
    else
    {
        Receive(frame);
    }
}

void
LightLinkDevice::Receive(const Ptr<Packet>& frame)
{
    if (m_promiscuous.IsNull())
    {
        if (!m_macRxTrace.IsEmpty())
        {
            m_macRxTrace(frame->Copy());
        }
        if (!TakeShortcut(frame))
        {
            const uint16_t protocol = RemovePpp(frame);
            m_receive(this, frame, protocol, m_peer->GetAddress());
        }
        return;
    }
    const Ptr<const Packet> whole = frame->Copy();
    const uint16_t protocol = RemovePpp(frame);
    m_macPromiscRxTrace(whole);
    m_promiscuous(this,
                  frame,
                  protocol,
                  m_peer->GetAddress(),
                  GetAddress(),
                  NetDevice::PACKET_HOST);
    m_macRxTrace(whole);
    m_receive(this, frame, protocol, m_peer->GetAddress());
}

bool
LightLinkDevice::TakeShortcut(const Ptr<Packet>& frame) const
{
    return std::any_of(m_shortcuts.begin(), m_shortcuts.end(), [&](const Shortcut& shortcut) {
        return shortcut(frame);
    });
}

} // namespace ns3::allreduce
