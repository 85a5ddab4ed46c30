/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "workload-rates.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

std::vector<uint64_t>
ComputeWorkloadRates(const Topology& topology, const WorkloadList& round)
{
    std::vector<uint32_t> nWorkloads(topology.GetNDirectedLinks(), 0);
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        ForEachLink(topology, round.Get(i).path, [&](DirectedLinkId link) { ++nWorkloads[link]; });
    }
    std::vector<uint64_t> rates(round.GetSize());
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        uint64_t least = std::numeric_limits<uint64_t>::max();
        ForEachLink(topology, round.Get(i).path, [&](DirectedLinkId link) {
            least = std::min(least, topology.GetLinkOf(link).rateBps / nWorkloads[link]);
        });
        rates[i] = std::max<uint64_t>(least, 1);
    }
    return rates;
}

} // namespace ns3::allreduce
