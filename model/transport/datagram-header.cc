/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "datagram-header.h"

#include "ns3/light-link-device.h"

#include <array>
#include <limits>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(DatagramHeader);

namespace
{

constexpr uint32_t FIXED_BYTES = 1 + 1 + 3 * 4;
constexpr uint32_t NODE_BYTES = 4;
constexpr uint32_t GAP_BYTES = 2 * 4;
constexpr uint32_t NODES_AT = 1;
constexpr uint32_t SESSION_AT = 2;

uint32_t
ReadU32(const uint8_t* bytes)
{
    return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 | bytes[3];
}

} // namespace

TypeId
DatagramHeader::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::DatagramHeader")
                            .SetParent<Header>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<DatagramHeader>();
    return tid;
}

TypeId
DatagramHeader::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
DatagramHeader::GetSize(uint32_t nNodes)
{
    return FIXED_BYTES + NODE_BYTES * nNodes;
}

uint32_t
DatagramHeader::GetSerializedSize() const
{
    return GetSize(path.size()) + (kind == ACK ? GAP_BYTES : 0);
}

void
DatagramHeader::Serialize(Buffer::Iterator start) const
{
    start.WriteU8(kind);
    start.WriteU8(path.size());
    start.WriteHtonU32(session);
    start.WriteHtonU32(transfer);
    start.WriteHtonU32(sequence);
    for (const NodeId node : path)
    {
        start.WriteHtonU32(node);
    }
    if (kind == ACK)
    {
        start.WriteHtonU32(gapBegin);
        start.WriteHtonU32(gapEnd);
    }
}

uint32_t
DatagramHeader::Deserialize(Buffer::Iterator start)
{
    kind = static_cast<Kind>(start.ReadU8());
    path.resize(start.ReadU8());
    session = start.ReadNtohU32();
    transfer = start.ReadNtohU32();
    sequence = start.ReadNtohU32();
    for (NodeId& node : path)
    {
        node = start.ReadNtohU32();
    }
    if (kind == ACK)
    {
        gapBegin = start.ReadNtohU32();
        gapEnd = start.ReadNtohU32();
    }
    return GetSerializedSize();
}

std::optional<NodeId>
DatagramHeader::PeekNext(const Packet& frame, uint16_t ppp, uint32_t session, NodeId node)
{
    // Every hop asks: no memory from the heap, and nothing is read that no hop needs.
    constexpr uint32_t USUAL_NODES = 12;
    constexpr uint32_t MOST_NODES = std::numeric_limits<uint8_t>::max();
    std::array<uint8_t, LightLinkDevice::HEADER_BYTES + FIXED_BYTES + NODE_BYTES * MOST_NODES>
        bytes;
    const uint32_t usual =
        frame.CopyData(bytes.data(), LightLinkDevice::HEADER_BYTES + GetSize(USUAL_NODES));
    const uint32_t nNodes = bytes[LightLinkDevice::HEADER_BYTES + NODES_AT];
    const uint32_t size = LightLinkDevice::HEADER_BYTES + GetSize(nNodes);
    if (usual < size && frame.CopyData(bytes.data(), size) < size)
    {
        return std::nullopt;
    }
    if ((bytes[0] << 8 | bytes[1]) != ppp ||
        ReadU32(&bytes[LightLinkDevice::HEADER_BYTES + SESSION_AT]) != session)
    {
        return std::nullopt;
    }
    const uint8_t* const end = bytes.data() + size;
    for (const uint8_t* place = &bytes[LightLinkDevice::HEADER_BYTES + FIXED_BYTES]; place < end;
         place += NODE_BYTES)
    {
        if (ReadU32(place) == node)
        {
            return place + NODE_BYTES < end ? ReadU32(place + NODE_BYTES) : node;
        }
    }
    return std::nullopt;
}

void
DatagramHeader::Print(std::ostream& os) const
{
    os << (kind == ACK     ? "ACK"
           : kind == PROBE ? "PROBE"
                           : "DATA")
       << " session " << session << " transfer " << transfer << " sequence " << sequence;
}

} // namespace ns3::allreduce
