/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PATH_CHECKER_H
#define ALLREDUCE_PATH_CHECKER_H

#include "contribution-ledger.h"
#include "schedule-violation.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Check the paths of some rounds against the network, up to the first violation.
 *
 * @param start knows the network and which links are up
 * @param rounds all rounds
 * @param first the first of those to check
 * @param end the one after the last
 * @param [in,out] violation where violations go
 */
void CheckPaths(const ContributionLedger& start,
                RoundRange rounds,
                uint32_t first,
                uint32_t end,
                FirstViolation& violation);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PATH_CHECKER_H */
