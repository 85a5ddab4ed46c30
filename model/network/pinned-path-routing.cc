/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pinned-path-routing.h"

#include "address-directory.h"
#include "light-link-device.h"

#include "ns3/abort.h"
#include "ns3/icmpv4-l4-protocol.h"
#include "ns3/ipv4-interface.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/log.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/output-stream-wrapper.h"
#include "ns3/packet.h"
#include "ns3/ppp-header.h"
#include "ns3/queue-disc.h"
#include "ns3/simulator.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/udp-l4-protocol.h"

#include <array>
#include <boost/functional/hash.hpp>
#include <tuple>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("PinnedPathRouting");

NS_OBJECT_ENSURE_REGISTERED(PinnedPathRouting);

namespace
{

/// The interface that Ipv4L3Protocol makes first.
constexpr uint32_t LOOPBACK_INTERFACE = 0;

bool
HasPorts(uint8_t protocol)
{
    return protocol == TcpL4Protocol::PROT_NUMBER || protocol == UdpL4Protocol::PROT_NUMBER;
}

/// UDP sockets ask for a route first and write the headers afterwards.
bool
LacksTransportHeader(const Ipv4Header& header)
{
    return header.GetProtocol() == UdpL4Protocol::PROT_NUMBER && header.GetPayloadSize() == 0;
}

/// What precedes a packet in a frame.
struct FrameHeaders
{
    PppHeader ppp; //!< first
    Ipv4Header ip; //!< second

    /// Take them off.
    explicit FrameHeaders(const Ptr<Packet>& frame)
    {
        frame->RemoveHeader(ppp);
        frame->RemoveHeader(ip);
    }

    /// Put them on again.
    void PutBack(const Ptr<Packet>& frame) const
    {
        frame->AddHeader(ip);
        frame->AddHeader(ppp);
    }
};

} // namespace

bool
operator==(const PinnedFlow& x, const PinnedFlow& y)
{
    return std::tie(x.protocol, x.localPort, x.remotePort, x.remoteNode) ==
           std::tie(y.protocol, y.localPort, y.remotePort, y.remoteNode);
}

std::size_t
PinnedPathRouting::FlowHash::operator()(const PinnedFlow& flow) const
{
    std::size_t hash = flow.protocol;
    boost::hash_combine(hash, uint32_t{flow.localPort} << 16 | flow.remotePort);
    boost::hash_combine(hash, flow.remoteNode);
    return hash;
}

TypeId
PinnedPathRouting::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::PinnedPathRouting")
            .SetParent<Ipv4RoutingProtocol>()
            .SetGroupName("AllReduce")
            .AddConstructor<PinnedPathRouting>()
            .AddTraceSource("Drop",
                            "A packet with a pinned path cannot go on and is dropped",
                            MakeTraceSourceAccessor(&PinnedPathRouting::m_dropTrace),
                            "ns3::allreduce::PinnedPathRouting::DropTracedCallback");
    return tid;
}

PinnedPathRouting::PinnedPathRouting()
    : m_directory(Create<AddressDirectory>())
{
    NS_LOG_FUNCTION(this);
}

PinnedPathRouting::~PinnedPathRouting() = default;

void
PinnedPathRouting::DoDispose()
{
    NS_LOG_FUNCTION(this);
    m_flows.clear();
    m_peers.clear();
    m_routes.clear();
    m_lightOutputs.clear();
    m_trafficControl = nullptr;
    m_l3 = nullptr;
    m_loopbackRoute = nullptr;
    m_loopback = nullptr;
    m_ipv4 = nullptr;
    Ipv4RoutingProtocol::DoDispose();
}

void
PinnedPathRouting::SetDirectory(Ptr<AddressDirectory> directory)
{
    NS_LOG_FUNCTION(this << directory);
    NS_ABORT_MSG_IF(m_ipv4, "PinnedPathRouting::SetDirectory() comes before SetIpv4()");
    m_directory = directory;
}

