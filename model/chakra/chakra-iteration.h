/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_ITERATION_H
#define ALLREDUCE_CHAKRA_ITERATION_H

#include "chakra-workload.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief The computing of a training iteration, around AllReduces that somebody else runs.
 *
 * AllReduces run one at a time, in the order of the file, as on one stream of a GPU. Each begins
 * when the one before is over and all servers have done what it waits for. Meanwhile servers go on
 * with what does not wait for it: each has a CPU and a GPU, which run one node at a time, of those
 * that could run the one that comes first in the file.
 */
class ChakraIteration
{
  public:
    /// @param workloads one for each server, or one for all; must outlive this
    explicit ChakraIteration(const std::vector<ChakraWorkload>& workloads);
    ~ChakraIteration();

    /**
     * To be called when those before have ended.
     *
     * @param collective an AllReduce, from 0
     * @return when all servers have done what it waits for, in nanoseconds from the beginning
     */
    uint64_t FindReady(uint32_t collective);

    /**
     * @param collective an AllReduce that has ended, from 0
     * @param nanos when
     */
    void NoteEnd(uint32_t collective, uint64_t nanos);

    /// @return when everything is done; to be called when all AllReduces have ended
    uint64_t FindEnd();

  private:
    class Server;
    std::vector<std::unique_ptr<Server>> m_servers; //!< what they do
};

/// @return nanoseconds that the busiest CPU or GPU computes @param workloads what servers do
uint64_t GetComputeNanos(const std::vector<ChakraWorkload>& workloads);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_ITERATION_H */
