/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "datagram-transport.h"

#include "ns3/abort.h"
#include "ns3/inet-socket-address.h"
#include "ns3/light-link-device.h"
#include "ns3/socket.h"
#include "ns3/udp-socket-factory.h"

#include <vector>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t IP_AND_UDP_BYTES = 20 + 8;

} // namespace

/**
 * @ingroup allreduce
 *
 * @brief UDP datagrams, paced.
 */
class UdpTransport : public DatagramTransport
{
  public:
    /// @return the type
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::UdpTransport")
                                .SetParent<DatagramTransport>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<UdpTransport>();
        return tid;
    }

    FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const override
    {
        const uint32_t headers = IP_AND_UDP_BYTES + DatagramHeader::GetSize(0);
        NS_ABORT_MSG_IF(mtu <= headers, "Mtu is " << mtu << ", expected more than " << headers);
        return {mtu - headers, headers + LightLinkDevice::HEADER_BYTES};
    }

  protected:
    void DoOpen() override
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
            m_addresses.push_back(
                InetSocketAddress(GetNetwork().GetServerAddress(server),
                                  InetSocketAddress::ConvertFrom(bound).GetPort()));
        }
    }

    void DoDispose() override
    {
        for (const auto& socket : m_sockets)
        {
            socket->SetRecvCallback(MakeNullCallback<void, Ptr<Socket>>());
            socket->Close();
        }
        m_sockets.clear();
        DatagramTransport::DoDispose();
    }

  private:
    Route MakeRoute(const Path& path) override
    {
        return {path, nullptr, GetNetwork().MakePathTag(path)};
    }

    void Transmit(const Route& route, Ptr<Packet> packet) override
    {
        packet->AddPacketTag(route.tag);
        m_sockets[route.path.front()]->SendTo(packet, 0, m_addresses[route.path.back()]);
    }

    bool IsPathInHeader() const override
    {
        return false;
    }

    void Read(Ptr<Socket> socket)
    {
        while (const Ptr<Packet> packet = socket->Recv())
        {
            DatagramHeader header;
            packet->RemoveHeader(header);
            Receive(header, packet);
        }
    }

    std::vector<Ptr<Socket>> m_sockets; //!< by server
    std::vector<Address> m_addresses;   //!< by server: where its socket is reached
};

NS_OBJECT_ENSURE_REGISTERED(UdpTransport);

static const bool g_isUdpNamed = NameTransport("udp", UdpTransport::GetTypeId());

} // namespace ns3::allreduce
