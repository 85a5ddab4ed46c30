/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * Experiments in a few lines: three schedulers on one network, first undisturbed, then with other
 * traffic and a link that breaks. Each run gives what a row of allreduce-run has.
 */

#include "ns3/allreduce-experiment.h"

#include "ns3/command-line.h"
#include "ns3/simulation-defaults.h"
#include "ns3/topology-helper.h"
#include "ns3/topology-spec.h"

#include <iomanip>
#include <iostream>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

/// Plans, runs and prints a row; @return whether all sums came out right
bool
RunAndPrint(const Topology& topology,
            const std::string& scheduler,
            uint64_t bytes,
            const ExperimentSettings& settings)
{
    const Experiment experiment = PlanExperiment(topology, scheduler, bytes, settings);
    const ExperimentResult result = RunExperiment(experiment, settings);
    std::cout << std::setw(8) << scheduler << std::setw(7) << result.rounds << std::setw(10)
              << 1e3 * result.idealSeconds << std::setw(10) << 1e3 * result.predictedSeconds
              << std::setw(10) << 1e3 * result.measuredSeconds << std::setw(9) << result.nDropped
              << std::setw(9) << result.flows.size() << std::setw(9) << result.nReplans << "  "
              << result.failure << "\n";
    return result.failure.empty();
}

} // namespace

int
main(int argc, char* argv[])
{
    std::string spec = "bcube:4,1";
    std::string pcap;
    uint64_t bytes = 4 << 20;
    ExperimentSettings settings;
    settings.verifyData = true;
    settings.recordsFlows = true;
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
    CommandLine cmd(__FILE__);
    cmd.AddValue("topology", "The network", spec);
    cmd.AddValue("transport", "What carries the data: tcp, udp, raw", settings.transport);
    cmd.AddValue("bytes", "Size of the gradient", bytes);
    cmd.AddValue("pcap", "How the names of files with packets begin", pcap);
    cmd.Parse(argc, argv);

    const Topology topology = ParseTopology(spec);
    if (!pcap.empty())
    {
        settings.prepare = [&pcap](TopologyHelper& network) {
            network.EnablePcapAll(pcap);
            return nullptr;
        };
    }
    bool isGood = true;
    std::cout << "scheduler rounds  ideal ms predicted  measured  dropped    flows  replans\n";
    for (const bool isDisturbed : {false, true})
    {
        for (const std::string scheduler : {"ring", "greedy", "forest"})
        {
            if (isDisturbed)
            {
                settings.background = 0.1;
                settings.faults = {{0, MilliSeconds(1), MilliSeconds(2)}};
            }
            isGood = RunAndPrint(topology, scheduler, bytes, settings) && isGood;
        }
    }
    return isGood ? 0 : 1;
}
