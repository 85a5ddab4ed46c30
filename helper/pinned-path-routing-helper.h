/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PINNED_PATH_ROUTING_HELPER_H
#define ALLREDUCE_PINNED_PATH_ROUTING_HELPER_H

#include "ns3/ipv4-routing-helper.h"

namespace ns3::allreduce
{

class AddressDirectory;

/**
 * @ingroup allreduce
 *
 * @brief Installs PinnedPathRouting, alone or in an Ipv4ListRoutingHelper.
 *
 * All nodes that one helper (or a copy of it) equips share one directory of addresses, so that each
 * of them can have flows with each other.
 */
class PinnedPathRoutingHelper : public Ipv4RoutingHelper
{
  public:
    PinnedPathRoutingHelper();
    /// Shares the directory of the other.
    PinnedPathRoutingHelper(const PinnedPathRoutingHelper&);
    ~PinnedPathRoutingHelper() override;

    PinnedPathRoutingHelper* Copy() const override;
    Ptr<Ipv4RoutingProtocol> Create(Ptr<Node> node) const override;

  private:
    Ptr<AddressDirectory> m_directory; //!< shared by all nodes
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PINNED_PATH_ROUTING_HELPER_H */
