/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/boolean.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-metrics.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <iterator>

namespace ns3::allreduce
{

void
PlanOptions::AddTo(ProgramOptions& options)
{
    topologies.AddTo(options);
    groups.AddTo(options);
    std::string names;
    for (const std::string& name : GetSchedulerNames())
    {
        names += (names.empty() ? "" : ", ") + name;
    }
    options.Add(
        "scheduler",
        schedulers,
        ',',
        "any of: all, " + names +
            ", or a TypeId name; hrl takes its policies from the file that ALLREDUCE_POLICY "
            "names, if it is set");
    options.AddAlias("schedulers", "scheduler");
    options.Add(
        "chunks-per-server",
        chunksPerServer,
        "a number, ports (mean ports per server), auto: ports in plans, in runs what is "
        "predicted to be fastest for the bytes, or ports-or-auto: ports where all links are "
        "equally fast, else auto");
    options.Add("samples", samples, "plans to choose the best of");
    options.Add("online", online, "hrl chooses every round from the state that is there");
    options.Add("seed", seed, "random seed");
    options.Add("format", format, "table, json, csv or gnuplot");
}

std::vector<std::string>
ExpandSchedulers(const PlanOptions& options)
{
    std::vector<std::string> names;
    for (const std::string& name : options.schedulers)
    {
        if (name == "all")
        {
            const std::vector<std::string> all = GetSchedulerNames();
            // Without a surprise "live" has the plans of "forest".
            std::remove_copy(all.begin(), all.end(), std::back_inserter(names), "live");
        }
        else
        {
            names.push_back(name);
        }
    }
    return names;
}

namespace
{

/// On four servers a plan of so many takes half a minute.
constexpr uint64_t MOST_CHUNKS = 1 << 20;

bool
HasAttribute(const AllReduceScheduler& scheduler, const std::string& name)
{
    TypeId::AttributeInformation ignored;
    return scheduler.GetInstanceTypeId().LookupAttributeByName(name, &ignored);
}

} // namespace

void
CheckSchedulers(const PlanOptions& options)
{
    bool isSampled = options.samples == 1 || options.schedulers.empty();
    for (const std::string& name : ExpandSchedulers(options))
    {
        const Ptr<AllReduceScheduler> scheduler = MakeScheduler(name, options);
        isSampled = isSampled || (!options.online && HasAttribute(*scheduler, "Samples"));
    }
    if (!isSampled)
    {
        FailInput("--samples: has no effect, ",
                  options.online ? "with --online rounds are chosen one by one"
                                 : "none of the schedulers makes several plans",
                  ", expected greedy, forest or hrl with whole plans");
    }
}

void
ExcludePlanning(const ProgramOptions& parser, const std::string& name)
{
    parser.Exclude(name,
                   {"scheduler",
                    "chunks-per-server",
                    "samples",
                    "online",
                    "seed",
                    "jobs",
                    "shard",
                    "collective",
                    "servers",
                    "groups",
                    "root",
                    "relay"});
}

bool
ChoosesByBytes(const Topology& topology, const PlanOptions& options)
{
    return options.chunksPerServer == "auto" ||
           (options.chunksPerServer == "ports-or-auto" && AreRatesMixed(topology));
}

Collective
MakeCollective(const Topology& topology, const PlanOptions& options)
{
    const uint32_t nServers = topology.GetNServers();
    uint64_t chunksPerServer = 0;
    const std::string& asked = options.chunksPerServer;
    if (asked == "auto" || asked == "ports" || asked == "ports-or-auto")
    {
        chunksPerServer = ComputeMeanPorts(topology);
    }
    else
    {
        chunksPerServer = ParseNumber(options.chunksPerServer, "--chunks-per-server");
    }
    const uint64_t most = std::max<uint64_t>(ComputeMeanPorts(topology), MOST_CHUNKS / nServers);
    if (chunksPerServer == 0 || chunksPerServer > most)
    {
        FailInput("--chunks-per-server ",
                  Quote(options.chunksPerServer),
                  ": expected auto, ports, ports-or-auto or 1 to ",
                  most,
                  " on ",
                  topology.GetName(),
                  ": more than ",
                  MOST_CHUNKS,
                  " chunks take minutes to plan");
    }
    return options.groups.Make(topology, chunksPerServer);
}

Ptr<AllReduceScheduler>
MakeScheduler(const std::string& name, const PlanOptions& options)
{
    if (options.samples == 0)
    {
        FailInput("--samples \"0\": expected 1 or more");
    }
    const Ptr<AllReduceScheduler> scheduler = CreateScheduler(name);
    scheduler->SetAttributeFailSafe("Seed", UintegerValue(options.seed));
    scheduler->SetAttributeFailSafe("Samples", UintegerValue(options.samples));
    if (options.online && !scheduler->SetAttributeFailSafe("Online", BooleanValue(true)))
    {
        FailInput("--online: scheduler ", Quote(name), " makes a plan; expected hrl");
    }
    return scheduler;
}

} // namespace ns3::allreduce
