/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cluster-job.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

namespace
{

void
RequireSeconds(const Job& job, const char* what, double seconds)
{
    if (!(seconds >= 0 && std::isfinite(seconds)))
    {
        FailInput("job ", Quote(job.name), ": ", what, " is ", seconds, ", expected 0 or more");
    }
}

void
RequirePositive(const Job& job, const char* what, double value)
{
    if (!(value > 0 && std::isfinite(value)))
    {
        FailInput("job ", Quote(job.name), ": ", what, " is ", value, ", expected more than 0");
    }
}

} // namespace

void
CheckJob(const Job& job)
{
    RequirePositive(job, "gradient_bytes", job.gradientBytes);
    RequireSeconds(job, "forward_s", job.forwardSeconds);
    RequireSeconds(job, "backward_s", job.backwardSeconds);
    RequireSeconds(job, "overhead_s", job.overheadSeconds);
    RequirePositive(job,
                    "forward_s + backward_s + overhead_s",
                    job.forwardSeconds + job.backwardSeconds + job.overheadSeconds);
    RequirePositive(job, "iterations", job.targetIterations);
    RequirePositive(job, "min_workers", job.minWorkers);
    RequirePositive(job, "max_workers", job.maxWorkers);
    if (job.minWorkers > job.maxWorkers)
    {
        FailInput("job ",
                  Quote(job.name),
                  ": min_workers is ",
                  job.minWorkers,
                  ", expected at most max_workers, ",
                  job.maxWorkers);
    }
    RequirePositive(job, "bandwidth", job.bandwidthBps);
    RequirePositive(job, "weight", job.weight);
    if (!(job.weight <= MOST_WEIGHT))
    {
        FailInput("job ",
                  Quote(job.name),
                  ": weight is ",
                  job.weight,
                  ", expected at most ",
                  MOST_WEIGHT);
    }
}

double
IterationTime::GetTotal() const
{
    return transfer + reduction + overhead + forward + backward;
}

IterationTime
GetIterationTime(const Job& job, uint32_t workers, double bandwidthBps, double reduceBytesPerSecond)
{
    const double share = double(workers - 1) / workers;
    const double bytes = job.gradientBytes;
    return {2 * bytes * share / (bandwidthBps / 8),
            bytes * share / reduceBytesPerSecond,
            job.overheadSeconds,
            job.forwardSeconds / workers,
            job.backwardSeconds / workers};
}

uint32_t
CountIterations(double iterationSeconds, double slotSeconds)
{
    // An iteration that fits exactly must not be lost to rounding.
    constexpr double ROUNDING = 1e-9;
    const double count = slotSeconds / iterationSeconds * (1 + ROUNDING);
    return std::min<double>(count, std::numeric_limits<uint32_t>::max());
}

double
GetContendedBandwidth(double linkBps, uint32_t nRings, double alpha)
{
    return linkBps / (nRings + alpha * (nRings - 1));
}

uint32_t
JobState::FindUsefulWorkers(uint32_t limit) const
{
    const auto end = rates.begin() + std::min<std::size_t>(limit + 1, rates.size());
    return std::max_element(rates.begin(), end) - rates.begin();
}

} // namespace ns3::allreduce
