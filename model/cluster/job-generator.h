/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_GENERATOR_H
#define ALLREDUCE_JOB_GENERATOR_H

#include "gpu-cluster.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What kind of trace to make.
struct JobMix
{
    uint32_t nJobs{160};               //!< how many jobs
    double arrivalRate{1};             //!< jobs a slot, on average
    double slotSeconds{60};            //!< how long a slot is
    double reduceBytesPerSecond{1e10}; //!< how fast a worker adds up gradients
    uint64_t seed{1};                  //!< random seed
};

/**
 * @ingroup allreduce
 *
 * Make jobs of the mix that the follow-up publishes: of 160 jobs, 80, 14, 26, 30, 8 and 2 ask for
 * 1, 2, 4, 8, 16 and 32 GPUs; 1,000 to 6,000 iterations; with the GPUs asked for an iteration
 * takes 0.01 to 0.05 of a slot. Arrivals are a Poisson process.
 *
 * Reconstructed: with the GPUs asked for, 10 to 50 % of an iteration are transfer and 5 % are
 * overhead; a forward pass is half as long as a backward pass; rings reserve 1, 2 or 5 Gb/s.
 *
 * @param mix what kind of trace
 * @return the jobs, by arrival
 */
std::vector<Job> GenerateJobs(const JobMix& mix);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_GENERATOR_H */
