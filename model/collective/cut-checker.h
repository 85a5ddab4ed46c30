/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CUT_CHECKER_H
#define ALLREDUCE_CUT_CHECKER_H

#include "collective.h"
#include "cut-bound.h"

#include "ns3/allreduce-topology.h"

#include <string>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Prove or refute that a collective takes crossings / width rounds, by counting, chunk by chunk and
 * server by server, with no code of whoever found the sides. See CutBound for why this is so.
 *
 * @param topology the network
 * @param collective the collective, of groups
 * @param bound what is claimed, for widths that are capacities
 * @return what is wrong with it, in a line; empty if it is proven
 */
std::string FindFlaw(const Topology& topology, const Collective& collective, const CutBound& bound);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CUT_CHECKER_H */
