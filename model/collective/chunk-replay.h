/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CHUNK_REPLAY_H
#define ALLREDUCE_CHUNK_REPLAY_H

#include "contribution-ledger.h"
#include "schedule-violation.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Follow the contributions to some chunks, each up to the first violation.
 *
 * @param start where all contributions are at the start
 * @param rounds all rounds
 * @param roundsEnd how they must end
 * @param first the first of the chunks
 * @param end the one after the last
 * @param [in,out] violation where violations go
 */
void ReplayChunks(const ContributionLedger& start,
                  RoundRange rounds,
                  RoundsEnd roundsEnd,
                  ChunkId first,
                  ChunkId end,
                  FirstViolation& violation);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CHUNK_REPLAY_H */
