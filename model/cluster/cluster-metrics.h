/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CLUSTER_METRICS_H
#define ALLREDUCE_CLUSTER_METRICS_H

#include "cluster-simulation.h"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How long a job took.
struct JobTimes
{
    double arrivalSeconds{0};    //!< the beginning of its first slot
    double startSeconds{0};      //!< when it first ran
    double endSeconds{0};        //!< when it finished
    double waitingSeconds{0};    //!< from arrival to start
    double completionSeconds{0}; //!< from arrival to end
    double slowdown{0};          //!< completion / time that it takes alone with all its workers
};

/**
 * @ingroup allreduce
 *
 * @param cluster where the trace was played
 * @param result what came out
 * @param job a job
 * @return how long it took; nothing if it did not finish
 */
std::optional<JobTimes> FindJobTimes(const GpuCluster& cluster,
                                     const ClusterResult& result,
                                     JobId job);

/// @ingroup allreduce
/// Numbers of one kind, as people compare them.
struct Distribution
{
    double mean{0};   //!< their mean
    double median{0}; //!< half of them are not larger
    double p95{0};    //!< 95 % of them are not larger
    double p99{0};    //!< 99 % of them are not larger
};

/**
 * @ingroup allreduce
 *
 * @param numbers some numbers, in any order
 * @return their distribution; all 0 if there are none
 */
Distribution Summarize(std::vector<double> numbers);

/// @ingroup allreduce
/// What a trace came to, for all jobs that finished.
struct ClusterMetrics
{
    Distribution completion;             //!< seconds from arrival to end
    Distribution waiting;                //!< seconds from arrival to start
    Distribution slowdown;               //!< see JobTimes
    double lastEndSeconds{0};            //!< when the last of them finished
    std::optional<double> makespan;      //!< the same, if all jobs finished
    double utilization{0};               //!< share of GPU time until then that jobs held
    std::vector<double> completionTimes; //!< seconds, ascending
};

/**
 * @ingroup allreduce
 *
 * @param cluster where the trace was played
 * @param result what came out
 * @return what it comes to
 */
ClusterMetrics MeasureCluster(const GpuCluster& cluster, const ClusterResult& result);

/**
 * @ingroup allreduce
 *
 * @param ascending some numbers in ascending order
 * @param nPoints so many points at most
 * @return a number each and the share of the numbers that are not larger, ending with 1
 */
std::vector<std::pair<double, double>> MakeCdf(const std::vector<double>& ascending,
                                               std::size_t nPoints);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CLUSTER_METRICS_H */
