/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "dcell-helper.h"

#include "ns3/abort-on-input-error.h"
#include "ns3/topology-generators.h"

namespace ns3::allreduce
{

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

} // namespace ns3::allreduce
