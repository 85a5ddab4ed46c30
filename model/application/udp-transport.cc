/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "udp-transport.h"

#include "ns3/abort.h"
#include "ns3/inet-socket-address.h"
#include "ns3/udp-socket-factory.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(UdpTransport);

namespace
{

const bool g_isNamed = NameTransport("udp", UdpTransport::GetTypeId());

constexpr uint32_t IP_AND_UDP_BYTES = 20 + 8;
/// What a point-to-point device adds to a packet.
constexpr uint32_t PPP_BYTES = 2;

} // namespace

TypeId
UdpTransport::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::UdpTransport")
                            .SetParent<DatagramTransport>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<UdpTransport>();
    return tid;
}

void
UdpTransport::DoOpen()
{
    for (NodeId server = 0; server < GetNetwork().GetTopology().GetNServers(); ++server)
    {
        const auto socket =
            Socket::CreateSocket(GetNetwork().GetNode(server), UdpSocketFactory::GetTypeId());
        socket->Bind();
        socket->SetRecvCallback(MakeCallback(&UdpTransport::Read, this));
        Address bound;
        socket->GetSockName(bound);
        m_sockets.push_back(socket);
        m_addresses.push_back(InetSocketAddress(GetNetwork().GetServerAddress(server),
                                                InetSocketAddress::ConvertFrom(bound).GetPort()));
    }
}

void
UdpTransport::DoDispose()
{
    for (const auto& socket : m_sockets)
    {
        socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
        socket->Close();
    }
    m_sockets.clear();
    DatagramTransport::DoDispose();
}

FrameFormat
UdpTransport::GetFrameFormat(uint32_t hops, uint32_t mtu) const
{
    const uint32_t headers = IP_AND_UDP_BYTES + DatagramHeader::GetSize(0);
    NS_ABORT_MSG_IF(mtu <= headers, "Mtu is " << mtu << ", expected more than " << headers);
    return {mtu - headers, headers + PPP_BYTES};
}

DatagramTransport::Route
UdpTransport::MakeRoute(const Path& path)
{
    return {path, nullptr, GetNetwork().MakePathTag(path)};
}

void
UdpTransport::Transmit(const Route& route, Ptr<Packet> packet)
{
    packet->AddPacketTag(route.tag);
    m_sockets[route.path.front()]->SendTo(packet, 0, m_addresses[route.path.back()]);
}

bool
UdpTransport::IsPathInHeader() const
{
    return false;
}

void
UdpTransport::Read(Ptr<Socket> socket)
{
    while (const Ptr<Packet> packet = socket->Recv())
    {
        DatagramHeader header;
        packet->RemoveHeader(header);
        Receive(header, packet);
    }
}

} // namespace ns3::allreduce
