/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_MIDDLE_H
#define ALLREDUCE_PLAN_MIDDLE_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"

#include <cstdint>
#include <limits>
#include <vector>

namespace ns3::allreduce
{

/// No server at all.
constexpr NodeId NO_SERVER = std::numeric_limits<NodeId>::max();
/// No chunk at all.
constexpr ChunkId NO_CHUNK = std::numeric_limits<ChunkId>::max();

/**
 * @ingroup allreduce
 *
 * @brief The state in the middle of a plan, from which both of its halves can be planned forwards.
 *
 * In the middle every chunk has a *core*: some servers, its root among them. A chunk is *settled*
 * if its sum is final and the core holds it; the others get it in the second half. A chunk is
 * *open* if all partial sums are at the core, one at each of its servers; the second half merges
 * them at the root and then broadcasts the sum.
 *
 * The second half is played forwards from this state. The first half, read backwards and with every
 * path reversed, is the same kind of problem, with settled and open exchanged: a broadcast read
 * backwards is a reduce. So both halves are planned by whoever can go on from such a state.
 *
 * Two chunks with the same root and the same core, one settled and one open, are *partners*. If all
 * chunks with more than their root in the core have partners, the first half is the mirror image of
 * the second one, with partners exchanged, and planning one half is enough.
 *
 * If all cores are roots alone, the halves do not overlap: reduce, then broadcast. The larger the
 * cores, the more of the broadcast of settled chunks lies beside the reduce of open ones. That is
 * what servers with fewer ports than others need: they have to receive in the first half, too.
 */
struct PlanMiddle
{
    /// By chunk and server: where the server sends its partial sum, if it is in the core; the
    /// root's own is the root; NO_SERVER outside of the core.
    std::vector<std::vector<NodeId>> parents;
    std::vector<bool> isOpen;      //!< by chunk: open in the second half; else settled
    std::vector<ChunkId> partners; //!< by chunk; NO_CHUNK if it has none
    bool isSymmetric{true};        //!< the first half is the mirror image of the second one
};

/**
 * @ingroup allreduce
 *
 * Choose small cores for a plan of so many rounds. In both halves no direction of a link should
 * have more to carry than it can.
 *
 * For each chunk two spanning trees are chosen: one that the sum takes in the half in which the
 * chunk is open, and one that joins the core in this half and the other servers in the other half.
 * Chunks are taken in turn, several times, and choose the cheapest trees under prices that grow
 * exponentially with what the others have put on a link: the multiplicative weights of Garg and
 * Koenemann. Which servers of the second tree are in the core, that is whether an edge carries a
 * partial sum up or a final sum down, is then decided exactly, from the leaves to the root.
 *
 * @param topology the network, servers connected
 * @param roots by chunk: its root
 * @param nRounds rounds of the whole plan
 * @param seed random seed
 * @return the middle
 */
PlanMiddle ChooseMiddle(const Topology& topology,
                        const std::vector<NodeId>& roots,
                        uint32_t nRounds,
                        uint64_t seed);

/// @ingroup allreduce
/// @param topology the network @param roots by chunk: its root
/// @return the middle of a plan whose halves do not overlap
PlanMiddle MakeBareMiddle(const Topology& topology, const std::vector<NodeId>& roots);

/// @ingroup allreduce
/// @param middle the middle of a plan @return the middle as the first half sees it, read backwards
PlanMiddle Mirror(const PlanMiddle& middle);

/**
 * @ingroup allreduce
 *
 * @param firstMirrored the first half, read backwards: from Mirror(middle) on
 * @param second the second half
 * @param partners by chunk: under which chunk the first half knows it; NO_CHUNK: itself
 * @return the whole plan
 */
std::vector<WorkloadList> JoinHalves(const std::vector<WorkloadList>& firstMirrored,
                                     const std::vector<WorkloadList>& second,
                                     const std::vector<ChunkId>& partners);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_MIDDLE_H */
