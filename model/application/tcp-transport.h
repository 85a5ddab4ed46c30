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
 * are as large as the devices' packets allow. Unless Pacing is off, connections keep to the rate of
 * their path: ns-3 has no TCP small queues, and without these a sender's window fills the queue of
 * its own device, where the acknowledgements of what it receives then wait.
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
    Time GetSetupTime(const Path& path, uint64_t bytes) const override;
    Time GetLongestSilence() const override;

  protected:
    void DoOpen() override;
    void DoDispose() override;

  private:
    std::map<Path, Ptr<TcpPathConnection>> m_connections; //!< those that are open, by path
    std::map<TransferId, Path> m_paths;                   //!< of the transfers not delivered
    uint16_t m_mtu{0};                                    //!< largest packet
    uint32_t m_headerBytes{0};                            //!< of IP and TCP in a data packet
    uint32_t m_bufferFrames{32};                          //!< attribute BufferFrames
    bool m_isPaced{true};                                 //!< attribute Pacing

    /**
     * @param path the nodes of a path
     * @return what a unit flow gets of its slowest link, in bit/s
     */
    uint64_t GetPathRate(const Path& path) const;

    /// @return how many segments can be sent before the first acknowledgement
    uint32_t GetFirstWindow() const;

    /// @return how many segments an acknowledgement stands for
    uint32_t GetAckEvery() const;

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
