/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-family-helpers.h"

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

DCellHelper::DCellHelper(uint32_t n, uint32_t k)
    : TopologyHelper(AbortOnInputError([&] { return MakeDCell(n, k); })),
      m_cellSizes{n}
{
    for (uint32_t level = 1; level <= k; ++level)
    {
        m_cellSizes.push_back(m_cellSizes.back() * (m_cellSizes.back() + 1));
    }
}

Ptr<Node>
DCellHelper::GetServer(const CellAddress& address) const
{
    return GetNetwork()->GetNode(GetServerId(address));
}

NodeId
DCellHelper::GetServerId(const CellAddress& address) const
{
    const std::size_t levels = m_cellSizes.size();
    NS_ABORT_MSG_IF(address.size() != levels,
                    "a server address of " << address.size() << " numbers in "
                                           << GetTopology().GetName() << ", expected " << levels);
    NodeId server = 0;
    for (std::size_t i = 0; i < levels; ++i)
    {
        const std::size_t level = levels - 1 - i;
        const uint32_t below = level == 0 ? 1 : m_cellSizes[level - 1];
        const uint32_t count = m_cellSizes[level] / below;
        NS_ABORT_MSG_IF(address[i] >= count,
                        "number " << address[i] << " at level " << level
                                  << " of a server address in " << GetTopology().GetName()
                                  << ", expected a number below " << count);
        server += address[i] * below;
    }
    return server;
}

uint32_t
DCellHelper::GetCellSize(uint32_t level) const
{
    NS_ABORT_MSG_IF(level >= m_cellSizes.size(),
                    "level " << level << " in " << GetTopology().GetName()
                             << ", expected a level below " << m_cellSizes.size());
    return m_cellSizes[level];
}

NodeContainer
DCellHelper::GetCell(uint32_t level, uint32_t index) const
{
    const uint32_t size = GetCellSize(level);
    const uint32_t count = GetTopology().GetNServers() / size;
    NS_ABORT_MSG_IF(index >= count,
                    "cell " << index << " of level " << level << " in " << GetTopology().GetName()
                            << ", expected an index below " << count);
    NodeContainer servers;
    for (uint32_t i = 0; i < size; ++i)
    {
        servers.Add(GetNetwork()->GetServer(index * size + i));
    }
    return servers;
}

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
