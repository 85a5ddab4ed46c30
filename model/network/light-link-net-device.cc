/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * A LightLinkDevice as ns-3 sees any NetDevice: its type and the properties that nodes, helpers and
 * traces ask for. They are apart, because none of them has to do with how frames move.
 */

#include "light-link-device.h"

#include "ns3/pointer.h"
#include "ns3/uinteger.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(LightLinkDevice);

namespace
{

constexpr uint16_t DEFAULT_MTU = 1500;

} // namespace

TypeId
LightLinkDevice::GetTypeId()
{
    static TypeId tid = AddTraceSources(
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
                          MakePointerChecker<Queue<Packet>>()));
    return tid;
}

TypeId
LightLinkDevice::AddTraceSources(TypeId tid)
{
    const char* const packetCallback = "ns3::Packet::TracedCallback";
    return tid
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