void
PinnedPathRouting::AddFlow(const PinnedFlow& flow, const PinnedPathTag& path)
{
    NS_LOG_FUNCTION(this << +flow.protocol << flow.localPort << flow.remotePort << flow.remoteNode);
    m_flows[flow] = path;
    m_peers.insert(flow.remoteNode);
}

const PinnedPathTag*
PinnedPathRouting::FindFlow(const PinnedFlow& flow) const
{
    const std::array<PinnedFlow, 4> candidates{
        flow,
        {flow.protocol, 0, flow.remotePort, flow.remoteNode},
        {flow.protocol, flow.localPort, 0, flow.remoteNode},
        {flow.protocol, 0, 0, flow.remoteNode},
    };
    for (const auto& candidate : candidates)
    {
        const auto found = m_flows.find(candidate);
        if (found != m_flows.end())
        {
            return &found->second;
        }
    }
    return nullptr;
}

uint64_t
PinnedPathRouting::GetNDropped() const
{
    return m_nDropped;
}

uint32_t
PinnedPathRouting::GetNodeId() const
{
    return m_loopback->GetNode()->GetId();
}

bool
PinnedPathRouting::IsLocal(Ipv4Address address) const
{
    return m_directory->Find(address) == GetNodeId() || address.IsLocalhost();
}

std::optional<uint16_t>
PinnedPathRouting::FindAttachedPath(Ptr<Packet> packet) const
{
    PinnedPathTag tag;
    if (!packet->PeekPacketTag(tag))
    {
        return std::nullopt;
    }
    if (tag.GetSource() != GetNodeId() || tag.GetPosition() != 0)
    {
        packet->RemovePacketTag(tag);
        return std::nullopt;
    }
    return tag.GetInterface();
}

const PinnedPathTag*
PinnedPathRouting::FindPath(Ptr<const Packet> packet, uint8_t protocol, uint32_t remoteNode) const
{
    PinnedFlow flow{protocol, 0, 0, remoteNode};
    if (HasPorts(protocol))
    {
        // TCP and UDP headers both begin with the source port and the destination port.
        std::array<uint8_t, 4> ports{};
        packet->CopyData(ports.data(), ports.size());
        flow.localPort = ports[0] << 8 | ports[1];
        flow.remotePort = ports[2] << 8 | ports[3];
    }
    return FindFlow(flow);
}

Ptr<Ipv4Route>
PinnedPathRouting::MakeRoute(uint32_t interface, Ipv4Address source) const
{
    auto route = Create<Ipv4Route>();
    route->SetSource(source);
    route->SetDestination(Ipv4Address::GetAny());
    route->SetGateway(Ipv4Address::GetAny());
    route->SetOutputDevice(m_ipv4->GetNetDevice(interface));
    return route;
}

Ptr<Ipv4Route>
PinnedPathRouting::GetRoute(uint32_t interface)
{
    if (interface < m_routes.size() && m_routes[interface])
    {
        return m_routes[interface];
    }
    if (interface == LOOPBACK_INTERFACE || interface >= m_ipv4->GetNInterfaces() ||
        !m_ipv4->IsUp(interface) || m_ipv4->GetNAddresses(interface) == 0)
    {
        return nullptr;
    }
    m_routes.resize(m_ipv4->GetNInterfaces());
    m_routes[interface] = MakeRoute(interface, m_ipv4->GetAddress(interface, 0).GetLocal());
    return m_routes[interface];
}

Ptr<Ipv4Route>
PinnedPathRouting::GetFirstRoute(uint32_t interface)
{
    const auto route = GetRoute(interface);
    return route ? route : GetLoopbackRoute();
}

Ptr<Ipv4Route>
PinnedPathRouting::GetLoopbackRoute()
{
    if (!m_loopbackRoute)
    {
        auto source = Ipv4Address::GetLoopback();
        for (uint32_t i = m_ipv4->GetNInterfaces() - 1; i > LOOPBACK_INTERFACE; --i)
        {
            if (m_ipv4->GetNAddresses(i) > 0)
            {
                source = m_ipv4->GetAddress(i, 0).GetLocal();
            }
        }
        m_loopbackRoute = MakeRoute(LOOPBACK_INTERFACE, source);
    }
    return m_loopbackRoute;
}

