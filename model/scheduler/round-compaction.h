/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_COMPACTION_H
#define ALLREDUCE_ROUND_COMPACTION_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-workload.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Drop reduces of servers that hold nothing: of relays on which nobody relied; and rounds that are
 * then empty.
 *
 * @param state where the rounds begin
 * @param rounds the rounds
 * @return the rounds without
 */
std::vector<WorkloadList> DropEmptyReduces(const AllReduceState& state,
                                           const std::vector<WorkloadList>& rounds);

/**
 * @ingroup allreduce
 *
 * Send each workload as early as its data and its links allow, those of earlier rounds first.
 *
 * @param state where the rounds begin
 * @param rounds workloads in an order in which data allows them; links may be over their capacity
 * @return rounds in which no link is
 */
std::vector<WorkloadList> Compact(const AllReduceState& state,
                                  const std::vector<WorkloadList>& rounds);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_COMPACTION_H */
