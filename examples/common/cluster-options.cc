/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"
#include "ns3/cluster-policy.h"
#include "ns3/job-generator.h"

#include <algorithm>
#include <boost/algorithm/string/join.hpp>
#include <cmath>
#include <cstdlib>

namespace ns3::allreduce
{

namespace
{

double
ParsePositive(const std::string& text, const std::string& option)
{
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !std::isfinite(value) || value <= 0)
    {
        FailInput(option, " ", Quote(text), ": expected a number of more than 0");
    }
    return value;
}

double
ParseSlotSeconds(const std::string& text)
{
    const int64_t ns = ParseTime(text, "--slot-time");
    if (ns == 0)
    {
        FailInput("--slot-time ", Quote(text), ": expected more than 0");
    }
    return ns / 1e9;
}

/// @return who plans
std::string
FindPlanner(const std::string& text)
{
    const std::string prefix = "plan:";
    if (text != "plan" && text.compare(0, prefix.size(), prefix) != 0)
    {
        FailInput("--collective-time ", Quote(text), ": expected ring, plan or plan:SCHEDULER");
    }
    return text == "plan" ? "forest" : text.substr(prefix.size());
}

} // namespace

ClusterOptions::ClusterOptions()
    : policies({"all"}),
      objectives({"progress"})
{
    // As many servers as in the published set-up.
    topologies.specs = {"jellyfish:10,3,2"};
}

void
ClusterOptions::AddTo(ProgramOptions& options)
{
    topologies.AddTo(options);
    options.Add("gpus",
                gpus,
                ',',
                "of a server; of several numbers each server gets one at random");
    options.Add("jobs", jobs, std::string(JOBS_GRAMMAR) + "; without, jobs are generated");
    options.Add("generate", generate, "how many jobs of the published mix to generate");
    options.Add("arrival-rate", arrivalRate, "generated jobs a slot, on average");
    options.Add("arrival-speed", arrivalSpeed, "jobs of a public trace come so many times as fast");
    options.Add("gang", gang, "rigid: jobs of a public trace need all their GPUs; or elastic");
    options.Add("job-bandwidth", jobBandwidth, "what rings of a public trace reserve");
    options.Add("trace-model", traceModel, "what jobs train in public traces that do not say it");
    options.Add("policy",
                policies,
                ',',
                "all, or of " + boost::algorithm::join(GetClusterPolicyNames(false), ", "));
    options.Add("objective", objectives, ',', UTILITY_GRAMMAR);
    options.Add("slots", slots, "number of slots; auto: about twice as many as the jobs need");
    options.Add("slot-time", slotTime, "how long a slot is");
    options.Add(
        "move-cost",
        moveCost,
        "time that a job loses that goes on elsewhere, with other workers or after a pause");
    options.Add("collective-time",
                collectiveTime,
                "ring: AllReduces take as long as a ring; plan or plan:SCHEDULER: as long as the "
                "plan of forest or another scheduler for the servers of the job");
    options.Add("reduce-rate", reduceRate, "how fast a worker adds up gradients");
    options.Add("reservable", reservable, "share of a link's rate that can be reserved");
    options.Add("contention", contention, "alpha: k rings get 1/(k+alpha(k-1)) of a link each");
    options.Add("seed", seed, "random seed");
}

void
ClusterOptions::Check(const ProgramOptions& options) const
{
    options.Exclude("jobs", {"generate", "arrival-rate"});
    for (const std::string ofTraces : {"arrival-speed", "gang", "job-bandwidth", "trace-model"})
    {
        if (options.IsGiven(ofTraces) && !IsPublicTrace(jobs))
        {
            FailInput("--",
                      ofTraces,
                      ": has no effect without a public trace, as --jobs=philly:FILE");
        }
    }
    if (gang != "rigid" && gang != "elastic")
    {
        FailInput("--gang ", Quote(gang), ": expected rigid or elastic");
    }
    if (topologies.specs.size() != 1)
    {
        FailInput("--topology: ", topologies.specs.size(), " of them, expected one");
    }
    if (generate == 0)
    {
        FailInput("--generate \"0\": expected 1 or more");
    }
    if (slots != "auto" && ParseNumber(slots, "--slots") == 0)
    {
        FailInput("--slots \"0\": expected 1 or more");
    }
    for (const std::string& name : ExpandPolicies())
    {
        CreateClusterPolicy(name, seed);
    }
    for (const std::string& objective : objectives)
    {
        ParseUtility(objective);
    }
}

