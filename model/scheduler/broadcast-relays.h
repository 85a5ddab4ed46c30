/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BROADCAST_RELAYS_H
#define ALLREDUCE_BROADCAST_RELAYS_H

#include "broadcast-problem.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Find out which servers must receive what, so that every wanted chunk can spread from its holders
 * by transfers that only switches lie between: those that want a chunk and, where these are not
 * enough, as few others as lie on shortest ways to them, which relay it.
 *
 * @param problem who holds and wants what, and the network
 * @return [server][chunk]: wants it, or relays it
 * @throws InputError that names a chunk and a server which wants it, if no links that are up lead
 *         there from a holder
 */
BitMatrix FindReceivers(const BroadcastProblem& problem);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BROADCAST_RELAYS_H */
