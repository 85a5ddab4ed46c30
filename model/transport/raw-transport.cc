/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "datagram-transport.h"

#include "ns3/abort.h"
#include "ns3/light-link-device.h"
#include "ns3/log.h"
#include "ns3/ppp-header.h"
#include "ns3/simple-ref-count.h"

#include <algorithm>
#include <vector>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceRawTransport");

namespace
{

constexpr uint16_t PROTOCOL_NUMBER = 0x86DD;

} // namespace

/**
 * @ingroup allreduce
 *
 * @brief Packets straight over the devices, without IP: the fastest to simulate.
 *
 * Every packet carries its path; each node on it finds itself there and sends the packet on to
 * the next. Point-to-point devices know two protocol numbers only, so that the packets bear that of
 * IPv6, which TopologyHelper does not install.
 */
class RawTransport : public DatagramTransport
{
  public:
    /// @return the type
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::RawTransport")
                                .SetParent<DatagramTransport>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<RawTransport>();
        return tid;
    }

    FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const override
    {
        const uint32_t header = DatagramHeader::GetSize(hops + 1);
        NS_ABORT_MSG_IF(mtu <= header,
                        "Mtu is " << mtu << ", expected more than " << header << " for a path of "
                                  << hops << " links");
        return {mtu - header, header + LightLinkDevice::HEADER_BYTES};
    }

    bool UsesIp() const override
    {
        return false;
    }

  protected:
    void DoOpen() override
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
        AddShortcuts();
    }

    void DoDispose() override
    {
        for (const auto& forwarder : m_forwarders)
        {
            forwarder->Detach();
        }
        m_forwarders.clear();
        DatagramTransport::DoDispose();
    }

  private:
    /// What one node does with packets that come in.
    class Forwarder : public SimpleRefCount<Forwarder>
    {
      public:
        Forwarder(RawTransport& transport, NodeId node)
            : m_transport(&transport),
              m_node(node)
        {
        }

        /// Take a packet from a device: a protocol handler of Node.
        void Receive(Ptr<NetDevice> device,
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

        /// Take a frame from a device: a shortcut of LightLinkDevice.
        bool Take(const Ptr<Packet>& frame) const
        {
            return m_transport && m_transport->TakeFrame(m_node, frame);
        }

        /// Stop working.
        void Detach()
        {
            m_transport = nullptr;
        }

      private:
        RawTransport* m_transport; //!< whose packets these are; nullptr: no longer
        NodeId m_node;             //!< the node it is for
    };

    /// Let light devices send frames on as they are.
    void AddShortcuts()
    {
        const Topology& topology = GetNetwork().GetTopology();
        for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
        {
            const auto device = DynamicCast<LightLinkDevice>(GetNetwork().GetDevice(link));
            m_lightDevices.push_back(device);
            if (device)
            {
                const auto forwarder = m_forwarders[topology.GetSource(link)];
                device->AddShortcut(
                    [forwarder](const Ptr<Packet>& frame) { return forwarder->Take(frame); });
            }
        }
    }

    /**
     * Take a frame: send it on if its next link is a light one, or receive it at its end.
     *
     * @param node where it is
     * @param frame with its PPP header
     * @return whether it was taken
     */
    bool TakeFrame(NodeId node, const Ptr<Packet>& frame)
    {
        const auto next =
            DatagramHeader::PeekNext(*frame, LightLinkDevice::PPP_IPV6, GetSessionNumber(), node);
        if (!next)
        {
            return false;
        }
        if (*next == node)
        {
            PppHeader ppp;
            frame->RemoveHeader(ppp);
            ReceiveLast(frame);
            return true;
        }
        const auto link = GetNetwork().GetTopology().FindDirectedLink(node, *next);
        if (!link || !m_lightDevices[*link] || !GetNetwork().IsLinkUp(GetLinkId(*link)))
        {
            return false;
        }
        m_lightDevices[*link]->SendFrame(frame);
        return true;
    }

    /// A packet is at the end of its path.
    void ReceiveLast(const Ptr<Packet>& packet)
    {
        DatagramHeader header;
        packet->RemoveHeader(header);
        Receive(header, packet);
    }

    Route MakeRoute(const Path& path) override
    {
        const auto link = GetNetwork().GetTopology().FindDirectedLink(path[0], path[1]);
        return {path, GetNetwork().GetDevice(*link), {}};
    }

    void Transmit(const Route& route, Ptr<Packet> packet) override
    {
        route.port->Send(packet, route.port->GetBroadcast(), PROTOCOL_NUMBER);
    }

    bool IsPathInHeader() const override
    {
        return true;
    }

    void Arrive(NodeId node, Ptr<const Packet> packet)
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
            ReceiveLast(copy);
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

    std::vector<Ptr<Forwarder>> m_forwarders;         //!< by node
    std::vector<Ptr<LightLinkDevice>> m_lightDevices; //!< by directed link; nullptr: another one
};

NS_OBJECT_ENSURE_REGISTERED(RawTransport);

static const bool g_isRawNamed = NameTransport("raw", RawTransport::GetTypeId());

} // namespace ns3::allreduce
