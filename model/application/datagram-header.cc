/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "datagram-header.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(DatagramHeader);

namespace
{

constexpr uint32_t FIXED_BYTES = 1 + 1 + 3 * 4;
constexpr uint32_t NODE_BYTES = 4;
constexpr uint32_t GAP_BYTES = 2 * 4;

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

void
DatagramHeader::Print(std::ostream& os) const
{
    os << (kind == ACK     ? "ACK"
           : kind == PROBE ? "PROBE"
                           : "DATA")
       << " session " << session << " transfer " << transfer << " sequence " << sequence;
}

} // namespace ns3::allreduce
