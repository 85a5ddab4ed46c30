/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNING_STATE_H
#define ALLREDUCE_PLANNING_STATE_H

#include "chunk-spread.h"
#include "planning-problem.h"
#include "port-neighborhoods.h"
#include "reduce-trees.h"
#include "region-supply.h"

#include "ns3/bit-matrix.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a round led to, from which it is rewarded.
struct RoundOutcome
{
    uint32_t roundsNeeded;   //!< rounds in all, at least, after this one
    double meanRoundsNeeded; //!< the same, if all servers could share the work
    double idleShare;        //!< share of in-ports that idled though there was work for them
};

/**
 * @ingroup allreduce
 * @brief How far a plan has come: what servers have and must receive, and what links still take in
 * this round.
 *
 * Only PlanningEnvironment changes it; everybody else gets it as const. The data is public because
 * the features (PolicyView) read most of it. Copies share what does not change.
 */
class PlanningState
{
  public:
    /// A server that left the core of a chunk.
    using Departure = std::pair<NodeId, ChunkId>;

    /// @param planned must outlive the state
    explicit PlanningState(const PlanningProblem& planned);

    /// Begin a round: what has arrived can be sent on.
    void BeginRound();

    /// Put a workload on a link. @param link the link @return how many more it takes in this round
    uint32_t UseLink(DirectedLinkId link)
    {
        return --free[link];
    }

    /// Send a partial sum to the sender's parent. @param sender the sender @param chunk the chunk
    void SendPartial(NodeId sender, ChunkId chunk);

    /// @param sender has a final sum @param receiver gets it @param chunk the chunk
    void SendFinal(NodeId sender, NodeId receiver, ChunkId chunk);

    /// Likewise, but the receiver had the sum: by receiving it instead, it leaves the core.
    /// @param sender the sender @param receiver the receiver @param chunk the chunk
    void SendFinalToLeaver(NodeId sender, NodeId receiver, ChunkId chunk);

    /// End the round: what was sent arrives. @return what the round led to
    RoundOutcome EndRound();

    /// @return how many rounds the plan takes at least, from what each server misses
    uint32_t CountRoundsNeeded() const;

    /// @return the rounds after this one until the target; negative if it is missed
    int64_t CountRoundsAfter() const
    {
        return static_cast<int64_t>(target) - round;
    }

    /// @return workloads that a server can receive until the target beyond those that it must
    /// @param server the server
    int64_t CountSlack(NodeId server) const
    {
        return CountRoundsAfter() * network->inCapacity[server] + nFreeIn[server] -
               static_cast<int64_t>(nMissing[server]);
    }

    const PlanningProblem& problem;                   //!< what is planned
    const Topology& topology;                         //!< the network
    std::shared_ptr<const PortNeighborhoods> network; //!< the network, as in-ports see it
    const uint32_t nServers;                          //!< their number
    const uint32_t nChunks;                           //!< their number
    uint32_t totalInCapacity{0};   //!< of all servers: workloads that they receive in a round
    uint32_t largestInCapacity{0}; //!< of a server

    uint32_t round{0};                 //!< rounds begun
    uint32_t target{0};                //!< rounds that the plan should take
    uint32_t firstTarget{0};           //!< the target at the start
    uint64_t nTransfersLeft{0};        //!< sum of nMissing
    std::vector<uint32_t> nMissing;    //!< by server: workloads that it must yet receive
    std::vector<uint32_t> nFreeIn;     //!< by server: workloads that it takes in this round
    std::vector<uint32_t> free;        //!< by directed link: workloads that it still takes
    ReduceTrees trees;                 //!< partial sums that have not arrived
    ChunkSpread spread;                //!< who has, or is sent, which final sum
    RegionSupply regions;              //!< what comes into regions
    BitMatrix isInPart;                //!< [part][chunk]: somebody there has, or is sent, the sum
    BitMatrix sendable;                //!< [server][chunk]: can send the final sum now
    BitMatrix refused;                 //!< [server][chunk]: has the final sum, or is sent it
    BitMatrix mayLeave;                //!< [server][chunk]: may leave the chunk's core
    bool canAnyLeave{false};           //!< some bit of mayLeave was set
    std::vector<Departure> departures; //!< from the cores of final chunks without partner
    double meanHolders{1};             //!< of a final sum, at the beginning of the round
    std::vector<uint32_t> nHoldersBefore; //!< by chunk, at the beginning of the round

  private:
    void CountCoreChildren();
    void TakeChunk(ChunkId chunk);
    void AddHolder(NodeId server, ChunkId chunk);
    void ReceiveOne(NodeId server);
    bool IsLeafOfCore(NodeId server, ChunkId chunk) const;
    void UpdateMayLeave(NodeId server, ChunkId chunk);
    void LeaveCore(NodeId server, ChunkId chunk);
    uint32_t CountRoundsToReceive(NodeId server) const;

    BitMatrix m_held;                  //!< [server][chunk]: can send the final sum next round
    BitMatrix m_hasSent;               //!< [server][chunk]: has sent the sum, so it must keep it
    std::vector<uint16_t> m_nChildren; //!< by final chunk and server: children in the core
    std::vector<std::pair<NodeId, ChunkId>> m_arriving; //!< partial sums of this round, by sender
    std::vector<ChunkId> m_completed;                   //!< chunks that this round makes final
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNING_STATE_H */
