/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pinned-path-tag.h"

#include "ns3/abort.h"

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(PinnedPathTag);

TypeId
PinnedPathTag::GetTypeId()
{
    static TypeId tid = TypeId("ns3::allreduce::PinnedPathTag")
                            .SetParent<Tag>()
                            .SetGroupName("AllReduce")
                            .AddConstructor<PinnedPathTag>();
    return tid;
}

PinnedPathTag::PinnedPathTag(uint32_t source, Hops hops)
    : m_source(source),
      m_hops(std::move(hops))
{
    NS_ABORT_MSG_IF(m_hops.empty() || m_hops.size() > MAX_HOPS,
                    "a pinned path of " << m_hops.size() << " hops, expected 1 to " << MAX_HOPS);
}

uint32_t
PinnedPathTag::GetSource() const
{
    return m_source;
}

const PinnedPathTag::Hops&
PinnedPathTag::GetHops() const
{
    return m_hops;
}

uint32_t
PinnedPathTag::GetPosition() const
{
    return m_position;
}

bool
PinnedPathTag::IsAtEnd() const
{
    return m_position >= m_hops.size();
}

uint16_t
PinnedPathTag::GetInterface() const
{
    return m_hops[m_position];
}

void
PinnedPathTag::Advance()
{
    ++m_position;
}

TypeId
PinnedPathTag::GetInstanceTypeId() const
{
    return GetTypeId();
}

uint32_t
PinnedPathTag::GetSerializedSize() const
{
    return sizeof(m_source) + sizeof(m_position) + 1 + sizeof(uint16_t) * m_hops.size();
}

void
PinnedPathTag::Serialize(TagBuffer buffer) const
{
    buffer.WriteU32(m_source);
    buffer.WriteU8(m_position);
    buffer.WriteU8(m_hops.size());
    for (const auto hop : m_hops)
    {
        buffer.WriteU16(hop);
    }
}

void
PinnedPathTag::Deserialize(TagBuffer buffer)
{
    m_source = buffer.ReadU32();
    m_position = buffer.ReadU8();
    m_hops.resize(buffer.ReadU8());
    for (auto& hop : m_hops)
    {
        hop = buffer.ReadU16();
    }
}

void
PinnedPathTag::Print(std::ostream& os) const
{
    os << "source=" << m_source << " position=" << +m_position << " hops=";
    const char* separator = "";
    for (const auto hop : m_hops)
    {
        os << separator << hop;
        separator = ",";
    }
}

} // namespace ns3::allreduce
