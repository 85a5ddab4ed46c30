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
        for (std::size_t i = 0; i + 1 < path.size(); ++i)
        {
            links.push_back(*topology.FindDirectedLink(path[i], path[i + 1]));
        }
    }
    return links;
}

} // namespace ns3::allreduce
