/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LINK_SLOTS_H
#define ALLREDUCE_LINK_SLOTS_H

#include "path-table.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// In which rounds each directed link has room. A round is a bit, so that the first one in which
/// all links of a path have room is found 64 rounds at a time.
class LinkSlots
{
  public:
    /// Rounds that share a word of bits.
    static constexpr uint32_t WORD = 64;

    /// @param capacities by directed link: unit flows in a round
    explicit LinkSlots(std::vector<uint32_t> capacities);

    /// All links have room in all rounds again.
    void Clear();

    /**
     * @param link a directed link
     * @param word rounds word * WORD to word * WORD + WORD - 1
     * @return a bit for each of these rounds: whether the link has room
     */
    uint64_t GetRoom(DirectedLinkId link, uint32_t word) const
    {
        const std::vector<uint64_t>& room = m_room[link];
        return word < room.size() ? room[word] : ~uint64_t{0};
    }

    /// @param link a directed link @param round a round @return whether it has room
    bool HasRoom(DirectedLinkId link, uint32_t round) const
    {
        return GetRoom(link, round / WORD) >> (round % WORD) & 1;
    }

    /// @return the first round in which all links have room
    /// @param links directed links @param earliest the first round to look at
    uint32_t FindRound(PathTable::Links links, uint32_t earliest) const;

    /// Send a workload. @param links its links, which have room @param round its round
    void Take(PathTable::Links links, uint32_t round);

  private:
    void MarkFull(DirectedLinkId link, uint32_t round);

    std::vector<uint32_t> m_capacities;        //!< by directed link
    std::vector<std::vector<uint64_t>> m_room; //!< by directed link: bits; beyond them is room
    std::vector<std::vector<uint32_t>> m_used; //!< by directed link, if it is wide: by round
    std::vector<uint32_t> m_nFull;             //!< by directed link: so many first rounds are full
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LINK_SLOTS_H */
