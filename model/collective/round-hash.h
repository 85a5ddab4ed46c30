/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_HASH_H
#define ALLREDUCE_ROUND_HASH_H

#include "allreduce-schedule.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * A number that says whether two rounds are the same: chunk, kind, path and contributors of every
 * workload, and their order.
 *
 * @param round a round
 * @return the number
 */
uint64_t HashRound(const WorkloadList& round);

/**
 * @ingroup allreduce
 *
 * @param hashes the numbers of rounds, in order
 * @return the number of the rounds together
 */
uint64_t CombineHashes(const std::vector<uint64_t>& hashes);

/**
 * @ingroup allreduce
 *
 * A number that says whether two plans are the same: their rounds, in order.
 *
 * @param rounds the rounds
 * @return the number
 */
uint64_t HashRounds(RoundRange rounds);

/**
 * @ingroup allreduce
 *
 * @param hash a number
 * @return its 16 hexadecimal digits
 */
std::string FormatHash(uint64_t hash);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_HASH_H */
