/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "light-link-device.h"

#include "arrival-order.h"
#include "distributed-run.h"

#include "ns3/abort.h"
#include "ns3/log.h"
#include "ns3/pointer.h"
#include "ns3/ppp-header.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <iterator>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceLightLinkDevice");
NS_OBJECT_ENSURE_REGISTERED(LightLinkChannel);
NS_OBJECT_ENSURE_REGISTERED(LightLinkDevice);

namespace
{

constexpr uint16_t ETHER_IPV4 = 0x0800;
constexpr uint16_t ETHER_IPV6 = 0x86DD;
constexpr uint16_t DEFAULT_MTU = 1500;

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

TypeId
LightLinkChannel::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::LightLinkChannel")
                            .SetParent<Channel>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<LightLinkChannel>()
                            .AddAttribute("Delay",
                                          "Propagation delay through the channel",
                                          TimeValue(Seconds(0)),
                                          MakeTimeAccessor(&LightLinkChannel::m_delay),
                                          MakeTimeChecker());
    return tid;
}

void
LightLinkChannel::Connect(Ptr<LightLinkDevice> a, Ptr<LightLinkDevice> b)
{
    m_devices = {a, b};
    a->Attach(this, b);
    b->Attach(this, a);
}

const Time&
LightLinkChannel::GetDelay() const
{
    return m_delay;
}

std::size_t
LightLinkChannel::GetNDevices() const
{
    return m_devices[0] ? m_devices.size() : 0;
}

Ptr<NetDevice>
LightLinkChannel::GetDevice(std::size_t i) const
{
    return m_devices[i];
}

void
LightLinkChannel::DoDispose()
{
    m_devices = {};
    Channel::DoDispose();
}

TypeId
LightLinkDevice::GetTypeId()
{
    const char* const packetCallback = "ns3::Packet::TracedCallback";
    static TypeId tid =
        TypeId("ns3::allreduce::LightLinkDevice")
            .SetParent<NetDevice>()
            .SetGroupName("AllReduce")
            .AddConstructor<LightLinkDevice>()
            .AddAttribute("Mtu",
                          "The MAC-level Maximum Transmission Unit",
                          UintegerValue(DEFAULT_MTU),
                          MakeUintegerAccessor(&LightLinkDevice::SetMtu, &LightLinkDevice::GetMtu),
                          MakeUintegerChecker<uint16_t>())
            .AddAttribute("Address",
                          "The MAC address of this device.",
                          Mac48AddressValue(Mac48Address("ff:ff:ff:ff:ff:ff")),
                          MakeMac48AddressAccessor(&LightLinkDevice::m_address),
                          MakeMac48AddressChecker())
            .AddAttribute(
                "DataRate",
                "The data rate of the link",
                DataRateValue(DataRate("32768b/s")),
                MakeDataRateAccessor(&LightLinkDevice::SetDataRate, &LightLinkDevice::GetDataRate),
                MakeDataRateChecker())
            .AddAttribute("ReceiveErrorModel",
                          "The receiver error model used to simulate packet loss",
                          PointerValue(),
                          MakePointerAccessor(&LightLinkDevice::m_errors),
                          MakePointerChecker<ErrorModel>())
            .AddAttribute("InterframeGap",
                          "The time to wait between packet (frame) transmissions",
                          TimeValue(Seconds(0)),
                          MakeTimeAccessor(&LightLinkDevice::m_gap),
                          MakeTimeChecker())
            .AddAttribute("TxQueue",
                          "A queue to use as the transmit queue in the device.",
                          PointerValue(),
                          MakePointerAccessor(&LightLinkDevice::m_queue),
                          MakePointerChecker<Queue<Packet>>())
            .AddTraceSource("MacTx",
                            "A packet has arrived for transmission by this device",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_macTxTrace),
                            packetCallback)
            .AddTraceSource("MacTxDrop",
                            "A packet has been dropped by the device before transmission",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_macTxDropTrace),
                            packetCallback)
            .AddTraceSource("MacPromiscRx",
                            "A packet has been received and goes to promiscuous listeners",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_macPromiscRxTrace),
                            packetCallback)
            .AddTraceSource("MacRx",
                            "A packet has been received and is passed on",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_macRxTrace),
                            packetCallback)
            .AddTraceSource("PhyTxBegin",
                            "A packet has begun transmitting over the channel",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_phyTxBeginTrace),
                            packetCallback)
            .AddTraceSource("PhyTxEnd",
                            "A packet has been completely transmitted over the channel",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_phyTxEndTrace),
                            packetCallback)
            .AddTraceSource("PhyRxEnd",
                            "A packet has been completely received by the device",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_phyRxEndTrace),
                            packetCallback)
            .AddTraceSource("PhyRxDrop",
                            "A packet has been dropped by the device during reception",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_phyRxDropTrace),
                            packetCallback)
            .AddTraceSource("Sniffer",
                            "A non-promiscuous packet sniffer attached to the device",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_snifferTrace),
                            packetCallback)
            .AddTraceSource("PromiscSniffer",
                            "A promiscuous packet sniffer attached to the device",
                            MakeTraceSourceAccessor(&LightLinkDevice::m_promiscSnifferTrace),
                            packetCallback);
    return tid;
}

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

