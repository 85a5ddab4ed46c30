/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_CUT_SERVERS_H
#define ALLREDUCE_CUT_SERVERS_H

#include "ns3/allreduce-topology.h"
#include "ns3/bit-matrix.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Finds the servers without which the others of a set are no longer joined.
 *
 * These are the articulation points of the graph that the set induces, by depth-first search with
 * low points. It is asked after every reduce that is picked, on bits that are already there;
 * Boost's algorithm would have to be given a graph each time.
 */
class CutServers
{
  public:
    /// @param joined [server][server]: who can send to whom; must outlive this
    explicit CutServers(const BitMatrix& joined);

    /**
     * @param members bits of the servers in the set
     * @param first where to begin; a member that stays in the set, so that it is not looked at
     * @return bits of the members that must not leave
     */
    const std::vector<uint64_t>& Find(const uint64_t* members, NodeId first);

  private:
    void Visit(NodeId server, bool isStart);

    const BitMatrix& m_joined;       //!< who can send to whom
    const uint64_t* m_members{};     //!< the present set
    uint32_t m_time{0};              //!< servers visited
    std::vector<uint32_t> m_visited; //!< by server: when; 0: not yet
    std::vector<uint32_t> m_low;     //!< by server: earliest that is reached from below it
    std::vector<uint64_t> m_cuts;    //!< what was found
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_CUT_SERVERS_H */
