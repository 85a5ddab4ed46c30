/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_OFFLINE_OPTIMUM_H
#define ALLREDUCE_OFFLINE_OPTIMUM_H

#include "gpu-cluster.h"
#include "job-utility.h"
#include "ring-embedding.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Every ring of a job in an empty cluster: every set of servers, every order of them and every path
 * between them; of rings that need the same, one. For tiny clusters only.
 *
 * @param cluster a tiny cluster
 * @param maxWorkers so many workers at most
 * @return the rings, without job and bandwidth
 */
std::vector<RingEmbedding> EnumerateRings(const GpuCluster& cluster, uint32_t maxWorkers);

/**
 * @ingroup allreduce
 *
 * All ways to give workers to jobs in one slot, found by trying every ring: every set of servers,
 * every order of them and every path between them. For tiny clusters only.
 *
 * @param cluster a tiny cluster
 * @param jobs a few jobs
 * @return numbers of workers by job, each combination once
 */
std::vector<std::vector<uint32_t>> FindFeasibleSizes(const GpuCluster& cluster,
                                                     const std::vector<Job>& jobs);

/**
 * @ingroup allreduce
 *
 * The most utility that anyone could reach who knows all jobs beforehand, found by trying
 * everything. For tiny clusters, few jobs and few slots only.
 *
 * @param cluster a tiny cluster
 * @param jobs a few jobs
 * @param utility what progress is worth
 * @param slotWeights by slot: how much a gain in it counts; all 1 for the utility in the end,
 * falling linearly from 1 for the mean utility
 * @return the weighted sum of gains
 */
double FindOfflineOptimum(const GpuCluster& cluster,
                          const std::vector<Job>& jobs,
                          const JobUtility& utility,
                          const std::vector<double>& slotWeights);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_OFFLINE_OPTIMUM_H */
