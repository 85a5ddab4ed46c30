/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How fast the flow-level simulator plans, applies, verifies and bounds, by network. Takes Google
 * Benchmark's options, and --large, which adds bcube:16,2 (about a minute and some GB).
 */

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-scheduler.h"
#include "ns3/allreduce-state.h"
#include "ns3/schedule-verifier.h"
#include "ns3/scheduler-factory.h"
#include "ns3/topology-spec.h"

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cmath>
#include <ctime>
#include <fstream>
#include <iostream>
#include <malloc.h>
#include <map>
#include <memory>
#include <string>
#include <vector>

using namespace ns3;
using namespace ns3::allreduce;

namespace
{

const std::vector<std::string> NETWORKS = {
    "bcube:4,1",
    "bcube:8,1",
    "bcube:4,2",
    "bcube:5,2",
    "bcube:6,2",
    "bcube:8,2",
    "dcell:4,1",
    "dcell:6,1",
    "dcell:2,2",
    "dcell:3,2",
    "dcell:4,2",
    "jellyfish:10,3,2",
    "jellyfish:20,5,3",
    "jellyfish:32,6,4",
    "jellyfish:64,8,4",
};

const std::string LARGE_NETWORK = "bcube:16,2";

/// Size and duration of a plan.
struct PlanTime
{
    double nWorkloads; //!< workloads of the schedule
    double seconds;    //!< the processor time that planning it took
};

/// By network: how long planning took in the last run of its benchmark.
std::map<std::string, PlanTime> g_planTimes;

/// The most memory that this process has used since Reset.
class PeakMemory
{
  public:
    static void Reset()
    {
        malloc_trim(0);
        std::ofstream("/proc/self/clear_refs") << "5";
    }

    /// @return bytes; 0 where the system does not tell
    static double Get()
    {
        std::ifstream status("/proc/self/status");
        for (std::string key; status >> key;)
        {
            if (key == "VmHWM:")
            {
                double kilobytes = 0;
                status >> kilobytes;
                return 1024 * kilobytes;
            }
        }
        return 0;
    }
};

/// A network, its state before the first workload, and a greedy schedule.
struct Instance
{
    explicit Instance(const std::string& spec)
        : topology(ParseTopology(spec)),
          start(topology, MakeRoots(topology.GetNServers(), 1)),
          schedule(Plan(*CreateScheduler("greedy"), start))
    {
    }

    Topology topology;          //!< the network
    AllReduceState start;       //!< the beginning
    AllReduceSchedule schedule; //!< a schedule
};

/// @return the instance of a network, kept until another one is asked for
const Instance&
GetInstance(const std::string& spec)
{
    static std::string present;
    static std::unique_ptr<Instance> instance;
    if (present != spec)
    {
        instance.reset();
        instance = std::make_unique<Instance>(spec);
        present = spec;
    }
    return *instance;
}

void
CountWorkloads(benchmark::State& run, const Topology& topology, uint64_t nWorkloads)
{
    run.counters["servers"] = topology.GetNServers();
    run.counters["workloads"] = nWorkloads;
    run.counters["workloads/s"] =
        benchmark::Counter(nWorkloads, benchmark::Counter::kIsIterationInvariantRate);
}

void
PlanGreedily(benchmark::State& run, const std::string& spec)
{
    const Topology topology = ParseTopology(spec);
    uint64_t nWorkloads = 0;
    PeakMemory::Reset();
    const std::clock_t begin = std::clock();
    for (auto _ : run)
    {
        const AllReduceState start(topology, MakeRoots(topology.GetNServers(), 1));
        nWorkloads = Plan(*CreateScheduler("greedy"), start).CountWorkloads();
    }
    const double seconds = double(std::clock() - begin) / CLOCKS_PER_SEC;
    CountWorkloads(run, topology, nWorkloads);
    run.counters["peak_bytes"] = benchmark::Counter(PeakMemory::Get(),
                                                    benchmark::Counter::kDefaults,
                                                    benchmark::Counter::kIs1024);
    g_planTimes[spec] = {double(nWorkloads), seconds / run.iterations()};
}

void
ApplyRounds(benchmark::State& run, const std::string& spec)
{
    const Instance& instance = GetInstance(spec);
    for (auto _ : run)
    {
        run.PauseTiming();
        AllReduceState state = instance.start;
        run.ResumeTiming();
        for (const WorkloadList& round : instance.schedule.rounds)
        {
            for (std::size_t i = 0; i < round.GetSize(); ++i)
            {
                state.Start(round.Get(i));
            }
            state.EndRound();
        }
        benchmark::DoNotOptimize(state.IsDone());
    }
    CountWorkloads(run, instance.topology, instance.schedule.CountWorkloads());
}

void
VerifySchedule(benchmark::State& run, const std::string& spec)
{
    const Instance& instance = GetInstance(spec);
    for (auto _ : run)
    {
        if (!Verify(instance.topology, instance.schedule).isCorrect)
        {
            run.SkipWithError("the schedule is not correct");
        }
    }
    CountWorkloads(run, instance.topology, instance.schedule.CountWorkloads());
}

void
ComputeBounds(benchmark::State& run, const std::string& spec)
{
    const Topology topology = ParseTopology(spec);
    const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), 1);
    for (auto _ : run)
    {
        benchmark::DoNotOptimize(ComputeLowerBounds(topology, roots));
    }
    run.counters["servers"] = topology.GetNServers();
}

/// @return the slope of log(seconds) against log(workloads), by least squares
double
FitSlope(const std::vector<PlanTime>& times)
{
    double meanX = 0;
    double meanY = 0;
    for (const PlanTime& time : times)
    {
        meanX += std::log(time.nWorkloads) / times.size();
        meanY += std::log(time.seconds) / times.size();
    }
    double covariance = 0;
    double variance = 0;
    for (const PlanTime& time : times)
    {
        const double x = std::log(time.nWorkloads) - meanX;
        covariance += x * (std::log(time.seconds) - meanY);
        variance += x * x;
    }
    return covariance / variance;
}

void
PrintSlopes()
{
    std::map<std::string, std::vector<PlanTime>> families;
    for (const auto& [spec, time] : g_planTimes)
    {
        families[spec.substr(0, spec.find(':'))].push_back(time);
        families["all"].push_back(time);
    }
    for (const auto& [family, times] : families)
    {
        if (times.size() > 1)
        {
            std::cout << "planning time ~ workloads^" << FitSlope(times) << " (" << family << ", "
                      << times.size() << " networks; 1 is proportional)\n";
        }
    }
}

/// @return whether the option was there; it is taken out
bool
TakeOption(int& argc, char* argv[], const std::string& option)
{
    char** const end = std::remove(argv, argv + argc, option);
    const bool isThere = end != argv + argc;
    argc = end - argv;
    return isThere;
}

} // namespace

int
main(int argc, char* argv[])
{
    std::vector<std::string> networks = NETWORKS;
    if (TakeOption(argc, argv, "--large"))
    {
        networks.push_back(LARGE_NETWORK);
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv))
    {
        return 2;
    }
    const std::vector<std::pair<std::string, void (*)(benchmark::State&, const std::string&)>>
        benchmarks = {
            {"plan", PlanGreedily},
            {"apply", ApplyRounds},
            {"verify", VerifySchedule},
            {"bounds", ComputeBounds},
        };
    for (const auto& [name, function] : benchmarks)
    {
        for (const std::string& spec : networks)
        {
            benchmark::RegisterBenchmark((name + "/" + spec).c_str(), function, spec)
                ->Unit(benchmark::kMillisecond);
        }
    }
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    PrintSlopes();
    return 0;
}
