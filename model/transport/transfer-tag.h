/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRANSFER_TAG_H
#define ALLREDUCE_TRANSFER_TAG_H

#include "allreduce-transport.h"

#include "ns3/tag.h"

#include <cstdint>
#include <ostream>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Says whose bytes these are, where the receiver is simulated by another rank.
 */
class TransferTag : public Tag
{
  public:
    TransferId transfer{0}; //!< the transfer

    /// @return the type
    static TypeId GetTypeId();
    TypeId GetInstanceTypeId() const override;
    uint32_t GetSerializedSize() const override;
    void Serialize(TagBuffer buffer) const override;
    void Deserialize(TagBuffer buffer) override;
    void Print(std::ostream& os) const override;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRANSFER_TAG_H */
