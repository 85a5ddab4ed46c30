/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Queues where three jobs contend: TCP NewReno fills them, DCTCP keeps them short because switches
 * mark packets (ECN) as soon as a queue begins to grow.
 */

#include "ns3/allreduce-module.h"
#include "ns3/boolean.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/traffic-control-layer.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

void
RunWith(const std::string& tcp, bool useEcn)
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(tcp));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", StringValue(useEcn ? "On" : "Off"));
    TrafficControlHelper red; // marks everything above 20 packets, as DCTCP's paper does
    red.SetRootQueueDisc("ns3::RedQueueDisc",
                         "MinTh",
                         DoubleValue(20),
                         "MaxTh",
                         DoubleValue(20),
                         "QW",
                         DoubleValue(1), // the queue as it is, not its average
                         "UseEcn",
                         BooleanValue(useEcn),
                         "UseHardDrop",
                         BooleanValue(false),
                         "MaxSize",
                         StringValue("100p"));

    BCubeHelper bcube(4, 1);
    bcube.SetDeviceAttribute("Mtu", UintegerValue(9000));
    bcube.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    bcube.SetQueueDisc(red);
    const Ptr<AllReduceNetwork> network = bcube.Install();
    AllReduceHelper allReduce(network);
    allReduce.SetAttribute("Bytes", UintegerValue(8 << 20));
    allReduce.SetChunksPerServer(1);
    Time last;
    for (uint32_t job = 0; job < 3; ++job)
    {
        allReduce.Install("ring", "tcp")
            ->TraceConnectWithoutContext("Done", Callback<void, Time>([&last](Time duration) {
                                             last = std::max(last, duration);
                                         }));
        allReduce.GetApplications().Start(MicroSeconds(10 * job));
    }
    Simulator::Run();

    uint64_t nMarked = 0;
    uint64_t nDropped = 0;
    for (uint32_t i = 0; i < network->GetDevices().GetN(); ++i)
    {
        const Ptr<NetDevice> device = network->GetDevices().Get(i);
        const auto layer = device->GetNode()->GetObject<TrafficControlLayer>();
        const QueueDisc::Stats stats = layer->GetRootQueueDiscOnDevice(device)->GetStats();
        nMarked += stats.nTotalMarkedPackets;
        nDropped += stats.nTotalDroppedPackets;
    }
    std::cout << tcp << ": done after " << last.As(Time::MS) << ", " << nMarked
              << " packets marked, " << nDropped << " dropped\n";
    Simulator::Destroy();
}

} // namespace

int
main(int argc, char* argv[])
{
    SetDataCentreTcpDefaults();
    CommandLine cmd(__FILE__);
    cmd.Parse(argc, argv);
    RunWith("ns3::TcpNewReno", false);
    RunWith("ns3::TcpDctcp", true);
    return 0;
}
