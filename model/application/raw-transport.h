/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RAW_TRANSPORT_H
#define ALLREDUCE_RAW_TRANSPORT_H

#include "datagram-transport.h"

#include "ns3/simple-ref-count.h"

#include <vector>

namespace ns3::allreduce
{

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
    static TypeId GetTypeId();

    FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const override;
    bool UsesIp() const override;

  protected:
    void DoOpen() override;
    void DoDispose() override;
    void Transmit(const Route& route, Ptr<Packet> packet) override;

    /**
     * A packet has come to a node, which takes it or sends it on.
     *
     * @param node the node
     * @param packet the packet, with its header
     */
    virtual void Arrive(NodeId node, Ptr<const Packet> packet);

  private:
    /// What one node does with packets that come in.
    class Forwarder : public SimpleRefCount<Forwarder>
    {
      public:
        /**
         * @param transport whose packets these are
         * @param node the node it is for
         */
        Forwarder(RawTransport& transport, NodeId node);

        /**
         * Take a packet from a device: a protocol handler of Node.
         *
         * @param device where it came in
         * @param packet the packet
         * @param protocol its protocol number
         * @param from who sent it over the link
         * @param to to whom
         * @param type whether it is for this node
         */
        void Receive(Ptr<NetDevice> device,
                     Ptr<const Packet> packet,
                     uint16_t protocol,
                     const Address& from,
                     const Address& to,
                     NetDevice::PacketType type);

        /// Stop working.
        void Detach();

      private:
        RawTransport* m_transport; //!< whose packets these are; nullptr: no longer
        NodeId m_node;             //!< the node it is for
    };

    Route MakeRoute(const Path& path) override;
    bool IsPathInHeader() const override;

    std::vector<Ptr<Forwarder>> m_forwarders; //!< by node
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RAW_TRANSPORT_H */
