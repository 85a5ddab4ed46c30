/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_TEST_UTILS_H
#define ALLREDUCE_CLUSTER_TEST_UTILS_H

#include "ns3/cluster-job.h"

#include <cstdint>

namespace ns3::allreduce
{

constexpr uint64_t GIGABIT = 1'000'000'000; //!< bit/s

/**
 * @ingroup allreduce-tests
 *
 * @param seconds a batch on one GPU: 60 / seconds iterations fit into a slot
 * @param iterations until it ends
 * @param minWorkers its gang
 * @param maxWorkers most workers
 * @return a job that has little to send
 */
inline Job
MakeTestJob(double seconds, uint32_t iterations, uint32_t minWorkers, uint32_t maxWorkers)
{
    Job job;
    job.name = "test";
    job.gradientBytes = 1000;
    job.forwardSeconds = seconds / 2;
    job.backwardSeconds = seconds / 2;
    job.targetIterations = iterations;
    job.minWorkers = minWorkers;
    job.maxWorkers = maxWorkers;
    job.bandwidthBps = GIGABIT;
    return job;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_TEST_UTILS_H */
