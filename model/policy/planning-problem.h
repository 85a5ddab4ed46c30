/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_PROBLEM_H
#define ALLREDUCE_PLANNING_PROBLEM_H

#include "ns3/allreduce-topology.h"
#include "ns3/allreduce-workload.h"
#include "ns3/bit-matrix.h"
#include "ns3/broadcast-problem.h"
#include "ns3/link-prices.h"
#include "ns3/plan-middle.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * @brief What the two policies plan: an AllReduce from some state on to its end.
 *
 * A chunk is *final* if its sum is complete and some servers hold it. It is *open* if there are
 * partial sums yet: they lie on a tree and go up along it, until the sum is complete at the root.
 * The *core* of a chunk are the servers that hold its sum, or that have a partial sum of it, when
 * planning begins. Two chunks with the same root and core, one open and one final, are *partners*
 * if the plan of one is the mirror image of the other's (see PlanMiddle).
 */
struct PlanningProblem
{
    const Topology* topology{nullptr}; //!< the network; must outlive the problem
    std::vector<uint32_t> capacity;    //!< by directed link: unit flows a round; 0 is down
    std::vector<NodeId> roots;         //!< by chunk
    std::vector<bool> isOpen;          //!< by chunk; else final
    /// By chunk and server. Final: the holders have an entry other than NO_SERVER. Open: where a
    /// server sends its partial sum, the root's own is the root, NO_SERVER if it has none.
    std::vector<std::vector<NodeId>> parents;
    /// By chunk: its partner, or NO_CHUNK. A server in the core of partners may leave it, as long
    /// as it has sent neither: it receives the final one and then has no part in the open one.
    std::vector<ChunkId> partners;
    /// Likewise for final chunks without a partner, if the other half is planned after this one.
    bool mayCoresShrink{false};
    /// [server][chunk]: wants the sum. No rows: all servers want all chunks.
    BitMatrix wants;
    std::vector<float> prices;    //!< by link: in the proof of the bound, against the largest
    std::vector<uint32_t> partOf; //!< by server: its part in that proof (see PriceBound)
    uint32_t nParts{1};           //!< how many parts there are
    /// By chunk: the round after which its sum is to be final (see PlanOutline). Empty: not known.
    std::vector<uint32_t> due;
    uint32_t nRoundsDone{0}; //!< rounds of the AllReduce before this problem
    uint32_t nRounds{0};     //!< rounds to be hoped for, those among them; 0: as few as possible

    /// @return the number of chunks
    uint32_t GetNChunks() const
    {
        return roots.size();
    }
};

/// @ingroup allreduce
/// Fill in the prices of the problem's network. @param [in,out] problem the problem
/// @param bound the prices; finding them takes long, so do it once for a network
void SetPrices(PlanningProblem& problem, const PriceBound& bound);

/// @ingroup allreduce
/// @param topology the network; must outlive the problem @param roots by chunk: its root
/// @param middle the middle of a plan @param nRounds rounds that the half is hoped to take
/// @param prices of the network @return the second half
PlanningProblem MakeHalf(const Topology& topology,
                         const std::vector<NodeId>& roots,
                         const PlanMiddle& middle,
                         uint32_t nRounds,
                         const PriceBound& prices);

/// @ingroup allreduce
/// @param broadcast who holds which chunks and who wants them @return the same for the policies
PlanningProblem MakeBroadcast(const BroadcastProblem& broadcast);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNING_PROBLEM_H */
