/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * A first AllReduce: sixteen servers on a BCube sum up 16 MiB over TCP, and a line tells how long
 * it took.
 */

#include "ns3/allreduce-module.h"
#include "ns3/command-line.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

void
Note(Time* where, Time duration)
{
    *where = duration;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string scheduler = "greedy";
    uint64_t bytes = 16 << 20;
    CommandLine cmd(__FILE__);
    cmd.AddValue("scheduler", "Who plans: ring, greedy, hrl, ...", scheduler);
    cmd.AddValue("bytes", "Size of the gradient", bytes);
    cmd.Parse(argc, argv);

    BCubeHelper bcube(4, 1); // switches of 4 ports, 2 levels: 16 servers with 2 ports each
    bcube.SetDeviceAttribute("Mtu", UintegerValue(9000));
    const Ptr<AllReduceNetwork> network = bcube.Install();

    AllReduceHelper allReduce(network);
    allReduce.SetAttribute("Bytes", UintegerValue(bytes));
    const Ptr<AllReduceSession> session = allReduce.Install(scheduler, "tcp");
    allReduce.GetApplications().Start(Seconds(1));

    Time duration;
    session->TraceConnectWithoutContext("Done", MakeBoundCallback(&Note, &duration));
    Simulator::Run();
    if (!session->IsFinished())
    {
        std::cerr << "the AllReduce failed: " << session->GetFailure() << "\n";
        return 1;
    }
    std::cout << scheduler << ": " << bytes << " bytes summed up by "
              << network->GetServers().GetN() << " servers in " << duration.As(Time::MS) << "\n";
    Simulator::Destroy();
    return 0;
}
