/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_REDUCE_GROWTH_H
#define ALLREDUCE_REDUCE_GROWTH_H

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief How fast the contributions to one chunk can come together, at best.
 *
 * Let G(v, t) be the most servers' contributions that server v can hold of one chunk after t
 * rounds. G(v, 0) = 1. What arrives in round t has been sent by servers that held it after round t
 * - 1, and a port of capacity c takes in c workloads, so G(v, t) is at most
 *
 * - the number of servers that t workloads, one after another, join with v, and
 * - G(v, t - 1) + the sum over the ports of v of c times the largest G(u, t - 1) of the servers u
 *   from which the port can be reached over switches.
 */
class ReduceGrowth
{
  public:
    /// @param topology a connected network
    explicit ReduceGrowth(const Topology& topology);

    /**
     * @param server a server
     * @param nRounds a number of rounds
     * @return G: the most contributions that it holds after so many rounds
     */
    uint32_t GetMost(NodeId server, uint32_t nRounds) const;

    /**
     * @param root a server
     * @return the first round after which a sum can be final there. As long, at least, a final sum
     *         takes from there to all servers: its broadcasts, backwards in time, are reduces.
     */
    uint32_t GetFinalRound(NodeId root) const;

  private:
    /// The servers that some switches join, and the two of them that hold most.
    struct Segment
    {
        uint32_t most{0};   //!< the largest number of contributions
        NodeId holder{0};   //!< who holds it
        uint32_t second{0}; //!< the largest of the others
    };

    /// Count the servers around every server, by hops.
    void CountNear(const Topology& topology);
    /// Tell apart the groups of switches that are joined with each other.
    void FindSegments(const Topology& topology);
    /// Find for every segment who holds most after the last round.
    void FindLargest(const Topology& topology);
    /// @return G after one more round, not regarding who is near
    uint64_t Grow(const Topology& topology, NodeId server) const;

    uint32_t m_nServers;                       //!< number of servers
    std::vector<std::vector<uint32_t>> m_near; //!< by server and rounds: who is so near
    std::vector<uint32_t> m_segmentOf;         //!< by switch, counted from 0
    std::vector<Segment> m_segments;           //!< groups of switches
    std::vector<std::vector<uint32_t>> m_most; //!< by rounds and server: G
    std::vector<uint32_t> m_finalRound;        //!< by server
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_REDUCE_GROWTH_H */
