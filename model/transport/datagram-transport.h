/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DATAGRAM_TRANSPORT_H
#define ALLREDUCE_DATAGRAM_TRANSPORT_H

#include "allreduce-transport.h"
#include "datagram-header.h"

#include "ns3/event-id.h"
#include "ns3/event-impl.h"
#include "ns3/packet.h"

#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Transfers as numbered packets: what raw and udp have in common.
 *
 * Senders keep to the rate that the plan gives them, so that what follows on the same port finds
 * it free; those that begin together on a port take turns, frame by frame. A sender may be a window
 * ahead of what it knows to have arrived. The receiver acknowledges every few packets. A path never
 * overtakes, so that a gap in the numbers is a loss, which the receiver names at once. If nothing
 * is heard for a while the sender sends one packet again and asks what is missing. How long that is
 * depends on the path and on the round trips that senders have seen on its ends: where all senders
 * keep a link busy, the acknowledgements beside them let its queue grow.
 */
class DatagramTransport : public AllReduceTransport
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    DatagramTransport();

    void Send(const Transfer& transfer) override;
    void Cancel(TransferId id) override;
    void Close() override;
    TransferProgress GetProgress(TransferId id) const override;
    std::string DescribeProgress(TransferId id) const override;
    Time GetLongestSilence() const override;

    /// @return how many packets were sent again so far
    uint64_t GetNResent() const;

  protected:
    void DoDispose() override;

    /// One direction of a transfer's path: data takes one, acknowledgements the other.
    struct Route
    {
        Path path;           //!< the nodes
        Ptr<NetDevice> port; //!< the device that the first node sends through
        PinnedPathTag tag;   //!< udp: the path for the packets
    };

    /**
     * A packet has arrived at the end of its path.
     *
     * @param header its header
     * @param packet what follows it
     */
    void Receive(const DatagramHeader& header, Ptr<Packet> packet);

    /// @return what tells this session's packets from those of others
    uint32_t GetSessionNumber() const;

  private:
    /// A transfer that has not come to its end.
    struct Flow
    {
        Transfer transfer;           //!< what goes where
        Route forth;                 //!< the way of the data
        Route back;                  //!< the way of the acknowledgements
        DirectedLinkId first{0};     //!< the first link of its path
        DirectedLinkId last{0};      //!< the last link of its path
        FrameFormat format;          //!< of its packets
        uint32_t nPackets{0};        //!< number of packets
        uint32_t window{0};          //!< packets that may be on the way
        Time timeout;                //!< how long to wait for news
        uint32_t backoff{1};         //!< by how much the wait is longer now
        uint32_t nSent{0};           //!< packets sent at least once
        uint32_t nAcked{0};          //!< all before this are known to have arrived
        Time lastNews;               //!< when something was heard or sent for the first time
        Time lastSent;               //!< when something was sent for the first time
        Time fullInterval;           //!< from the beginning of a full frame to that of the next
        Ptr<EventImpl> sendNext;     //!< sends the next packet
        EventId pacer;               //!< when it does
        EventId timer;               //!< looks whether there was news
        std::vector<bool> arrived;   //!< by packet, at the receiver
        uint32_t nArrived{0};        //!< packets that have arrived
        uint32_t firstMissing{0};    //!< all before this have arrived
        uint32_t nSeen{0};           //!< one more than the highest number that has arrived
        uint32_t nUnacknowledged{0}; //!< packets since the last acknowledgement
        bool wasResent{false};       //!< a packet was sent more than once
        Bytes data;                  //!< what has arrived, if it matters

        /**
         * @param payload bytes of data in a frame
         * @return how long it takes at the rate of the transfer
         */
        Time GetInterval(uint64_t payload) const;
    };

    /**
     * Find what a route needs besides its path.
     *
     * @param path the nodes
     * @return the route
     */
    virtual Route MakeRoute(const Path& path) = 0;

    /**
     * Put a packet on its way.
     *
     * @param route the way
     * @param packet the packet, with the header in place
     */
    virtual void Transmit(const Route& route, Ptr<Packet> packet) = 0;

    /// @return whether packets carry their path in the header
    virtual bool IsPathInHeader() const = 0;

    std::unique_ptr<Flow> MakeFlow(const Transfer& transfer);
    Flow* FindFlow(const DatagramHeader& header);
    void SetTimes(Flow& flow);
    void SetTimesForFrames(Flow& flow, double frameBits) const;
    Time ReserveStart(const Flow& flow);
    /// Remember how long the last packet of a transfer and its acknowledgement took.
    void RecordRoundTrip(const Flow& flow);
    void SendNext(TransferId id);
    void SendData(Flow& flow, uint32_t sequence, DatagramHeader::Kind kind);
    void SendAck(Flow& flow, uint32_t gapBegin, uint32_t gapEnd);
    void ReceiveData(Flow& flow, const DatagramHeader& header, Ptr<Packet> packet);
    void ReceiveAck(Flow& flow, const DatagramHeader& header);
    void StoreData(Flow& flow, uint32_t sequence, Ptr<Packet> packet);
    uint32_t FindGapEnd(const Flow& flow) const;
    void CheckNews(TransferId id);
    Time GetTimeout(const Flow& flow) const;
    /// The sender knows that all has arrived.
    void End(Flow& flow);
    void Erase(TransferId id);
    bool IsFromElsewhere(const Flow& flow) const;

    uint32_t m_sessionNumber;                              //!< see GetSessionNumber
    uint32_t m_ackEvery{8};                                //!< attribute AckEvery
    uint64_t m_nResent{0};                                 //!< packets sent again
    Time m_longestTimeout;                                 //!< of all flows so far
    std::deque<std::pair<Time, TransferId>> m_ended;       //!< flows kept by End, since when
    std::unordered_map<DirectedLinkId, Time> m_nextStarts; //!< by port: see ReserveStart
    std::vector<Time> m_roundTrips; //!< by directed link: see RecordRoundTrip
    std::unordered_map<TransferId, std::unique_ptr<Flow>> m_flows; //!< not at their end
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DATAGRAM_TRANSPORT_H */
