/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "gpu-cluster.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>
#include <numeric>
#include <random>

namespace ns3::allreduce
{

namespace
{

void
RequirePositive(const char* what, double value)
{
    if (!(value > 0 && std::isfinite(value)))
    {
        FailInput("cluster: ", what, " is ", value, ", expected more than 0");
    }
}

} // namespace

uint32_t
GpuCluster::GetNGpus() const
{
    return std::accumulate(gpus.begin(), gpus.end(), 0u);
}

double
GpuCluster::GetTransferShare(const std::vector<NodeId>& servers) const
{
    return collectiveTimes ? collectiveTimes->GetShare(servers) : 1;
}

uint64_t
GpuCluster::GetReservable(DirectedLinkId link) const
{
    return reservableShare * topology.GetLinkOf(link).rateBps;
}

void
CheckCluster(const GpuCluster& cluster)
{
    if (cluster.gpus.size() != cluster.topology.GetNServers())
    {
        FailInput("cluster: GPUs of ",
                  cluster.gpus.size(),
                  " servers, expected ",
                  cluster.topology.GetNServers());
    }
    RequirePositive("the number of GPUs", cluster.GetNGpus());
    RequirePositive("the length of a slot", cluster.slotSeconds);
    RequirePositive("the speed of reduction", cluster.reduceBytesPerSecond);
    if (!(cluster.reservableShare >= 0 && cluster.reservableShare <= 1))
    {
        FailInput("cluster: the reservable share is ",
                  cluster.reservableShare,
                  ", expected 0 to 1");
    }
    if (!(cluster.moveSeconds >= 0 && cluster.moveSeconds < cluster.slotSeconds))
    {
        FailInput("cluster: a move takes ",
                  cluster.moveSeconds,
                  " s, expected less than a slot, ",
                  cluster.slotSeconds,
                  " s");
    }
    if (!(cluster.contentionAlpha >= 0 && std::isfinite(cluster.contentionAlpha)))
    {
        FailInput("cluster: contention alpha is ", cluster.contentionAlpha, ", expected 0 or more");
    }
}

std::vector<uint32_t>
DrawGpus(uint32_t nServers, const std::vector<uint32_t>& choices, uint64_t seed)
{
    std::mt19937_64 random(seed);
    boost::random::uniform_int_distribution<std::size_t> draw(0, choices.size() - 1);
    std::vector<uint32_t> gpus(nServers);
    std::generate(gpus.begin(), gpus.end(), [&] { return choices[draw(random)]; });
    return gpus;
}

JobState
MakeJobState(const GpuCluster& cluster, const Job& job)
{
    JobState state;
    state.job = &job;
    state.rates.push_back(0);
    state.movedRates.push_back(0);
    const uint32_t most = std::min(job.maxWorkers, cluster.GetNGpus());
    for (uint32_t workers = 1; workers <= most; ++workers)
    {
        if (workers < job.minWorkers)
        {
            state.rates.push_back(0);
            state.movedRates.push_back(0);
            continue;
        }
        const double seconds =
            GetIterationTime(job, workers, job.bandwidthBps, cluster.reduceBytesPerSecond)
                .GetTotal();
        state.rates.push_back(CountIterations(seconds, cluster.slotSeconds));
        state.movedRates.push_back(
            CountIterations(seconds, cluster.slotSeconds - cluster.moveSeconds));
    }
    return state;
}

uint64_t
EstimateSlots(const GpuCluster& cluster, const std::vector<Job>& jobs)
{
    uint64_t lastArrival = 0;
    uint64_t longest = 0;
    double workerSlots = 0;
    for (const Job& job : jobs)
    {
        const JobState state = MakeJobState(cluster, job);
        lastArrival = std::max<uint64_t>(lastArrival, job.arrivalSlot);
        double best = 0; // GPUs times slots
        double shortest = 0;
        for (uint32_t workers = 1; workers < state.rates.size(); ++workers)
        {
            if (state.rates[workers] > 0)
            {
                const double slots = std::ceil(double(job.targetIterations) / state.rates[workers]);
                best = best == 0 ? slots * workers : std::min(best, slots * workers);
                shortest = shortest == 0 ? slots : std::min(shortest, slots);
            }
        }
        workerSlots += best;
        longest = std::max<uint64_t>(longest, shortest);
    }
    return lastArrival + longest + std::ceil(2 * workerSlots / cluster.GetNGpus()) + 1;
}

} // namespace ns3::allreduce
