/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DATAGRAM_TRANSPORT_H
#define ALLREDUCE_DATAGRAM_TRANSPORT_H

#include "allreduce-transport.h"

#include "ns3/event-id.h"
#include "ns3/event-impl.h"
#include "ns3/header.h"
#include "ns3/packet.h"

#include <boost/container/small_vector.hpp>
#include <deque>
#include <memory>
#include <unordered_map>
#include <utility>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What precedes the data in a packet of the transports raw and udp.
 */
class DatagramHeader : public Header
{
  public:
    /// What a packet is.
    enum Kind : uint8_t
    {
        DATA,  //!< carries data
        PROBE, //!< carries data and asks for an acknowledgement that names what is missing
        ACK    //!< says what has arrived
    };

    /// The nodes of a path; those of usual length need no heap.
    using Hops = boost::container::small_vector<NodeId, 8>;

    Kind kind{DATA};      //!< what the packet is
    uint32_t session{0};  //!< whose packet it is
    uint32_t transfer{0}; //!< the transfer it belongs to
    uint32_t sequence{0}; //!< data: its number; ACK: all before this have arrived
    uint32_t gapBegin{0}; //!< ACK: the first packet of a gap
    uint32_t gapEnd{0};   //!< ACK: the packet after the gap; gapBegin if there is none
    Hops path;            //!< raw: the nodes to pass, both ends included

    /// @return the TypeId
    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(Buffer::Iterator start) const override;
    uint32_t Deserialize(Buffer::Iterator start) override;
    void Print(std::ostream& os) const override;

    /**
     * @param nNodes number of nodes in the path
     * @return bytes that the header of a packet with data takes
     */
    static uint32_t GetSize(uint32_t nNodes);

    /**
     * Read only what a node needs to send a packet on.
     *
     * @param frame a packet behind a PPP header
     * @param ppp what that header must say
     * @param session whose packet it must be
     * @param node the node that the packet has come to
     * @return the next node of the path, or the node itself if it is the last; none if it is not on
     * the path, or the packet another one
     */
    static std::optional<NodeId> PeekNext(const Packet& frame,
                                          uint16_t ppp,
                                          uint32_t session,
                                          NodeId node);
};

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
    Time FindTurn(const Flow& flow);
    /// Remember how long the last packet of a transfer and its acknowledgement took.
    void NoteRoundTrip(const Flow& flow);
    void SendNext(TransferId id);
    void SendData(Flow& flow, uint32_t sequence, DatagramHeader::Kind kind);
    void SendAck(Flow& flow, uint32_t gapBegin, uint32_t gapEnd);
    void ReceiveData(Flow& flow, const DatagramHeader& header, Ptr<Packet> packet);
    void ReceiveAck(Flow& flow, const DatagramHeader& header);
    void StoreData(Flow& flow, uint32_t sequence, Ptr<Packet> packet);
    uint32_t FindGapEnd(const Flow& flow) const;
    void CheckNews(TransferId id);
    /// The sender knows that all has arrived.
    void End(Flow& flow);
    void Erase(TransferId id);
    bool IsFromElsewhere(const Flow& flow) const;

    uint32_t m_sessionNumber;                             //!< see GetSessionNumber
    uint32_t m_ackEvery{8};                               //!< attribute AckEvery
    uint64_t m_nResent{0};                                //!< packets sent again
    Time m_longestTimeout;                                //!< of all flows so far
    std::deque<std::pair<Time, TransferId>> m_ended;      //!< flows kept by End, since when
    std::unordered_map<DirectedLinkId, Time> m_nextTurns; //!< by port: see FindTurn
    std::vector<Time> m_roundTrips;                       //!< by directed link: see NoteRoundTrip
    std::unordered_map<TransferId, std::unique_ptr<Flow>> m_flows; //!< not at their end
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DATAGRAM_TRANSPORT_H */
