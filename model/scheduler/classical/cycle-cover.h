/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CYCLE_COVER_H
#define ALLREDUCE_CYCLE_COVER_H

#include "ns3/allreduce-topology.h"
#include "ns3/random-source.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief A *cover*: every server sends to one server and receives from one, so that all are in
 * cycles.
 *
 * By server: the path of switches to its successor. A server may be its own successor, over a
 * switch and back.
 */
using CycleCover = std::vector<Path>;

/// @ingroup allreduce
/// What covers look like.
enum class CoverStyle
{
    REGULAR, //!< in regular networks, one is like the other: along a dimension, or at a level
    RANDOM   //!< at random
};

/**
 * @ingroup allreduce
 *
 * Find covers that together exceed no link's capacity. A maximum flow lets every server send and
 * receive a unit for each cover. Its paths are the edges of a regular bipartite graph, of which an
 * edge colouring (Koenig) makes covers.
 *
 * @param topology the network
 * @param capacities by directed link: how many covers may use it
 * @param nCovers how many covers
 * @param style which covers are preferred
 * @param random decides between the many
 * @return the covers, unless the links do not allow so many
 */
std::optional<std::vector<CycleCover>> FindCycleCovers(const Topology& topology,
                                                       const std::vector<uint32_t>& capacities,
                                                       uint32_t nCovers,
                                                       CoverStyle style,
                                                       PlannerRandom& random);

/**
 * @ingroup allreduce
 *
 * @param cover a cover
 * @param [out] cycleOf by server: the number of its cycle
 * @return how many cycles there are
 */
uint32_t CountCycles(const CycleCover& cover, std::vector<uint32_t>& cycleOf);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CYCLE_COVER_H */
