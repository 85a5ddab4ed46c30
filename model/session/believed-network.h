/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_BELIEVED_NETWORK_H
#define ALLREDUCE_BELIEVED_NETWORK_H

#include "ns3/allreduce-topology.h"
#include "ns3/collective.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A network as flows show it, made for planners.
struct BelievedNetwork
{
    Topology topology;           //!< with the rates that links seem to have, and their capacities
    std::vector<LinkId> useless; //!< so slow that plans had better leave them out
};

/**
 * @ingroup allreduce
 *
 * @param announced the network as announced
 * @param believedBps by directed link: the rate that it seems to have
 * @return the network with these rates, of both directions the lower one, and capacities as
 * announced
 */
Topology MakeWithRates(const Topology& announced, const std::vector<uint64_t>& believedBps);

/**
 * @ingroup allreduce
 *
 * A plan sends chunks over a slow link as over any other, and a round takes as long as there: with
 * few chunks much is lost that way. So rates are rounded to the announced ones over powers of two,
 * and a link that has become much slower is left out if others
 * need hardly more time without it.
 *
 * @param announced the network as announced
 * @param believedBps by directed link: the rate that it seems to have
 * @param collective what is to be summed where
 * @param bytes size of all chunks
 * @return the network to plan for
 */
BelievedNetwork MakeBelievedNetwork(const Topology& announced,
                                    const std::vector<uint64_t>& believedBps,
                                    const Collective& collective,
                                    uint64_t bytes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_BELIEVED_NETWORK_H */
