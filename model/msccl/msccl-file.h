/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MSCCL_FILE_H
#define ALLREDUCE_MSCCL_FILE_H

#include "ns3/allreduce-topology.h"
#include "ns3/schedule-file.h"

#include <iosfwd>
#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Write a schedule as an MSCCL algorithm file (XML), which MSCCL's interpreter runs on GPUs, one
 * for each server.
 *
 * Every connection (sender, receiver, channel) has a threadblock of its own at both ends and
 * carries at most one chunk in a round. All steps wait only for steps of earlier rounds, for sends
 * of the same round, and for receives that stand before them in the same round. So there is an
 * order in which everything can run, and one free message buffer for each connection is enough.
 *
 * A reduce is received by adding (rrc) if the receiver still holds something of the chunk, and by
 * overwriting (r) if it has sent that on. Contributions that a schedule keeps apart (a plain
 * parameter server's) lie in the scratch buffer.
 *
 * Rounds and paths are attributes of the steps that send (round, via), which MSCCL skips and
 * ReadMsccl does not.
 *
 * MSCCL's own limit of 256 steps in a threadblock is kept by opening further channels. How many
 * threadblocks a GPU can run depends on the GPU: all of them must run at once, and each takes a
 * multiprocessor.
 *
 * @param topology the network
 * @param schedule a schedule on it
 * @param out where to write
 * @return the most threadblocks that a GPU has
 * @throws InputError if the schedule is not correct, or has more chunks than MSCCL can number
 */
uint32_t WriteMsccl(const Topology& topology, const AllReduceSchedule& schedule, std::ostream& out);

/**
 * @ingroup allreduce
 *
 * Read an MSCCL algorithm file as a schedule on a given network: GPU k is server k.
 *
 * The program is run with sets of contributors in its buffers. A message with all contributions
 * becomes a broadcast, any other a reduce; the root of a chunk is the server where its sum is
 * complete first. Transfers are put into rounds as early as the program's order and the links
 * allow, along shortest paths of switches with room, those with the longest chain behind them
 * first. Where steps name rounds and paths, as WriteMsccl has them do, a message crosses in its
 * round and on its path if it can; on the same network a schedule comes back with the same rounds.
 *
 * Refused are programs that do not end, that lose a contribution or count it twice, that leave a
 * GPU without a sum, in which steps of two threadblocks race for the same chunk, and those that no
 * schedule can express: a partial sum that is sent to two GPUs. The threadblocks' message buffers
 * are taken to be large enough. Whether the schedule is correct is for the verifier to say.
 *
 * @param in the text
 * @param topology the network
 * @param source where it comes from, for messages
 * @return network and schedule
 * @throws InputError that names source, the place in it and what was expected
 */
ScheduleFile ReadMsccl(std::istream& in, const Topology& topology, const std::string& source);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MSCCL_FILE_H */
