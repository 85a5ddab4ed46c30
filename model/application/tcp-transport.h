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
 * @brief TCP connections, one for each path, kept open.
 *
 * Congestion control and all else are those of ns-3's TCP and set by its attributes; the segments
 * are as large as the devices' packets allow. Unless Pacing is off, connections keep to the rate
 * that the plan gives their transfers: ns-3 has no TCP small queues, and without these a sender's
 * window fills the queue of its own device, where the acknowledgements of what it receives then
 * wait.
 *
 * A connection whose set-up would make its first transfer notably longer (see ConnectAhead) is
 * opened before the AllReduce begins, as communication libraries do, if the plan is known then; it
 * starts with a window that fills its path. Others are opened when they are first needed. Without
 * barriers, where a late transfer makes all that follow late, all are opened before.
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
    void Prepare(const std::vector<TransferPlan>& transfers,
                 bool all,
                 ReadyCallback ready) override;
    std::string DescribePreparation() const override;
    FrameFormat GetFrameFormat(uint32_t hops, uint32_t mtu) const override;
    double GetSetupSeconds(const Topology& topology,
                           uint32_t mtu,
                           const TransferPlan& transfer) const override;
    Time GetLongestSilence() const override;

  protected:
    void DoOpen() override;
    void DoDispose() override;

  private:
    /// Sizes that depend on a path, in full segments.
    struct Windows
    {
        uint32_t buffer;     //!< that a socket holds; 0: as TCP's own attributes say
        double seconds;      //!< that a buffer takes to be sent and acknowledged
        uint32_t congestion; //!< of TCP's congestion control at first
        uint32_t first;      //!< that can be sent before the first acknowledgement
        uint32_t ackEvery;   //!< that an acknowledgement stands for
    };

    /**
     * @param topology the network
     * @param mtu largest packet on its links
     * @param path the nodes of a path
     * @return the windows of a connection along it
     */
    Windows ComputeWindows(const Topology& topology, uint32_t mtu, const Path& path) const;

    /**
     * @param topology the network
     * @param mtu largest packet on its links
     * @param transfer the first one along its path
     * @return by how many seconds it takes longer if the connection is opened for it
     */
    double GetConnectSeconds(const Topology& topology,
                             uint32_t mtu,
                             const TransferPlan& transfer) const;

    /**
     * @param topology the network
     * @param mtu largest packet on its links
     * @param transfer the first one along its path
     * @return whether its connection should be open before the AllReduce begins
     */
    bool IsConnectedAhead(const Topology& topology,
                          uint32_t mtu,
                          const TransferPlan& transfer) const;

    /**
     * @param path the nodes of a path
     * @param ready told when the connection is open, if that is waited for
     * @return a new connection along it
     */
    Ptr<TcpPathConnection> Connect(const Path& path, ReadyCallback ready);

    /**
     * A link broke or was mended.
     *
     * @param link the link
     * @param isUp whether it can be used
     */
    void NoteLinkChanged(LinkId link, bool isUp);

    /// A connection that was opened ahead is open.
    void NoteReady();

    /**
     * A connection has delivered a transfer.
     *
     * @param id the transfer
     * @param data what has arrived
     */
    void Deliver(TransferId id, const Bytes& data);

    std::map<Path, Ptr<TcpPathConnection>> m_connections; //!< those that are open, by path
    std::map<TransferId, Path> m_paths;                   //!< of the transfers not delivered
    uint32_t m_nAwaited{0};                               //!< connections that Prepare waits for
    ReadyCallback m_ready;                                //!< told when there are none
    uint32_t m_bufferFrames{32};                          //!< attribute BufferFrames
    bool m_isPaced{true};                                 //!< attribute Pacing
    double m_connectAhead{0.08};                          //!< attribute ConnectAhead
    double m_longestTimeout{0};                           //!< of all connections so far, seconds
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TCP_TRANSPORT_H */
