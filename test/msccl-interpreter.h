/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_INTERPRETER_H
#define ALLREDUCE_MSCCL_INTERPRETER_H

#include "allreduce-test-utils.h"

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce-tests
 *
 * Run an MSCCL file with numbers as MSCCL's interpreter would, sharing nothing with the module.
 * Threadblocks run side by side in a random order; a receive waits for its message, a send for a
 * free buffer, and a step for the flag of the threadblock that it depends on.
 *
 * @param xml the file
 * @param nBuffers messages that a connection holds before its sender has to wait
 * @param random which threadblock is the next
 * @return what went wrong: a rule of MSCCL's that the file breaks, a deadlock, or a GPU that does
 * not end with the exact sums; "" if nothing did
 */
std::string RunMscclFile(const std::string& xml, uint32_t nBuffers, TestRandom& random);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_INTERPRETER_H */
