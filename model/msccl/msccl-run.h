/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_RUN_H
#define ALLREDUCE_MSCCL_RUN_H

#include "msccl-program.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-topology.h"

#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Run a program with sets of contributors in its buffers and put its messages into rounds.
 *
 * @param program the program
 * @param topology the network
 * @param source where the program comes from, for messages
 * @return what it sends when, which the verifier has not seen
 * @throws InputError that says why it cannot run, or not on this network
 */
AllReduceSchedule RunMscclProgram(const MscclProgram& program,
                                  const Topology& topology,
                                  const std::string& source);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_RUN_H */
