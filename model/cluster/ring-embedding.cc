/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "ring-embedding.h"

#include <numeric>

namespace ns3::allreduce
{

uint32_t
RingEmbedding::GetNWorkers() const
{
    return std::accumulate(workers.begin(), workers.end(), 0u);
}

std::vector<DirectedLinkId>
GetLinks(const Topology& topology, const RingEmbedding& ring)
{
    std::vector<DirectedLinkId> links;
    for (const Path& path : ring.paths)
    {
        ForEachLink(topology, path, [&](DirectedLinkId link) { links.push_back(link); });
    }
    return links;
}

} // namespace ns3::allreduce
