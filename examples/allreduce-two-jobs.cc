/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Two training jobs on one network: how much longer does each take next to the other than alone?
 */

#include "ns3/allreduce-module.h"
#include "ns3/command-line.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return the time of an AllReduce of each job in the mean, in milliseconds
std::vector<double>
RunJobs(const std::vector<std::string>& schedulers, uint32_t nIterations)
{
    BCubeHelper bcube(4, 1);
    bcube.SetDeviceAttribute("Mtu", UintegerValue(9000));
    AllReduceHelper allReduce(bcube.Install());
    allReduce.SetAttribute("Bytes", UintegerValue(4 << 20));
    allReduce.SetChunksPerServer(2);
    allReduce.SetAttribute("Iterations", UintegerValue(nIterations));
    allReduce.SetAttribute("ComputeTime", StringValue("1ms"));

    std::vector<double> milliseconds(schedulers.size());
    for (std::size_t job = 0; job < schedulers.size(); ++job)
    {
        const auto session = allReduce.Install(schedulers[job], "tcp");
        session->TraceConnectWithoutContext(
            "Done",
            Callback<void, Time>([&milliseconds, job, nIterations](Time duration) {
                milliseconds[job] += 1e3 * duration.GetSeconds() / nIterations;
            }));
        allReduce.GetApplications().Start(MilliSeconds(job));
    }
    Simulator::Run();
    Simulator::Destroy();
    return milliseconds;
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t nIterations = 4;
    CommandLine cmd(__FILE__);
    cmd.AddValue("iterations", "AllReduces of each job", nIterations);
    cmd.Parse(argc, argv);

    const std::vector<std::string> schedulers = {"greedy", "ring-aware"};
    const std::vector<double> together = RunJobs(schedulers, nIterations);
    for (std::size_t job = 0; job < schedulers.size(); ++job)
    {
        const double alone = RunJobs({schedulers[job]}, nIterations)[0];
        std::cout << schedulers[job] << ": " << alone << " ms alone, " << together[job]
                  << " ms together, slowdown " << together[job] / alone << "\n";
    }
    return 0;
}
