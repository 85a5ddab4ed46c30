/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TCP_TRANSPORT_H
#define ALLREDUCE_TCP_TRANSPORT_H

#include "allreduce-transport.h"

#include <map>

namespace ns3::allreduce
{

class TcpPathConnection;

/**
 * @ingroup allreduce
 *
 * @brief TCP connections, one for each path, opened when first needed and kept open.
 *
 * Congestion control and all else are those of ns-3's TCP and set by its attributes; the segments
 * are as large as the devices' packets allow. Acknowledgements wait behind data that goes the other
 * way, so that ns-3's usual buffers would not keep a fast link busy; see BufferFrames.
 */
class TcpTransport : public AllReduceTransport
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    TcpTransport();
    ~TcpTransport() override;

    void Send(const Transfer& transfer) override;
    void Cancel(TransferId id) override;
    void Close() override;
    std::string DescribeProgress(TransferId id) const override;
    FrameFormat GetFrameFormat(uint32_t hops) const override;
    Time GetLongestSilence() const override;

  protected:
    void DoOpen() override;
    void DoDispose() override;

  private:
    std::map<Path, Ptr<TcpPathConnection>> m_connections; //!< those that are open, by path
    std::map<TransferId, Path> m_paths;                   //!< of the transfers not delivered
    uint16_t m_mtu{0};                                    //!< largest packet
    uint32_t m_bufferFrames{48};                          //!< attribute BufferFrames

    /**
     * A connection has delivered a transfer.
     *
     * @param id the transfer
     * @param data what has arrived
     */
    void Deliver(TransferId id, const Bytes& data);
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TCP_TRANSPORT_H */
