/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * A scheduler of one's own in a simulation script: first come, first served. It is compared with a
 * parameter server and with the greedy synthesizer.
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

/// Sends partial sums to any server nearer to the chunk's root, and final sums to any server.
struct FirstComeScheduler : AllReduceScheduler
{
    WorkloadList NextRound(const AllReduceState& state) override
    {
        RoundBuilder round(state); // takes what is legal and finds a path with room
        for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
        {
            for (NodeId from = 0; from < round.GetNServers(); ++from)
            {
                for (const NodeId to : round.GetNeighbors(from))
                {
                    Try(round, chunk, from, to, state.IsFinal(chunk));
                }
            }
        }
        return round.GetWorkloads();
    }

    static void Try(RoundBuilder& round, ChunkId chunk, NodeId from, NodeId to, bool isFinal)
    {
        if (isFinal)
        {
            round.TryBroadcast(chunk, from, to);
        }
        else if (round.GetHopsToRoot(to, chunk) < round.GetHopsToRoot(from, chunk))
        {
            round.TryReduce(chunk, from, to);
        }
    }
};

void
PrintDone(std::string scheduler, Time duration)
{
    std::cout << scheduler << ": " << duration.As(Time::MS) << "\n";
}

const auto g_type = RegisterScheduler<FirstComeScheduler>("first-come");

} // namespace

int
main(int argc, char* argv[])
{
    CommandLine cmd(__FILE__);
    cmd.Parse(argc, argv);
    for (const std::string scheduler : {"ps", "first-come", "greedy"})
    {
        BCubeHelper bcube(4, 1);
        bcube.SetDeviceAttribute("Mtu", UintegerValue(9000));
        AllReduceHelper allReduce(bcube.Install());
        allReduce.SetChunksPerServer(2);
        const Ptr<AllReduceSession> session = allReduce.Install(scheduler, "raw");
        session->TraceConnect("Done", scheduler, MakeCallback(&PrintDone));
        Simulator::Run();
        Simulator::Destroy();
    }
    return 0;
}
