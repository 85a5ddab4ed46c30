/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PINNED_PATH_TAG_H
#define ALLREDUCE_PINNED_PATH_TAG_H

#include "ns3/tag.h"

#include <boost/container/small_vector.hpp>
#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The path that a packet takes, carried with the packet.
 *
 * One entry per hop: the index of the IPv4 interface through which the packet leaves that node.
 * PinnedPathRouting follows it without any table. It adds the tag to packets of pinned flows; an
 * application may also add it to its UDP packets itself, which saves the flow's lookup.
 */
class PinnedPathTag : public Tag
{
  public:
    /// The IPv4 interface index at each hop; paths of usual length need no heap.
    using Hops = boost::container::small_vector<uint16_t, 12>;

    /// The longest path: an IPv4 packet lives for no more hops than this.
    static constexpr uint32_t MAX_HOPS = 255;

    /// @return the TypeId
    static TypeId GetTypeId();

    PinnedPathTag() = default;

    /**
     * @param source id of the ns-3 node where the path begins
     * @param hops the output interface at each node of the path but the last, MAX_HOPS at most
     */
    PinnedPathTag(uint32_t source, Hops hops);

    /// @return the id of the ns-3 node where the path begins
    uint32_t GetSource() const;

    /// @return all hops of the path
    const Hops& GetHops() const;

    /// @return the number of hops that lie behind
    uint32_t GetPosition() const;

    /// @return whether no hop is left
    bool IsAtEnd() const;

    /// @return the output interface at the present position, which must not be the end
    uint16_t GetInterface() const;

    /// Take one hop.
    void Advance();

    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;

  private:
    uint32_t m_source{0};  //!< the node where the path begins
    uint8_t m_position{0}; //!< hops that lie behind
    Hops m_hops;           //!< output interfaces
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PINNED_PATH_TAG_H */
