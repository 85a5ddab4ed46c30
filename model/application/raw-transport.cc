/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "raw-transport.h"

#include "ns3/abort.h"
#include "ns3/log.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceRawTransport");
NS_OBJECT_ENSURE_REGISTERED(RawTransport);

namespace
{

const bool g_isNamed = NameTransport("raw", RawTransport::GetTypeId());

constexpr uint16_t PROTOCOL_NUMBER = 0x86DD;
/// What a point-to-point device adds to a packet.
constexpr uint32_t PPP_BYTES = 2;

} // namespace

TypeId
RawTransport::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::RawTransport")
                            .SetParent<DatagramTransport>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<RawTransport>();
    return tid;
}

RawTransport::Forwarder::Forwarder(RawTransport& transport, NodeId node)
    : m_transport(&transport),
      m_node(node)
{
}

void
RawTransport::Forwarder::Receive(Ptr<NetDevice> device,
                                 Ptr<const Packet> packet,
                                 uint16_t protocol,
                                 const Address& from,
                                 const Address& to,
                                 NetDevice::PacketType type)
{
    if (m_transport)
    {
        m_transport->Arrive(m_node, packet);
    }
}

void
RawTransport::Forwarder::Detach()
{
    m_transport = nullptr;
}

void
RawTransport::DoOpen()
{
    for (NodeId node = 0; node < GetNetwork().GetTopology().GetNNodes(); ++node)
    {
        const auto forwarder = Create<Forwarder>(*this, node);
        GetNetwork().GetNode(node)->RegisterProtocolHandler(
            MakeCallback(&Forwarder::Receive, forwarder),
            PROTOCOL_NUMBER,
            nullptr);
        m_forwarders.push_back(forwarder);
    }
}

void
RawTransport::DoDispose()
{
    for (const auto& forwarder : m_forwarders)
    {
        forwarder->Detach();
    }
    m_forwarders.clear();
    DatagramTransport::DoDispose();
}

FrameFormat
RawTransport::GetFrameFormat(uint32_t hops, uint32_t mtu) const
{
    const uint32_t header = DatagramHeader::GetSize(hops + 1);
    NS_ABORT_MSG_IF(mtu <= header,
                    "Mtu is " << mtu << ", expected more than " << header << " for a path of "
                              << hops << " links");
    return {mtu - header, header + PPP_BYTES};
}

DatagramTransport::Route
RawTransport::MakeRoute(const Path& path)
{
    const auto link = GetNetwork().GetTopology().FindDirectedLink(path[0], path[1]);
    return {path, GetNetwork().GetDevice(*link), {}};
}

void
RawTransport::Transmit(const Route& route, Ptr<Packet> packet)
{
    route.port->Send(packet, route.port->GetBroadcast(), PROTOCOL_NUMBER);
}

bool
RawTransport::UsesIp() const
{
    return false;
}

bool
RawTransport::IsPathInHeader() const
{
    return true;
}

void
RawTransport::Arrive(NodeId node, Ptr<const Packet> packet)
{
    DatagramHeader header;
    packet->PeekHeader(header);
    const auto here = std::find(header.path.begin(), header.path.end(), node);
    if (header.session != GetSessionNumber() || here == header.path.end())
    {
        return;
    }
    const Ptr<Packet> copy = packet->Copy();
    if (here + 1 == header.path.end())
    {
        copy->RemoveHeader(header);
        Receive(header, copy);
        return;
    }
    const auto link = GetNetwork().GetTopology().FindDirectedLink(node, *(here + 1));
    if (link && GetNetwork().IsLinkUp(GetLinkId(*link)))
    {
        const auto device = GetNetwork().GetDevice(*link);
        device->Send(copy, device->GetBroadcast(), PROTOCOL_NUMBER);
    }
    else
    {
        NS_LOG_INFO("node " << node << " drops a packet of transfer " << header.transfer
                            << ": its link to node " << *(here + 1) << " is down");
    }
}

} // namespace ns3::allreduce
