/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "transfer-tag.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(TransferTag);

TypeId
TransferTag::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::TransferTag")
                            .SetParent<Tag>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<TransferTag>();
    return tid;
}

TypeId
TransferTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
TransferTag::GetSerializedSize() const
{
    return sizeof(transfer);
}

void
TransferTag::Serialize(TagBuffer buffer) const
{
    buffer.WriteU32(transfer);
}

void
TransferTag::Deserialize(TagBuffer buffer)
{
    transfer = buffer.ReadU32();
}

void
TransferTag::Print(std::ostream& os) const
{
    os << "transfer=" << transfer;
}

} // namespace ns3::allreduce
