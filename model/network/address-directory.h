/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ADDRESS_DIRECTORY_H
#define ALLREDUCE_ADDRESS_DIRECTORY_H

#include "ns3/ipv4-address.h"
#include "ns3/simple-ref-count.h"

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Which node owns an IPv4 address: one directory, shared by all nodes of a network.
 *
 * A server with several ports has several addresses; whichever of them a flow uses, it is the same
 * server.
 */
class AddressDirectory : public SimpleRefCount<AddressDirectory>
{
  public:
    /**
     * @param address an address
     * @param node the id of the ns-3 node that owns it
     */
    void Add(Ipv4Address address, uint32_t node)
    {
        m_owners[address.Get()] = node;
    }

    /// @param address an address that no longer belongs to a node
    void Remove(Ipv4Address address)
    {
        m_owners.erase(address.Get());
    }

    /**
     * @param address an address
     * @return the id of the ns-3 node that owns it, if one does
     */
    std::optional<uint32_t> Find(Ipv4Address address) const
    {
        const auto owner = m_owners.find(address.Get());
        return owner == m_owners.end() ? std::nullopt : std::make_optional(owner->second);
    }

  private:
    std::unordered_map<uint32_t, uint32_t> m_owners; //!< node id by address
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ADDRESS_DIRECTORY_H */
