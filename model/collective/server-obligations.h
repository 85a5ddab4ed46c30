/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SERVER_OBLIGATIONS_H
#define ALLREDUCE_SERVER_OBLIGATIONS_H

#include "collective.h"
#include "ideal-time.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a server must send to others, or receive from them.
struct Obligation
{
    uint64_t bytes{0};     //!< how much
    int64_t delayNs{0};    //!< the least time that its last byte travels, whichever that is
    int64_t farthestNs{0}; //!< how long some byte travels
    NodeId farthest{0};    //!< to or from whom
};

/// @ingroup allreduce
/// What a collective asks of one server.
struct ServerObligations
{
    Obligation toSend;    //!< its own data, to others
    Obligation toReceive; //!< sums, from others
};

/// @ingroup allreduce
/// What a collective asks of all servers, and how far they are apart.
struct ObligationList
{
    std::vector<ServerObligations> servers;                    //!< by server
    int64_t leastDelayNs{std::numeric_limits<int64_t>::max()}; //!< of a path between two of them
};

/**
 * @ingroup allreduce
 *
 * @param topology a connected network
 * @param collective what is to be summed where
 * @param bytes size of all chunks, 1 or more
 * @return what it asks of the servers
 */
ObligationList ListObligations(const Topology& topology,
                               const Collective& collective,
                               uint64_t bytes);

/**
 * @ingroup allreduce
 *
 * Make the latency of an ideal longer, if that is what a server's obligation takes.
 *
 * @param server whose obligation it is
 * @param obligation what it must send or receive; of no bytes: it asks for nothing
 * @param passing for how many seconds all of that passes the server's ports
 * @param ideal gets the latency and what it is about
 */
void NoteLatency(NodeId server, const Obligation& obligation, double passing, IdealTime& ideal);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SERVER_OBLIGATIONS_H */
