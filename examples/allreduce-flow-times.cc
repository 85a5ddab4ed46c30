/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * From trace sources to a figure: the times of all flows of a run, their distribution, and a script
 * that draws it (gnuplot flow-times.plt makes flow-times.png).
 */

#include "ns3/allreduce-module.h"
#include "ns3/command-line.h"
#include "ns3/gnuplot.h"
#include "ns3/simulator.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <fstream>
#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// @return the microseconds that each flow took, sorted
std::vector<double>
MeasureFlows(const std::string& sync)
{
    BCubeHelper bcube(4, 1);
    bcube.SetDeviceAttribute("Mtu", UintegerValue(9000));
    AllReduceHelper allReduce(bcube.Install());
    allReduce.SetAttribute("Bytes", UintegerValue(16 << 20));
    allReduce.SetAttribute("Sync", StringValue(sync));
    allReduce.Install("greedy", "tcp");
    std::vector<double> times;
    const ApplicationContainer& applications = allReduce.GetApplications();
    for (uint32_t i = 0; i < applications.GetN(); ++i)
    {
        applications.Get(i)->TraceConnectWithoutContext(
            "FlowFinished",
            Callback<void, const AllReduceFlow&>([&times](const AllReduceFlow& flow) {
                times.push_back(1e6 * flow.duration.GetSeconds());
            }));
    }
    Simulator::Run();
    Simulator::Destroy();
    std::sort(times.begin(), times.end());
    return times;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string prefix = "flow-times";
    CommandLine cmd(__FILE__);
    cmd.AddValue("prefix", "How the names of the script and its picture begin", prefix);
    cmd.Parse(argc, argv);

    Gnuplot plot(prefix + ".png", "Times of flows, bcube:4,1, 16 MiB");
    plot.SetTerminal("png");
    plot.SetLegend("time of a flow (us)", "share of flows");
    for (const std::string sync : {"Barrier", "Dependency"})
    {
        const std::vector<double> times = MeasureFlows(sync);
        Gnuplot2dDataset cdf(sync);
        cdf.SetStyle(Gnuplot2dDataset::STEPS);
        for (std::size_t i = 0; i < times.size(); ++i)
        {
            cdf.Add(times[i], (i + 1.0) / times.size());
        }
        plot.AddDataset(cdf);
        std::cout << sync << ": " << times.size() << " flows, median " << times[times.size() / 2]
                  << " us, longest " << times.back() << " us\n";
    }
    std::ofstream script(prefix + ".plt");
    plot.GenerateOutput(script);
    if (!script.flush())
    {
        std::cerr << prefix << ".plt cannot be written\n";
        return 1;
    }
    return 0;
}
