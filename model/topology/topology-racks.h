/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TOPOLOGY_RACKS_H
#define ALLREDUCE_TOPOLOGY_RACKS_H

#include "allreduce-topology.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Which servers and switches stand together.
 */
struct Racks
{
    /// Stands for a switch that belongs to no rack.
    static constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max();

    uint32_t count{0};            //!< how many racks there are, numbered by their first servers
    std::vector<uint32_t> rackOf; //!< by node: its rack; of every server, and of some switches
};

/**
 * @ingroup allreduce
 *
 * Find racks in any network: servers with the same switches are one. A server that shares its
 * switches with no other joins those at its first switch; without a switch it is a rack by itself.
 * A switch belongs to a rack if all of its servers do.
 *
 * @param topology a network
 * @return its racks
 */
Racks FindRacks(const Topology& topology);

/**
 * @ingroup allreduce
 *
 * Places for a network that came without: servers in a row, those of a rack together, the rack's
 * switches above them, and the other switches above these, the higher the further away servers are.
 * Where a link would lead over nodes of its row, rows become circles around each other, with the
 * servers on the largest.
 *
 * @param topology a network
 * @return by node its place
 */
std::vector<Position> PlaceByRacks(const Topology& topology);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TOPOLOGY_RACKS_H */
