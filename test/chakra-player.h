/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHAKRA_PLAYER_H
#define ALLREDUCE_CHAKRA_PLAYER_H

#include "allreduce-test-utils.h"

#include "ns3/chakra-trace.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce-tests
/// What came of playing traces.
struct ChakraPlay
{
    std::string failure;      //!< what went wrong; "" if nothing did
    uint32_t longestChain{0}; //!< most messages that waited for each other one after another
};

/**
 * @ingroup allreduce-tests
 *
 * Play the traces of an exported schedule with numbers, as ASTRA-sim's custom collectives would,
 * sharing nothing with the exporter: any node that waits for nothing more may be the next. A
 * receive ends when the send of its sender, receiver and tag has ended.
 *
 * @param traces by server: its nodes
 * @param nChunks into how many chunks the gradient is cut
 * @param bytes size of the gradient
 * @param random which node is the next
 * @return what went wrong: a send or receive without its like, a size that is not the chunk's, a
 * node before what it waits for, nodes that wait for ever, or a server that does not end with the
 * exact sums
 */
ChakraPlay PlayChakra(const std::vector<std::vector<ChakraNode>>& traces,
                      uint32_t nChunks,
                      uint64_t bytes,
                      TestRandom& random);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHAKRA_PLAYER_H */
