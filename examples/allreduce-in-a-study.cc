/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * An AllReduce in somebody else's study: a TCP transfer between two servers of a BCube, alone and
 * next to training jobs that sum up their gradients on the same network.
 */

#include "ns3/allreduce-module.h"
#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/inet-socket-address.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Prints how long an AllReduce took.
void
PrintDone(std::string job, Time duration)
{
    std::cout << Simulator::Now().As(Time::MS) << ": " << job << " summed up in "
              << duration.As(Time::MS) << "\n";
}

/// The study as it was before: a transfer from server 0 to server 5, along the shortest path.
Ptr<PacketSink>
InstallTransfer(AllReduceNetwork& network)
{
    constexpr uint16_t PORT = 5000;
    BulkSendHelper source("ns3::TcpSocketFactory",
                          InetSocketAddress(network.GetServerAddress(5), PORT));
    source.SetAttribute("SendSize", UintegerValue(8948));
    source.Install(network.GetServer(0));
    PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), PORT));
    return DynamicCast<PacketSink>(sink.Install(network.GetServer(5)).Get(0));
}

} // namespace

int
main(int argc, char* argv[])
{
    uint32_t nJobs = 2;
    std::string scheduler = "greedy";
    CommandLine cmd(__FILE__);
    cmd.AddValue("jobs", "Number of training jobs", nJobs);
    cmd.AddValue("scheduler", "Scheduler of their AllReduces", scheduler);
    cmd.Parse(argc, argv);

    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(8948));
    TopologyHelper topology(MakeBCube(4, 1));
    topology.SetDeviceAttribute("Mtu", UintegerValue(9000));
    // Flows of the AllReduces are pinned to their paths; all other packets go by global routing.
    topology.SetFallbackRouting(Ipv4GlobalRoutingHelper());
    const Ptr<AllReduceNetwork> network = topology.Install();
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();
    const Ptr<PacketSink> sink = InstallTransfer(*network);

    // The AllReduces: four times 4 MiB for each job, with 2 ms of computing in between.
    AllReduceHelper allReduce(network);
    allReduce.SetAttribute("Bytes", UintegerValue(4 << 20));
    allReduce.SetAttribute("Iterations", UintegerValue(4));
    allReduce.SetAttribute("ComputeTime", StringValue("2ms"));
    allReduce.SetAttribute("Sync", StringValue("Dependency"));
    for (uint32_t job = 0; job < nJobs; ++job)
    {
        const Ptr<AllReduceSession> session = allReduce.Install(scheduler, "tcp");
        session->TraceConnect("Done", "job " + std::to_string(job), MakeCallback(&PrintDone));
        allReduce.GetApplications().Start(MilliSeconds(10 + job));
    }

    Simulator::Stop(MilliSeconds(60));
    Simulator::Run();
    std::cout << "the transfer got " << 8e-9 * sink->GetTotalRx() / 0.06 << " Gb/s\n";
    Simulator::Destroy();
    return 0;
}
