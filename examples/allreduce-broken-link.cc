/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * A link that breaks and is mended: the session plans anew what is left, around the broken link,
 * and every server's sums are compared with the true ones at the end.
 */

#include "ns3/allreduce-module.h"
#include "ns3/boolean.h"
#include "ns3/command-line.h"
#include "ns3/simulator.h"
#include "ns3/uinteger.h"

#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

void
PrintLinkChange(LinkId link, bool isUp)
{
    std::cout << Simulator::Now().As(Time::MS) << ": link " << link
              << (isUp ? " is mended\n" : " breaks\n");
}

void
PrintReplan(uint32_t round, const std::string& scheduler)
{
    std::cout << Simulator::Now().As(Time::MS) << ": from round " << round << " on planned anew by "
              << scheduler << "\n";
}

void
PrintDone(Time duration)
{
    std::cout << Simulator::Now().As(Time::MS) << ": all sums are there, after "
              << duration.As(Time::MS) << "\n";
}

} // namespace

int
main(int argc, char* argv[])
{
    Time breaks = MilliSeconds(2);
    Time lasts = MilliSeconds(5);
    CommandLine cmd(__FILE__);
    cmd.AddValue("breaks", "When the link of server 0 to its first switch breaks", breaks);
    cmd.AddValue("lasts", "How long it takes to mend it", lasts);
    cmd.Parse(argc, argv);

    BCubeHelper bcube(4, 1);
    bcube.SetDeviceAttribute("Mtu", UintegerValue(9000));
    const Ptr<AllReduceNetwork> network = bcube.Install();
    network->TraceConnectWithoutContext("LinkChanged", MakeCallback(&PrintLinkChange));

    AllReduceHelper allReduce(network);
    allReduce.SetAttribute("Bytes", UintegerValue(16 << 20));
    allReduce.SetAttribute("VerifyData", BooleanValue(true));
    const Ptr<AllReduceSession> session = allReduce.Install("greedy", "tcp");
    session->TraceConnectWithoutContext("Replanned", MakeCallback(&PrintReplan));
    session->TraceConnectWithoutContext("Done", MakeCallback(&PrintDone));

    const LinkId link = GetLinkId(network->GetTopology().GetPorts(0)[0].out);
    network->ScheduleOutage(link, breaks, lasts);
    Simulator::Run();
    const bool isGood = session->IsFinished();
    std::cout << (isGood ? "every server has the true sums" : session->GetFailure()) << "\n";
    Simulator::Destroy();
    return isGood ? 0 : 1;
}