void
LightLinkDevice::SetIfIndex(const uint32_t index)
{
    m_index = index;
}

uint32_t
LightLinkDevice::GetIfIndex() const
{
    return m_index;
}

Ptr<Channel>
LightLinkDevice::GetChannel() const
{
    return m_channel;
}

void
LightLinkDevice::SetAddress(Address address)
{
    m_address = Mac48Address::ConvertFrom(address);
}

Address
LightLinkDevice::GetAddress() const
{
    return m_address;
}

bool
LightLinkDevice::SetMtu(const uint16_t mtu)
{
    m_mtu = mtu;
    return true;
}

uint16_t
LightLinkDevice::GetMtu() const
{
    return m_mtu;
}

bool
LightLinkDevice::IsLinkUp() const
{
    return m_channel != nullptr;
}

void
LightLinkDevice::AddLinkChangeCallback(Callback<void> callback)
{
    m_linkChanged.ConnectWithoutContext(callback);
}

bool
LightLinkDevice::IsBroadcast() const
{
    return true;
}

Address
LightLinkDevice::GetBroadcast() const
{
    static const Address broadcast = Mac48Address::GetBroadcast();
    return broadcast;
}

bool
LightLinkDevice::IsMulticast() const
{
    return true;
}

Address
LightLinkDevice::GetMulticast(Ipv4Address group) const
{
    return Mac48Address("01:00:5e:00:00:00");
}

Address
LightLinkDevice::GetMulticast(Ipv6Address group) const
{
    return Mac48Address("33:33:00:00:00:00");
}

bool
LightLinkDevice::IsBridge() const
{
    return false;
}

bool
LightLinkDevice::IsPointToPoint() const
{
    return true;
}

bool
LightLinkDevice::SendFrom(Ptr<Packet> packet,
                          const Address& source,
                          const Address& destination,
                          uint16_t protocol)
{
    return false;
}

Ptr<Node>
LightLinkDevice::GetNode() const
{
    return m_node;
}

void
LightLinkDevice::SetNode(Ptr<Node> node)
{
    m_node = node;
    m_nodeId = node->GetId();
}

bool
LightLinkDevice::NeedsArp() const
{
    return false;
}

void
LightLinkDevice::SetReceiveCallback(NetDevice::ReceiveCallback callback)
{
    m_receive = callback;
}

void
LightLinkDevice::SetPromiscReceiveCallback(NetDevice::PromiscReceiveCallback callback)
{
    m_promiscuous = callback;
}

bool
LightLinkDevice::SupportsSendFrom() const
{
    return false;
}

} // namespace ns3::allreduce
