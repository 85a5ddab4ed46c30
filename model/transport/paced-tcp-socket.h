/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PACED_TCP_SOCKET_H
#define ALLREDUCE_PACED_TCP_SOCKET_H

#include "ns3/node.h"
#include "ns3/nstime.h"
#include "ns3/ptr.h"
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

    /// @return bytes that were written and have not been sent yet, or are to be sent again
    uint32_t GetNUnsent() const;

    /// @return bytes that were written and never sent
    uint32_t GetNNeverSent() const;

    /// @return whether the time that the last segment takes at the pacing rate is not over
    bool IsPacing() const;

    /// @return whether more is sent, if there is more, without waiting for an acknowledgement
    bool IsSending() const;

    /**
     * @param bytes the next ones that were written and have not been sent yet
     * @return how long they take at the pacing rate, after what was sent last
     */
    Time FindPacedTime(uint32_t bytes) const;

  protected:
    uint32_t SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PACED_TCP_SOCKET_H */