Ptr<Ipv4Route>
PinnedPathRouting::RouteOutput(Ptr<Packet> p,
                               const Ipv4Header& header,
                               Ptr<NetDevice> oif,
                               Socket::SocketErrno& sockerr)
{
    NS_LOG_FUNCTION(this << p << header.GetDestination() << oif);
    sockerr = Socket::ERROR_NOTERROR;
    const auto attached = p ? FindAttachedPath(p) : std::nullopt;
    if (attached)
    {
        return GetFirstRoute(*attached);
    }
    if (IsLocal(header.GetDestination()))
    {
        return MakeRoute(LOOPBACK_INTERFACE, header.GetDestination());
    }
    const auto remoteNode = m_directory->Find(header.GetDestination());
    if (remoteNode && m_peers.count(*remoteNode) > 0)
    {
        if (!p || LacksTransportHeader(header))
        {
            return GetLoopbackRoute();
        }
        if (const auto* path = FindPath(p, header.GetProtocol(), *remoteNode))
        {
            p->AddPacketTag(*path);
            return GetFirstRoute(path->GetInterface());
        }
    }
    NS_LOG_LOGIC("No path is pinned to " << header.GetDestination());
    sockerr = Socket::ERROR_NOROUTETOHOST;
    return nullptr;
}

bool
PinnedPathRouting::RouteInput(Ptr<const Packet> p,
                              const Ipv4Header& header,
                              Ptr<const NetDevice> idev,
                              RouteInputTypes::Unicast ucb,
                              RouteInputTypes::Multicast /* mcb */,
                              RouteInputTypes::Local lcb,
                              RouteInputTypes::Error ecb)
{
    NS_LOG_FUNCTION(this << p << header.GetDestination() << idev);
    if (idev == m_loopback)
    {
        return RouteFromLoopback(p, header, lcb, ecb);
    }
    const uint32_t iif = m_ipv4->GetInterfaceForDevice(idev);
    PinnedPathTag tag;
    if (!p->PeekPacketTag(tag))
    {
        if (!IsLocal(header.GetDestination()))
        {
            return false;
        }
        lcb(p, header, iif);
        return true;
    }
    tag.Advance();
    if (tag.IsAtEnd())
    {
        Deliver(p, header, iif, lcb, ecb);
    }
    else
    {
        Forward(p, header, iif, tag, ucb, ecb);
    }
    return true;
}

Ptr<LightLinkDevice>
PinnedPathRouting::FindLightOutput(uint32_t interface)
{
    if (interface >= m_lightOutputs.size() || !m_lightOutputs[interface])
    {
        const auto route = GetRoute(interface);
        if (!route)
        {
            return nullptr;
        }
        m_lightOutputs.resize(m_ipv4->GetNInterfaces());
        m_lightOutputs[interface] = DynamicCast<LightLinkDevice>(route->GetOutputDevice());
    }
    const auto& device = m_lightOutputs[interface];
    return m_trafficControl && m_trafficControl->GetRootQueueDiscOnDevice(device) ? nullptr
                                                                                  : device;
}

bool
PinnedPathRouting::TakeFrame(uint32_t iif, const Ptr<Packet>& frame)
{
    if (!m_takesFrames)
    {
        m_takesFrames = !Node::ChecksumEnabled();
        m_trafficControl = m_ipv4->GetObject<TrafficControlLayer>();
    }
    PinnedPathTag tag;
    if (!*m_takesFrames || !frame->PeekPacketTag(tag) || !m_ipv4->IsUp(iif))
    {
        return false;
    }
    tag.Advance();
    return tag.IsAtEnd() ? DeliverFrame(iif, frame) : ForwardFrame(iif, frame, tag);
}

