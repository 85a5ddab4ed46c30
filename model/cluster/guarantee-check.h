/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_GUARANTEE_CHECK_H
#define ALLREDUCE_GUARANTEE_CHECK_H

#include "gpu-cluster.h"
#include "job-utility.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A cluster so small that the best that could be done in it can be found by trying everything.
struct TinyInstance
{
    GpuCluster cluster;    //!< a few servers
    std::vector<Job> jobs; //!< a few jobs
    std::string objective; //!< as ParseUtility takes it
    uint32_t nSlots{0};    //!< a few slots
    bool isRoomy{false};   //!< whether bandwidth is never scarce
};

/**
 * @ingroup allreduce
 *
 * @param random random numbers
 * @return an instance
 */
TinyInstance MakeTinyInstance(std::mt19937_64& random);

/// @ingroup allreduce
/// What GADGET reached in instances, next to the best that could be done.
struct GuaranteeReport
{
    uint32_t nInstances{0};        //!< how many were tried
    uint32_t nRoomy{0};            //!< of these, how many with bandwidth to spare
    uint32_t nGangs{0};            //!< of these, how many with a job that needs several workers
    uint32_t nMoving{0};           //!< of these, how many in which moves cost time
    double worstRatio{1};          //!< least utility / best possible
    double meanRatio{0};           //!< mean of the same
    double worstMeanRatio{1};      //!< least mean utility / best possible
    double meanMeanRatio{0};       //!< mean of the same
    double worstGuaranteed{1};     //!< least share that was guaranteed
    double meanGuaranteed{0};      //!< mean of the same
    double worstRoomySlotShare{1}; //!< least gain / bound of a slot where bandwidth is no limit
                                   //!< and moves are free
    std::vector<std::string> violations; //!< where less was reached than was guaranteed
};

/**
 * @ingroup allreduce
 *
 * Compare GADGET with the offline optimum on random tiny instances.
 *
 * @param nInstances how many
 * @param seed random seed
 * @param progress told how many are done; may be empty
 * @return what came out
 */
GuaranteeReport CheckGuarantee(uint32_t nInstances,
                               uint64_t seed,
                               const std::function<void(uint32_t)>& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_GUARANTEE_CHECK_H */
