/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RING_NETWORK_H
#define ALLREDUCE_RING_NETWORK_H

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/ring-embedding.h"

#include <cstdint>

namespace ns3::allreduce
{

/**
 * @brief The part of a network that a ring uses, and the ring's AllReduce there.
 *
 * The ring's servers are 0, 1, ... in its order; every other node on its paths, servers that only
 * relay too, counts as a switch. Several of these can share one network.
 */
struct RingNetwork
{
    Ptr<AllReduceNetwork> network; //!< the part
    AllReduceSchedule schedule; //!< each chunk goes round once to be summed and once to be copied
};

/**
 * @param whole the whole network
 * @param ring a ring of two servers or more
 * @param reservedBps what each hop of the ring may use of a link, in bit/s; 0: all there is
 * @return the part of it that the ring uses
 */
RingNetwork MakeRingNetwork(const AllReduceNetwork& whole,
                            const RingEmbedding& ring,
                            uint64_t reservedBps);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RING_NETWORK_H */
