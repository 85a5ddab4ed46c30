/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_FOREST_PACKING_H
#define ALLREDUCE_FOREST_PACKING_H

#include "ns3/allreduce-state.h"
#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/collective.h"
#include "ns3/path-table.h"
#include "ns3/planning-progress.h"
#include "ns3/timetable.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Flow-trees for each chunk: one that partial sums go up along, one that final sums come down
/// along. Indices are chunk * servers + server.
struct Forest
{
    /// @param topology the network, which must outlive the forest
    explicit Forest(const Topology& topology)
        : paths(topology)
    {
    }

    PathTable paths; //!< the edges of the trees
    /// By half (UP, DOWN) and index: NO_PATH of roots and who is not in the tree.
    std::array<std::vector<PathId>, 2> toParent;
    std::vector<uint32_t> holders; //!< indices: who may have the sum at first; not all roots
    double load{0};                //!< rounds in which the busiest link carries all trees
};

/// @ingroup allreduce
/// In which directions packing expects a tree to load its links.
enum class LinkLoads
{
    BOTH_WAYS, //!< a reduce and a broadcast, as in an AllReduce
    AS_USED    //!< the one of the two that a chunk needs, if it needs only one
};

/**
 * @ingroup allreduce
 *
 * Choose flow-trees that load no link much more than they must. The busiest link comes within a few
 * per cent of what link prices prove that some link must carry.
 *
 * One tree after another grows from its root. A server is joined over the cheapest path of
 * switches. A link's price grows exponentially with the trees that it already carries, for its
 * capacity (Garg and Koenemann: multiplicative weights). So servers without slack become leaves by
 * themselves. Trees are near the cheapest spanning trees, but shallow: prices rise while a tree
 * grows, because a single tree may pass a link many times, and depth has a price, because every
 * level delays a chunk. ChooseMiddle has the same kind of prices, but fixes them while a tree
 * grows, and chooses each chunk's trees several times.
 *
 * The tree of a chunk joins its contributors and its receivers. Other servers are in it only if a
 * path to one of these over them is the cheapest.
 *
 * In large networks several chunks of all servers share a tree, each rooted at its own server:
 * reduce and broadcast together pass each link of a tree once in each direction wherever the root
 * is.
 *
 * @param topology the network
 * @param collective what is to be summed where
 * @param order the chunks in the order in which they are worked on; those that are worked on at
 * the same time get trees that complement each other
 * @param progress where it is said how many trees there are
 * @param loads how trees load links; the same for AllReduces
 * @return the trees
 * @throws InputError if two servers cannot reach each other
 */
Forest PackForest(const Topology& topology,
                  const Collective& collective,
                  const std::vector<ChunkId>& order,
                  const PlanningProgress& progress = {},
                  LinkLoads loads = LinkLoads::BOTH_WAYS);

/**
 * @ingroup allreduce
 *
 * Choose flow-trees for what is left of a collective, as PackForest does. A chunk's trees differ:
 * one joins the servers that hold a part of the sum to the root, the other one those that lack the
 * sum to the root or, if the sum is final, each to one of its holders.
 *
 * @param topology the network, with the links that are up only
 * @param state any state in which no workload is in flight
 * @param order see PackForest
 * @param progress where it is said how many trees there are
 * @return the trees
 * @throws InputError if servers are cut off
 */
Forest PackRemainder(const Topology& topology,
                     const AllReduceState& state,
                     const std::vector<ChunkId>& order,
                     const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_FOREST_PACKING_H */
