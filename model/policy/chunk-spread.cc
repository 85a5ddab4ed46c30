/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chunk-spread.h"

#include "feature-table.h"
#include "wide-vectors.h"

#include <algorithm>

namespace ns3::allreduce
{

ChunkSpread::ChunkSpread(const PortNeighborhoods& around, uint32_t nChunks)
    : m_around(&around),
      m_holders(nChunks, around.inCapacity.size()),
      m_covered(nChunks, around.inCapacity.size()),
      m_nHolders(nChunks, 0)
{
}

void
ChunkSpread::AddHolder(NodeId server, ChunkId chunk)
{
    m_holders.Set(chunk, server);
    ++m_nHolders[chunk];
}

void
ChunkSpread::Cover(NodeId server, ChunkId chunk)
{
    for (std::size_t i = 0; i < m_covered.GetRowWords(); ++i)
    {
        m_covered.GetRow(chunk)[i] |= m_around->nearest.GetRow(server)[i];
    }
}

ALLREDUCE_WIDE_VECTORS uint32_t
ChunkSpread::CountFrontier(ChunkId chunk) const
{
    return CountLacking(m_covered, chunk, chunk);
}

ALLREDUCE_WIDE_VECTORS ChunkSpread::Lack
ChunkSpread::FindLack(uint32_t port, ChunkId chunk) const
{
    const NodeId receiver = m_around->ports[port].server;
    float mostElsewhere = 0;
    for (uint32_t p = m_around->firstPort[receiver]; p < m_around->firstPort[receiver + 1]; ++p)
    {
        if (p != port)
        {
            const uint32_t nLacking = CountLacking(m_around->nearestAtPort, p, chunk);
            mostElsewhere = std::max(mostElsewhere, Share(nLacking, m_around->nNearestAtPort[p]));
        }
    }
    const uint64_t* nearest = m_around->nearest.GetRow(receiver);
    const uint64_t* holders = m_holders.GetRow(chunk);
    const uint64_t* covered = m_covered.GetRow(chunk);
    uint32_t nLacking = 0;
    uint32_t nNewlyCovered = 0;
    for (std::size_t i = 0; i < m_holders.GetRowWords(); ++i)
    {
        nLacking += __builtin_popcountll(nearest[i] & ~holders[i]);
        nNewlyCovered += __builtin_popcountll(nearest[i] & ~holders[i] & ~covered[i]);
    }
    return {
        Share(nLacking, m_around->nNearest[receiver]),
        Share(CountLacking(m_around->aroundTwo, receiver, chunk), m_around->nAroundTwo[receiver]),
        mostElsewhere,
        Share(CountLacking(m_around->nearestAtPort, port, chunk), m_around->nNearestAtPort[port]),
        Share(CountLacking(m_around->direct, receiver, chunk), m_around->nDirect[receiver]),
        Share(nNewlyCovered, m_around->nNearest[receiver])};
}

} // namespace ns3::allreduce
