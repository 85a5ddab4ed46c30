/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DATAGRAM_HEADER_H
#define ALLREDUCE_DATAGRAM_HEADER_H

#include "ns3/allreduce-topology.h"
#include "ns3/header.h"
#include "ns3/packet.h"

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <optional>
#include <ostream>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What precedes the data in a packet of the transports raw and udp.
 *
 * It stands apart from what the transports do with it, because each node that a raw packet passes
 * reads it too: PeekNext takes no more from the packet than a hop needs.
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

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DATAGRAM_HEADER_H */
