/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/link-capacities.h"
#include "ns3/topology-metrics.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <iomanip>
#include <iostream>
#include <sstream>

namespace ns3::allreduce
{

void
TopologyOptions::AddTo(ProgramOptions& options)
{
    options.Add("topology",
                specs,
                ';',
                "once or more, or a list with ';': " + GetTopologyGrammar());
    options.AddAlias("topologies", "topology");
    options.Add("degrade",
                degrade,
                "FRACTION[,SEED] of the links to remove, as long as servers stay connected");
    options.Add("mixed", mixed, "FRACTION[,SEED] of the links to make twice as fast");
}

std::vector<std::string>
GetNames(const std::vector<Topology>& topologies)
{
    std::vector<std::string> names;
    std::transform(topologies.begin(),
                   topologies.end(),
                   std::back_inserter(names),
                   [](const Topology& topology) { return topology.GetName(); });
    return names;
}

namespace
{

void
CheckConnected(const Topology& topology)
{
    const std::vector<uint32_t> distances = ComputeDistances(topology, 0);
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (distances[server] == UNREACHABLE)
        {
            FailInput("topology ",
                      topology.GetName(),
                      ": its servers are not connected, there is no way from 0 to ",
                      server);
        }
    }
}

/// Links that cannot be used in full make plans worse, for which the plans are not to blame.
void
WarnOfRounding(const Topology& topology)
{
    const CapacityRounding rounding = ComputeCapacityRounding(topology);
    if (rounding.worstLoss <= MOST_ROUNDING_LOSS_PERCENT / 100.0)
    {
        return;
    }
    const Link& link = topology.GetLink(rounding.worstLink);
    std::ostringstream line;
    line << std::setprecision(3) << "warning: topology " << topology.GetName()
         << ": rounding rates to unit flows costs up to " << 100 * rounding.worstLoss << " %: link "
         << FormatPath({link.a, link.b}) << " of " << FormatRate(link.rateBps) << " carries "
         << link.capacity << (link.capacity == 1 ? " unit flow of " : " unit flows of ")
         << FormatRoughRate(rounding.unitRateBps);
    std::cerr << line.str() << std::endl;
}

} // namespace

std::vector<Topology>
TopologyOptions::Make() const
{
    std::vector<Topology> topologies;
    for (const std::string& spec : specs)
    {
        Topology topology = ParseTopology(spec);
        topology = degrade.empty() ? topology : ParseDegrade(topology, degrade);
        topology = mixed.empty() ? topology : ParseMixed(topology, mixed);
        CheckConnected(topology);
        WarnOfRounding(topology);
        topologies.push_back(std::move(topology));
    }
    return topologies;
}

} // namespace ns3::allreduce
