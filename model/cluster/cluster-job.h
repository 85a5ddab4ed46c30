/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_JOB_H
#define ALLREDUCE_CLUSTER_JOB_H

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Weights of jobs and factors of objectives are at most this, so that their sums are finite.
constexpr double MOST_WEIGHT = 1e12;

/// Index of a job in its trace.
using JobId = uint32_t;

/**
 * @ingroup allreduce
 *
 * @brief A training job: its workers stand in a ring and AllReduce the gradient every iteration.
 *
 * A batch is shared by the workers, so that each computes 1/w of it.
 */
struct Job
{
    std::string name;             //!< what its owner calls it
    uint32_t arrivalSlot{0};      //!< the first slot in which it can run
    uint64_t gradientBytes{1};    //!< size of the gradient, M
    double forwardSeconds{0};     //!< forward pass of a whole batch on one GPU
    double backwardSeconds{0};    //!< backward pass of a whole batch on one GPU
    double overheadSeconds{0};    //!< what every iteration costs besides, c
    uint32_t targetIterations{1}; //!< iterations after which it has learned all
    uint32_t minWorkers{1};       //!< with fewer it does not run (its gang)
    uint32_t maxWorkers{1};       //!< most workers that it can use
    uint64_t bandwidthBps{1};     //!< bit/s that its ring reserves on every hop, B
    double weight{1};             //!< how much it matters
};

/**
 * @ingroup allreduce
 *
 * @param job a job
 * @throws InputError that says which value is not possible
 */
void CheckJob(const Job& job);

/// @ingroup allreduce
/// Where the time of one iteration goes, in seconds.
struct IterationTime
{
    double transfer{0};  //!< 2 M (w-1) / (w B): the gradient goes round the ring twice
    double reduction{0}; //!< M (w-1) / (w G): adding up what arrives
    double overhead{0};  //!< c
    double forward{0};   //!< this worker's share of the batch
    double backward{0};  //!< the same, backwards

    /// @return the sum
    double GetTotal() const;
};

/**
 * @ingroup allreduce
 *
 * @param job a job
 * @param workers their number w, 1 or more
 * @param bandwidthBps B, in bit/s
 * @param reduceBytesPerSecond G
 * @return how long an iteration takes
 */
IterationTime GetIterationTime(const Job& job,
                               uint32_t workers,
                               double bandwidthBps,
                               double reduceBytesPerSecond);

/**
 * @ingroup allreduce
 *
 * @param iterationSeconds how long an iteration takes
 * @param slotSeconds how long a slot is
 * @return how many iterations fit into a slot
 */
uint32_t CountIterations(double iterationSeconds, double slotSeconds);

/**
 * @ingroup allreduce
 *
 * The follow-up's contention model: k rings that share a link get 1 / (k + alpha (k-1)) of it each.
 *
 * @param linkBps rate of the link
 * @param nRings number of rings, 1 or more
 * @param alpha how much is lost to contention
 * @return bit/s for each of them
 */
double GetContendedBandwidth(double linkBps, uint32_t nRings, double alpha);

/// @ingroup allreduce
/// How far a job has come.
struct JobState
{
    const Job* job{nullptr};     //!< the job
    std::vector<uint32_t> rates; //!< iterations a slot, by number of workers from 0 to those there
                                 //!< are; 0 below the gang
    std::vector<uint32_t> movedRates; //!< the same in a slot in which it moves
    uint32_t iterations{0};           //!< done so far, at most the target
    uint64_t workerSlots{0};          //!< GPUs held so far, summed over slots
    uint32_t endSlot{0};              //!< the slot in which it finished, if it did

    /// @return whether it has reached its target
    bool IsFinished() const
    {
        return iterations == job->targetIterations;
    }

    /// @return how many iterations are left
    uint32_t GetRemaining() const
    {
        return job->targetIterations - iterations;
    }

    /**
     * @param rate iterations that fit into a slot
     * @return which part of the slot it takes until it ends or the slot does
     */
    double GetBusyPart(uint32_t rate) const
    {
        return GetRemaining() < rate ? double(GetRemaining()) / rate : 1;
    }

    /**
     * @param limit so many workers at most
     * @return the fewest workers that bring as many iterations as any number up to the limit; 0
     * if none brings any
     */
    uint32_t FindUsefulWorkers(uint32_t limit) const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_JOB_H */
