/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * A project elsewhere: plans an AllReduce with the schedulers that its arguments name.
 */

#include "ns3/allreduce-module.h"

#include <exception>
#include <iostream>

using namespace ns3::allreduce;

int
main(int argc, char* argv[])
{
    try
    {
        std::cout << "policy " << FindShippedCheckpoint() << "\n";
        const Topology topology = ParseTopology("bcube:4,1");
        const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), 2);
        for (int i = 1; i < argc; ++i)
        {
            const auto scheduler = CreateScheduler(argv[i]);
            const AllReduceSchedule schedule = Plan(*scheduler, {topology, roots});
            const Verdict verdict = Verify(topology, schedule);
            std::cout << argv[i] << " " << schedule.rounds.size() << " rounds, "
                      << (verdict.isCorrect ? "correct" : verdict.reason) << "\n";
        }
    }
    catch (const std::exception& error)
    {
        std::cerr << error.what() << "\n";
        return 1;
    }
    return 0;
}
