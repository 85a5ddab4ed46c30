/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_WORKLOAD_H
#define ALLREDUCE_CHAKRA_WORKLOAD_H

#include "chakra-trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// An AllReduce of a workload trace.
struct ChakraCollective
{
    uint64_t id{0};    //!< of its node
    std::string name;  //!< of its node
    uint64_t bytes{0}; //!< size of what is summed
};

/// @ingroup allreduce
/// What one server does in a training iteration: computing, and AllReduces together with all
/// others.
struct ChakraWorkload
{
    /// What a step occupies while it runs.
    enum Unit
    {
        CPU,
        GPU,
        NETWORK, //!< an AllReduce
        NOTHING  //!< it takes no time
    };

    /// A node of the trace.
    struct Step
    {
        Unit unit{NOTHING};              //!< what it occupies
        uint64_t nanos{0};               //!< for how long, if that is not the network
        uint32_t collective{0};          //!< on the network: its index
        uint32_t nAwaited{0};            //!< how many steps it waits for
        std::vector<uint32_t> followers; //!< the steps that wait for it
    };

    std::string source;                        //!< where it comes from, for messages
    std::vector<Step> steps;                   //!< in the order of the file
    std::vector<ChakraCollective> collectives; //!< in the order of the file
};

/**
 * @ingroup allreduce
 *
 * Take from a workload trace what can be played. A node takes the time that the trace says
 * (duration_micros), on the CPU if it says so (is_cpu_op) and on the GPU if not; loads, stores,
 * metadata and invalid nodes take none. Control and data dependencies count the same.
 *
 * Refused are: collectives other than AllReduces of all servers, single sends and receives, nodes
 * that wait for each other in a circle or for an AllReduce that comes later in the file, because
 * AllReduces run in its order, and traces without any AllReduce.
 *
 * @param nodes what ReadChakraTrace returns
 * @param source where they come from, for messages
 * @return the workload
 * @throws InputError that names source, the node and what was expected
 */
ChakraWorkload MakeChakraWorkload(const std::vector<ChakraNode>& nodes, const std::string& source);

/**
 * @ingroup allreduce
 *
 * Check that workloads of several servers have the same AllReduces, by number and bytes.
 *
 * @param workloads the workloads, one or more
 * @throws InputError that names the first that differs from the first one, and its node
 */
void CheckSameCollectives(const std::vector<ChakraWorkload>& workloads);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_WORKLOAD_H */
