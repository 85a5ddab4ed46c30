/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SENDER_SEARCH_H
#define ALLREDUCE_SENDER_SEARCH_H

#include "ns3/allreduce-topology.h"
#include "ns3/link-slots.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Finds who can send a sum to a server first, over links that have room.
 *
 * First it is found out for 64 rounds at once in which there may be a sender, then for one round
 * after another who it is.
 */
class SenderSearch
{
  public:
    /// @param topology the network, which must outlive the search
    explicit SenderSearch(const Topology& topology);

    /**
     * @param slots which links have room when
     * @param ready by server: from which round on it can send the sum
     * @param receiver the server that wants it
     * @param first the first round to look at
     * @param end not to be looked at any more
     * @param mostLinks no path longer than this
     * @return the first round with a sender, or end if none is found
     */
    uint32_t Find(const LinkSlots& slots,
                  const uint32_t* ready,
                  NodeId receiver,
                  uint32_t first,
                  uint32_t end,
                  std::size_t mostLinks);

    /// @return the path that was found last, from the receiver to the sender
    const std::vector<DirectedLinkId>& GetPath() const
    {
        return m_path;
    }

  private:
    /// @param word 64 rounds @param rounds of the word, as bits
    /// @return those in which there may be a sender; there is none in the others
    uint64_t FindRounds(uint32_t word, uint64_t rounds);
    /// @return whether m_path is now the path to a sender
    bool FindSender(uint32_t round);
    /// Make m_path the path that the search took to this link.
    void TracePath(DirectedLinkId last);

    const Topology& m_topology;
    const LinkSlots* m_slots{nullptr};  //!< see Find
    const uint32_t* m_ready{nullptr};   //!< see Find
    NodeId m_receiver{0};               //!< see Find
    std::size_t m_mostLinks{0};         //!< see Find
    uint32_t m_nLinksTried{0};          //!< for this receiver
    uint32_t m_search{0};               //!< the number of the present pass over the network
    std::vector<uint32_t> m_reachedIn;  //!< by node: the last pass that reached it
    std::vector<uint64_t> m_reachable;  //!< by node reached: in which rounds of a word
    std::vector<DirectedLinkId> m_last; //!< by switch reached: the last link of the path there
    std::vector<NodeId> m_queue;        //!< switches that were reached
    std::vector<DirectedLinkId> m_path; //!< see GetPath
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SENDER_SEARCH_H */
