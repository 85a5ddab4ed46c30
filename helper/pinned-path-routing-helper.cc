/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "pinned-path-routing-helper.h"

#include "ns3/address-directory.h"
#include "ns3/pinned-path-routing.h"

namespace ns3::allreduce
{

PinnedPathRoutingHelper::PinnedPathRoutingHelper()
    : m_directory(ns3::Create<AddressDirectory>())
{
}

PinnedPathRoutingHelper::PinnedPathRoutingHelper(const PinnedPathRoutingHelper&) = default;

PinnedPathRoutingHelper::~PinnedPathRoutingHelper() = default;

PinnedPathRoutingHelper*
PinnedPathRoutingHelper::Copy() const
{
    return new PinnedPathRoutingHelper(*this);
}

Ptr<Ipv4RoutingProtocol>
PinnedPathRoutingHelper::Create(Ptr<Node> /* node */) const
{
    auto routing = CreateObject<PinnedPathRouting>();
    routing->SetDirectory(m_directory);
    return routing;
}

} // namespace ns3::allreduce
