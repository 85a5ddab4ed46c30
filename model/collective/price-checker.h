/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PRICE_CHECKER_H
#define ALLREDUCE_PRICE_CHECKER_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A claim that an AllReduce takes so many rounds, with link prices as its proof.
struct PriceClaim
{
    uint64_t nChunks{0};          //!< chunks of the AllReduce
    std::vector<uint64_t> prices; //!< by link, the same in both directions
    uint64_t treePrice{0};        //!< no spanning tree of the servers over switches is cheaper
    uint64_t widthPrice{0};       //!< the sum of capacity * price over all links is not larger
    uint64_t rounds{0};           //!< hence no schedule takes fewer rounds
};

/**
 * @ingroup allreduce
 *
 * Prove or refute a claim: with exact integers, one spanning tree, and no code of whoever found the
 * prices. See FindLinkPrices for why rounds >= nChunks * treePrice / widthPrice holds.
 *
 * @param topology the network, its servers connected
 * @param claim what is claimed
 * @return what is wrong with it, in a line; empty if the claim is proven
 */
std::string FindFlaw(const Topology& topology, const PriceClaim& claim);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PRICE_CHECKER_H */