bool
PinnedPathRouting::ForwardFrame(uint32_t iif, const Ptr<Packet>& frame, PinnedPathTag& tag)
{
    const auto output = FindLightOutput(tag.GetInterface());
    if (!output || !output->HasRoom() || !m_ipv4->IsForwarding(iif) ||
        frame->GetSize() > output->GetMtu() + LightLinkDevice::HEADER_BYTES)
    {
        return false;
    }
    FrameHeaders headers(frame);
    const uint8_t ttl = headers.ip.GetTtl();
    if (ttl > 1)
    {
        headers.ip.SetTtl(ttl - 1);
        frame->ReplacePacketTag(tag);
    }
    headers.PutBack(frame);
    if (ttl > 1)
    {
        output->SendFrame(frame);
    }
    return ttl > 1;
}

bool
PinnedPathRouting::DeliverFrame(uint32_t iif, const Ptr<Packet>& frame)
{
    FrameHeaders headers(frame);
    const Ipv4Header& header = headers.ip;
    const auto protocol = m_ipv4->GetProtocol(header.GetProtocol(), iif);
    const bool isFragment = !header.IsLastFragment() || header.GetFragmentOffset() != 0;
    if (!m_l3 || !protocol || isFragment || !IsLocal(header.GetDestination()))
    {
        headers.PutBack(frame);
        return false;
    }
    const Ptr<Packet> copy = frame->Copy();
    const auto status = protocol->Receive(frame, header, m_l3->GetInterface(iif));
    if (status == IpL4Protocol::RX_ENDPOINT_UNREACH)
    {
        m_ipv4->GetObject<Icmpv4L4Protocol>()->SendDestUnreachPort(header, copy);
    }
    return true;
}

bool
PinnedPathRouting::RouteFromLoopback(Ptr<const Packet> p,
                                     const Ipv4Header& header,
                                     const LocalDeliverCallback& lcb,
                                     const ErrorCallback& ecb)
{
    if (IsLocal(header.GetDestination()))
    {
        lcb(p, header, LOOPBACK_INTERFACE);
        return true;
    }
    // Ask again from the top, so that in a list of protocols the others get their turn.
    auto packet = p->Copy();
    Socket::SocketErrno sockerr;
    const auto route = m_ipv4->GetRoutingProtocol()->RouteOutput(packet, header, nullptr, sockerr);
    if (!route)
    {
        return false;
    }
    if (route->GetOutputDevice() != m_loopback)
    {
        m_ipv4->SendWithHeader(packet, header, route);
        return true;
    }
    PinnedPathTag tag;
    if (!packet->PeekPacketTag(tag))
    {
        return false;
    }
    Drop(p, header, ExplainNoRoute(tag.GetInterface()), ecb);
    return true;
}

void
PinnedPathRouting::Deliver(Ptr<const Packet> p,
                           const Ipv4Header& header,
                           uint32_t iif,
                           const LocalDeliverCallback& lcb,
                           const ErrorCallback& ecb)
{
    if (!IsLocal(header.GetDestination()))
    {
        Drop(p, header, DROP_WRONG_DESTINATION, ecb);
        return;
    }
    lcb(p, header, iif);
}

void
PinnedPathRouting::Forward(Ptr<const Packet> p,
                           const Ipv4Header& header,
                           uint32_t iif,
                           PinnedPathTag& tag,
                           const UnicastForwardCallback& ucb,
                           const ErrorCallback& ecb)
{
    if (!m_ipv4->IsForwarding(iif))
    {
        Drop(p, header, DROP_FORWARDING_DISABLED, ecb);
        return;
    }
    const auto route = GetRoute(tag.GetInterface());
    if (!route)
    {
        Drop(p, header, ExplainNoRoute(tag.GetInterface()), ecb);
        return;
    }
    auto packet = p->Copy();
    packet->ReplacePacketTag(tag);
    ucb(route, packet, header);
}

