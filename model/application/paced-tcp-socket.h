/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PACED_TCP_SOCKET_H
#define ALLREDUCE_PACED_TCP_SOCKET_H

#include "ns3/node.h"
#include "ns3/tcp-socket-base.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief ns-3's TCP socket with a pacing rate that can be changed while it sends.
 *
 * ns-3 takes the rate from the defaults when a socket is made and lets nobody reach it later.
 */
class PacedTcpSocket : public TcpSocketBase
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /**
     * Make a socket as the node's TCP makes them.
     *
     * @param node the node
     * @return the socket
     */
    static Ptr<PacedTcpSocket> Make(Ptr<Node> node);

    /**
     * Send no faster than this from now on.
     *
     * @param rateBps bit/s of data
     */
    void SetPacingRate(uint64_t rateBps);

    /// @return bytes that were written and have not been sent yet
    uint32_t GetNUnsent() const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PACED_TCP_SOCKET_H */
