/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "bcube-helper.h"

#include "ns3/abort-on-input-error.h"
#include "ns3/topology-generators.h"

namespace ns3::allreduce
{

BCubeHelper::BCubeHelper(uint32_t n, uint32_t k)
    : TopologyHelper(AbortOnInputError([&] { return MakeBCube(n, k); })),
      m_n(n),
      m_k(k)
{
}

Ptr<Node>
BCubeHelper::GetServer(const Digits& digits) const
{
    return GetNetwork()->GetNode(GetServerId(digits));
}

Ptr<Node>
BCubeHelper::GetSwitch(uint32_t level, uint32_t index) const
{
    return GetNetwork()->GetNode(GetSwitchId(level, index));
}

NodeId
BCubeHelper::GetServerId(const Digits& digits) const
{
    NS_ABORT_MSG_IF(digits.size() != m_k + 1,
                    "a server address of " << digits.size() << " digits in "
                                           << GetTopology().GetName() << ", expected " << m_k + 1);
    NodeId server = 0;
    for (const auto digit : digits)
    {
        NS_ABORT_MSG_IF(digit >= m_n,
                        "digit " << digit << " of a server in " << GetTopology().GetName()
                                 << ", expected a digit below " << m_n);
        server = server * m_n + digit;
    }
    return server;
}

NodeId
BCubeHelper::GetSwitchId(uint32_t level, uint32_t index) const
{
    const uint32_t nServers = GetTopology().GetNServers();
    const uint32_t perLevel = nServers / m_n;
    NS_ABORT_MSG_IF(level > m_k,
                    "switch level " << level << " in " << GetTopology().GetName()
                                    << ", expected a level of at most " << m_k);
    NS_ABORT_MSG_IF(index >= perLevel,
                    "switch " << index << " of level " << level << " in " << GetTopology().GetName()
                              << ", expected an index below " << perLevel);
    return nServers + level * perLevel + index;
}

BCubeHelper::Digits
BCubeHelper::GetDigits(NodeId server) const
{
    NS_ABORT_MSG_UNLESS(GetTopology().IsServer(server),
                        "server " << server << " in " << GetTopology().GetName()
                                  << ", expected an index below " << GetTopology().GetNServers());
    Digits digits(m_k + 1);
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit)
    {
        *digit = server % m_n;
        server /= m_n;
    }
    return digits;
}

} // namespace ns3::allreduce
