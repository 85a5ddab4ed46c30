/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pinned-path-routing.h"

#include "address-directory.h"
#include "light-link-device.h"

#include "ns3/abort.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-route.h"
#include "ns3/log.h"
#include "ns3/net-device.h"
#include "ns3/node.h"
#include "ns3/output-stream-wrapper.h"
#include "ns3/packet.h"
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
    // Ask again from the top, so that in a list of protocols the others are asked, too.
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
