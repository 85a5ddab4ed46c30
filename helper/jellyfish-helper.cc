/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "jellyfish-helper.h"

#include "ns3/abort-on-input-error.h"
#include "ns3/topology-generators.h"

namespace ns3::allreduce
{

JellyfishHelper::JellyfishHelper(uint32_t nSwitches,
                                 uint32_t degree,
                                 uint32_t serversPerSwitch,
                                 uint64_t seed)
    : TopologyHelper(AbortOnInputError(
          [&] { return MakeJellyfish(nSwitches, degree, serversPerSwitch, seed); })),
      m_serversPerSwitch(serversPerSwitch)
{
}

Ptr<Node>
JellyfishHelper::GetServerAt(uint32_t j, uint32_t i) const
{
    return GetNetwork()->GetNode(GetServerIdAt(j, i));
}

NodeId
JellyfishHelper::GetServerIdAt(uint32_t j, uint32_t i) const
{
    const auto& topology = GetTopology();
    NS_ABORT_MSG_IF(j >= topology.GetNSwitches(),
                    "switch " << j << " in " << topology.GetName() << ", expected an index below "
                              << topology.GetNSwitches());
    NS_ABORT_MSG_IF(i >= m_serversPerSwitch,
                    "server " << i << " of a switch in " << topology.GetName()
                              << ", expected an index below " << m_serversPerSwitch);
    return j * m_serversPerSwitch + i;
}

} // namespace ns3::allreduce
