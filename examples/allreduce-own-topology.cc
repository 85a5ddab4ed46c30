/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * A network of one's own: two racks of three servers, a fast link between their switches and a
 * direct link from each server to its partner in the other rack. It is made in code, written to a
 * file and read again. A plan for it is made, proven and compared with the lower
 * bound.
 */

#include "ns3/allreduce-module.h"
#include "ns3/command-line.h"

#include <fstream>
#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

Topology
MakeTwoRacks()
{
    TopologyBuilder builder("two-racks");
    const NodeId firstServer = builder.AddServers(6); // servers come first
    const NodeId firstSwitch = builder.AddSwitches(2);
    for (uint32_t i = 0; i < 6; ++i)
    {
        builder.AddLink(firstServer + i, firstSwitch + i / 3);
    }
    builder.AddLink(firstSwitch, firstSwitch + 1, 30'000'000'000);
    for (uint32_t i = 0; i < 3; ++i)
    {
        builder.AddLink(firstServer + i, firstServer + i + 3); // to its partner in the other rack
    }
    return builder.Build();
}

void
ReportPlan(const Topology& topology, const std::string& scheduler)
{
    const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), 2); // two chunks a server
    const Ptr<AllReduceScheduler> planner = CreateScheduler(scheduler);
    const AllReduceSchedule plan = Plan(*planner, AllReduceState(topology, roots));
    const Verdict verdict = Verify(topology, plan);
    const LowerBound bound = ComputeLowerBounds(topology, roots).GetBest();
    std::cout << scheduler << ": " << plan.rounds.size() << " rounds, "
              << (verdict.isCorrect ? "proven" : verdict.reason) << "; no plan takes less than "
              << bound.rounds << ", because of " << bound.bottleneck << "\n";
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string file = "two-racks.json";
    CommandLine cmd(__FILE__);
    cmd.AddValue("file", "Where to write the network", file);
    cmd.Parse(argc, argv);

    std::ofstream out(file);
    WriteTopologyJson(MakeTwoRacks(), out);
    if (!out.flush())
    {
        std::cerr << file << " cannot be written\n";
        return 1;
    }

    const Topology topology = ReadTopologyFile(file); // the same as --topology=file:two-racks.json
    for (const std::string scheduler : {"ring", "greedy", "hrl"})
    {
        ReportPlan(topology, scheduler);
    }
    return 0;
}