void
PinnedPathRouting::Drop(Ptr<const Packet> p,
                        const Ipv4Header& header,
                        DropReason reason,
                        const ErrorCallback& ecb)
{
    NS_LOG_WARN("Node " << GetNodeId() << " drops a packet from " << header.GetSource() << " to "
                        << header.GetDestination() << ": " << reason);
    ++m_nDropped;
    m_dropTrace(p, header, reason);
    ecb(p, header, Socket::ERROR_NOROUTETOHOST);
}

PinnedPathRouting::DropReason
PinnedPathRouting::ExplainNoRoute(uint32_t interface) const
{
    const bool exists = interface != LOOPBACK_INTERFACE && interface < m_ipv4->GetNInterfaces();
    return exists ? DROP_INTERFACE_DOWN : DROP_NO_SUCH_INTERFACE;
}

void
PinnedPathRouting::Invalidate(uint32_t interface)
{
    if (interface < m_routes.size())
    {
        m_routes[interface] = nullptr;
    }
    if (interface < m_lightOutputs.size())
    {
        m_lightOutputs[interface] = nullptr;
    }
    m_loopbackRoute = nullptr;
}

void
PinnedPathRouting::NotifyInterfaceUp(uint32_t interface)
{
    NS_LOG_FUNCTION(this << interface);
    Invalidate(interface);
}

void
PinnedPathRouting::NotifyInterfaceDown(uint32_t interface)
{
    NS_LOG_FUNCTION(this << interface);
    Invalidate(interface);
}

void
PinnedPathRouting::NotifyAddAddress(uint32_t interface, Ipv4InterfaceAddress address)
{
    NS_LOG_FUNCTION(this << interface << address);
    if (interface != LOOPBACK_INTERFACE)
    {
        m_directory->Add(address.GetLocal(), GetNodeId());
    }
    Invalidate(interface);
}

void
PinnedPathRouting::NotifyRemoveAddress(uint32_t interface, Ipv4InterfaceAddress address)
{
    NS_LOG_FUNCTION(this << interface << address);
    m_directory->Remove(address.GetLocal());
    Invalidate(interface);
}

void
PinnedPathRouting::SetIpv4(Ptr<Ipv4> ipv4)
{
    NS_LOG_FUNCTION(this << ipv4);
    m_ipv4 = ipv4;
    m_l3 = DynamicCast<Ipv4L3Protocol>(ipv4);
    m_loopback = ipv4->GetNetDevice(LOOPBACK_INTERFACE);
    for (uint32_t i = LOOPBACK_INTERFACE + 1; i < ipv4->GetNInterfaces(); ++i)
    {
        for (uint32_t j = 0; j < ipv4->GetNAddresses(i); ++j)
        {
            NotifyAddAddress(i, ipv4->GetAddress(i, j));
        }
    }
}

void
PinnedPathRouting::PrintRoutingTable(Ptr<OutputStreamWrapper> stream, Time::Unit unit) const
{
    std::ostream& os = *stream->GetStream();
    os << "Node: " << GetNodeId() << ", Time: " << Now().As(unit) << ", PinnedPathRouting table"
       << std::endl;
    for (const auto& [flow, path] : m_flows)
    {
        os << "protocol=" << +flow.protocol << " localPort=" << flow.localPort
           << " remotePort=" << flow.remotePort << " remoteNode=" << flow.remoteNode << " ";
        path.Print(os);
        os << std::endl;
    }
}

std::ostream&
operator<<(std::ostream& os, PinnedPathRouting::DropReason reason)
{
    switch (reason)
    {
    case PinnedPathRouting::DROP_INTERFACE_DOWN:
        return os << "the next interface is down";
    case PinnedPathRouting::DROP_NO_SUCH_INTERFACE:
        return os << "the next interface does not exist";
    case PinnedPathRouting::DROP_FORWARDING_DISABLED:
        return os << "forwarding is disabled";
    case PinnedPathRouting::DROP_WRONG_DESTINATION:
        return os << "the path ends at a node that the packet is not addressed to";
    }
    return os << "unknown reason";
}

} // namespace ns3::allreduce
