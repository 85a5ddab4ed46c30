/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_UDP_TRANSPORT_H
#define ALLREDUCE_UDP_TRANSPORT_H

#include "datagram-transport.h"

#include "ns3/socket.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief UDP datagrams, paced.
 */
class UdpTransport : public DatagramTransport
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const override;

  protected:
    void DoOpen() override;
    void DoDispose() override;
    void Transmit(const Route& route, Ptr<Packet> packet) override;

  private:
    Route MakeRoute(const Path& path) override;
    bool IsPathInHeader() const override;

    void Read(Ptr<Socket> socket);

    std::vector<Ptr<Socket>> m_sockets; //!< by server
    std::vector<Address> m_addresses;   //!< by server: where its socket is reached
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_UDP_TRANSPORT_H */
