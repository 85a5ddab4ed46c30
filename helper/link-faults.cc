/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "link-faults.h"

#include "ns3/abort.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <numeric>
#include <random>

namespace ns3::allreduce
{

void
ScheduleFaults(Ptr<AllReduceNetwork> network, const std::vector<LinkFault>& faults)
{
    for (const LinkFault& fault : faults)
    {
        const auto duration = fault.up ? std::optional(*fault.up - fault.down) : std::nullopt;
        network->ScheduleOutage(fault.link, fault.down, duration);
    }
}

uint32_t
CountLateFaults(const std::vector<LinkFault>& faults)
{
    return std::count_if(faults.begin(), faults.end(), [](const LinkFault& fault) {
        return fault.down > Simulator::Now();
    });
}

std::vector<LinkFault>
DrawFaults(const Topology& topology, uint32_t count, uint64_t seed, Time horizon)
{
    // The standard fixes the numbers of the generator, but not those of its distributions.
    std::mt19937_64 random(seed);
    const auto drawTime = [&](int64_t limit) {
        return NanoSeconds(random() % std::max<int64_t>(limit, 1));
    };
    std::vector<LinkId> links(topology.GetNLinks());
    NS_ABORT_MSG_IF(count > links.size(),
                    "DrawFaults: " << count << " links, expected at most the " << links.size()
                                   << " of " << topology.GetName());
    std::iota(links.begin(), links.end(), 0);
    std::vector<LinkFault> faults;
    for (uint32_t i = 0; i < count; ++i)
    {
        std::swap(links[i], links[i + random() % (links.size() - i)]);
        LinkFault fault;
        fault.link = links[i];
        fault.down = drawTime(horizon.GetNanoSeconds());
        if (random() % 2 == 0)
        {
            fault.up = fault.down + NanoSeconds(1) + drawTime(horizon.GetNanoSeconds() / 2);
        }
        faults.push_back(fault);
    }
    return faults;
}

} // namespace ns3::allreduce
