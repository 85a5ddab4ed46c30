/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "session-test-utils.h"

#include "ns3/config.h"
#include "ns3/scheduler-factory.h"
#include "ns3/simulation-defaults.h"

namespace ns3::allreduce
{

const std::vector<std::string> SYNCS = {"barrier", "dependency"};

void
DataCentreTestCase::DoSetup()
{
    SetFastEventQueue();
    SetDataCentreTcpDefaults();
}

void
DataCentreTestCase::DoTeardown()
{
    Config::Reset();
}

Experiment
MakeExperiment(const Topology& topology,
               const std::string& scheduler,
               uint64_t bytes,
               uint32_t chunksPerServer)
{
    const auto object = CreateScheduler(scheduler);
    const auto roots = MakeRoots(topology.GetNServers(), chunksPerServer);
    auto plan = PlanVerified(topology, roots, *object);
    return {topology, scheduler, object, std::move(plan), bytes};
}

RunOptions
MakeOptions(const std::string& transport, const std::string& sync)
{
    RunOptions options;
    options.transport = transport;
    options.sync = sync;
    options.verifyData = true;
    return options;
}

} // namespace ns3::allreduce