GpuCluster
ClusterOptions::MakeCluster(uint64_t ownSeed) const
{
    GpuCluster cluster{topologies.Make().at(0), {}};
    std::vector<uint32_t> choices;
    for (const std::string& text : gpus)
    {
        constexpr uint64_t MOST_GPUS = 1024;
        const uint64_t number = ParseNumber(text, "--gpus");
        if (number > MOST_GPUS)
        {
            FailInput("--gpus ", Quote(text), ": expected at most ", MOST_GPUS);
        }
        choices.push_back(number);
    }
    cluster.gpus = DrawGpus(cluster.topology.GetNServers(), choices, ownSeed);
    cluster.slotSeconds = ParseSlotSeconds(slotTime);
    cluster.moveSeconds = ParseTime(moveCost, "--move-cost") / 1e9;
    if (cluster.moveSeconds >= cluster.slotSeconds)
    {
        FailInput("--move-cost ", Quote(moveCost), ": expected less than --slot-time, ", slotTime);
    }
    cluster.reduceBytesPerSecond = ParseRate(reduceRate, "--reduce-rate") / 8.0;
    cluster.reservableShare = ParseFraction(reservable, "--reservable");
    cluster.contentionAlpha = contention == "0" ? 0 : ParsePositive(contention, "--contention");
    if (collectiveTime != "ring")
    {
        cluster.collectiveTimes =
            std::make_shared<CollectiveTimes>(cluster.topology, FindPlanner(collectiveTime));
    }
    CheckCluster(cluster);
    return cluster;
}

ImportedTrace
ClusterOptions::MakeJobs(uint64_t ownSeed) const
{
    if (!jobs.empty())
    {
        TraceSettings settings;
        settings.slotSeconds = ParseSlotSeconds(slotTime);
        settings.reduceBytesPerSecond = ParseRate(reduceRate, "--reduce-rate") / 8.0;
        settings.bandwidthBps = ParseRate(jobBandwidth, "--job-bandwidth");
        settings.model = traceModel;
        settings.isElastic = gang == "elastic";
        settings.arrivalSpeed = ParsePositive(arrivalSpeed, "--arrival-speed");
        return ImportJobs(jobs, settings);
    }
    JobMix mix;
    mix.nJobs = generate;
    mix.arrivalRate = ParsePositive(arrivalRate, "--arrival-rate");
    mix.slotSeconds = ParseSlotSeconds(slotTime);
    mix.reduceBytesPerSecond = ParseRate(reduceRate, "--reduce-rate") / 8.0;
    mix.seed = ownSeed;
    return {GenerateJobs(mix), {}};
}

uint32_t
ClusterOptions::CountSlots(const GpuCluster& cluster, const ImportedTrace& trace) const
{
    const uint64_t number =
        slots == "auto" ? EstimateSlots(cluster, trace.jobs) : ParseNumber(slots, "--slots");
    constexpr uint64_t MOST_SLOTS = 100'000'000;
    if (number > MOST_SLOTS)
    {
        FailInput("--slots ", number, ": expected at most ", MOST_SLOTS);
    }
    return number;
}

std::vector<std::string>
ClusterOptions::ExpandPolicies() const
{
    std::vector<std::string> names;
    for (const std::string& name : policies)
    {
        const auto more = name == "all" ? GetClusterPolicyNames() : std::vector{name};
        names.insert(names.end(), more.begin(), more.end());
    }
    return names;
}

void
CheckJobsCanRun(const GpuCluster& cluster,
                const std::vector<Job>& jobs,
                const std::string& slotTime)
{
    const auto smallest =
        std::min_element(jobs.begin(), jobs.end(), [](const Job& x, const Job& y) {
            return x.minWorkers < y.minWorkers;
        });
    if (smallest->minWorkers > cluster.GetNGpus())
    {
        FailInput("no job fits: job ",
                  Quote(smallest->name),
                  ", the smallest, needs ",
                  smallest->minWorkers,
                  " GPUs, expected at most the ",
                  cluster.GetNGpus(),
                  " of the cluster");
    }
    const bool isLongEnough = std::any_of(jobs.begin(), jobs.end(), [&](const Job& job) {
        const std::vector<uint32_t> rates = MakeJobState(cluster, job).rates;
        return *std::max_element(rates.begin(), rates.end()) > 0;
    });
    if (!isLongEnough)
    {
        FailInput("--slot-time ", Quote(slotTime), ": no job can finish an iteration in a slot");
    }
}

} // namespace ns3::allreduce
