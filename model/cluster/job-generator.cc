/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-generator.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>
#include <random>

namespace ns3::allreduce
{

namespace
{

using Random = std::mt19937_64;

/// Jobs of one size in the published mix.
struct SizeShare
{
    uint32_t workers; //!< GPUs asked for
    uint32_t nJobs;   //!< of PUBLISHED_JOBS
};

constexpr uint32_t PUBLISHED_JOBS = 160;
constexpr SizeShare PUBLISHED_MIX[] = {{1, 80}, {2, 14}, {4, 26}, {8, 30}, {16, 8}, {32, 2}};

/// @return the number of GPUs that each job asks for, in random order
std::vector<uint32_t>
MakeSizes(uint32_t nJobs, Random& random)
{
    std::vector<uint32_t> sizes;
    uint32_t sum = 0;
    for (const SizeShare& share : PUBLISHED_MIX)
    {
        sum += share.nJobs;
        sizes.resize(uint64_t{nJobs} * sum / PUBLISHED_JOBS, share.workers);
    }
    // std::shuffle is not the same in every standard library.
    for (std::size_t i = sizes.size(); i > 1; --i)
    {
        boost::random::uniform_int_distribution<std::size_t> draw(0, i - 1);
        std::swap(sizes[i - 1], sizes[draw(random)]);
    }
    return sizes;
}

double
DrawBetween(Random& random, double least, double most)
{
    return boost::random::uniform_real_distribution<double>(least, most)(random);
}

Job
MakeJob(uint32_t workers, const JobMix& mix, Random& random)
{
    constexpr double OVERHEAD = 0.05;
    constexpr double GIGABIT = 1e9;
    constexpr double BANDWIDTHS[] = {1 * GIGABIT, 2 * GIGABIT, 5 * GIGABIT};
    Job job;
    job.maxWorkers = workers;
    job.targetIterations = boost::random::uniform_int_distribution<uint32_t>(1000, 6000)(random);
    const double tau = mix.slotSeconds * DrawBetween(random, 0.01, 0.05);
    const double transfer = tau * DrawBetween(random, 0.1, 0.5);
    const double bandwidth =
        BANDWIDTHS[boost::random::uniform_int_distribution<std::size_t>(0, 2)(random)];
    job.bandwidthBps = bandwidth;
    // What a ring of at least two workers moves in the time for transfer.
    const double w = std::max(workers, 2u);
    job.gradientBytes = std::max(1.0, transfer * (bandwidth / 8) * w / (2 * (w - 1)));
    job.overheadSeconds = OVERHEAD * tau;
    const IterationTime time = GetIterationTime(job, workers, bandwidth, mix.reduceBytesPerSecond);
    const double compute = (tau - time.GetTotal()) * workers;
    job.forwardSeconds = compute / 3;
    job.backwardSeconds = compute - job.forwardSeconds;
    return job;
}

} // namespace

std::vector<Job>
GenerateJobs(const JobMix& mix)
{
    if (!(mix.arrivalRate > 0 && std::isfinite(mix.arrivalRate)))
    {
        FailInput("arrival rate ", mix.arrivalRate, ": expected more than 0 jobs a slot");
    }
    Random random(mix.seed);
    boost::random::exponential_distribution<double> gap(mix.arrivalRate);
    std::vector<Job> jobs;
    double arrival = 0;
    for (const uint32_t workers : MakeSizes(mix.nJobs, random))
    {
        arrival += gap(random);
        jobs.push_back(MakeJob(workers, mix, random));
        jobs.back().arrivalSlot = arrival;
        jobs.back().name = "job-" + std::to_string(jobs.size() - 1);
    }
    return jobs;
}

} // namespace ns3::allreduce
