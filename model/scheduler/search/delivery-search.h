/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DELIVERY_SEARCH_H
#define ALLREDUCE_DELIVERY_SEARCH_H

#include "search-paths.h"

#include "ns3/link-slots.h"
#include "ns3/random-source.h"
#include "ns3/timetable.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What a search works with.
struct SearchSetting
{
    const Topology& topology;         //!< the network
    const std::vector<NodeId>& roots; //!< the root of each chunk, which must outlive the search
    const SearchPaths& paths;         //!< the paths to choose from, which must outlive the search
    uint64_t seed;                    //!< random seed
};

/// @ingroup allreduce
/// A search for shorter plans, and what all of them have in common.
class DeliverySearch
{
  public:
    /// @param setting what to work with
    explicit DeliverySearch(const SearchSetting& setting)
        : m_roots(setting.roots),
          m_paths(setting.paths),
          m_nServers(setting.topology.GetNServers()),
          m_capacities(setting.topology.GetCapacities()),
          m_random(setting.seed)
    {
    }

    virtual ~DeliverySearch() = default;

    /**
     * Search for a while.
     *
     * @param [in,out] plan becomes shorter, or another one that is as long, or stays as it is
     * @param enough no fewer rounds are needed
     * @param effort how many places to look at
     */
    virtual void Shorten(Timetable& plan, uint32_t enough, uint64_t effort) = 0;

  protected:
    static constexpr uint32_t WORD = LinkSlots::WORD; //!< rounds that share a word of bits
    /// Of the paths to a server, so many are looked at.
    static constexpr uint32_t MOST_PATHS = 64;

    /// Look at some of the paths to a server, from a random one on.
    /// @param server the server @param visit called with each path
    template <typename Visit>
    void VisitPathsTo(NodeId server, Visit visit)
    {
        const std::vector<PathId>& paths = m_paths.GetPathsTo(server);
        const uint32_t nPaths = std::min<uint32_t>(paths.size(), MOST_PATHS);
        uint32_t next = m_random.Below(paths.size());
        m_effort += nPaths;
        for (uint32_t nVisited = 0; nVisited < nPaths; ++nVisited)
        {
            const PathId path = paths[next];
            next = next + 1 < paths.size() ? next + 1 : 0;
            visit(path);
        }
    }

    /// @return the first round in which all links of a path have room
    /// @param room by directed link and word: a bit for each round with room
    /// @param path the path @param earliest the first round to look at @param end none before this
    uint32_t FindRoom(const std::vector<uint64_t>& room,
                      PathId path,
                      uint32_t earliest,
                      uint32_t end) const
    {
        uint64_t possible = ~uint64_t{0} << (earliest % WORD);
        for (uint32_t word = earliest / WORD; word * WORD < end; ++word)
        {
            for (const DirectedLinkId link : m_paths.GetLinks(path))
            {
                possible &= room[link * m_nWords + word];
            }
            if (possible != 0)
            {
                return std::min<uint32_t>(end, word * WORD + __builtin_ctzll(possible));
            }
            possible = ~uint64_t{0};
        }
        return end;
    }

    const std::vector<NodeId>& m_roots;       //!< by chunk
    const SearchPaths& m_paths;               //!< to choose from
    const uint32_t m_nServers;                //!< number of servers
    const std::vector<uint32_t> m_capacities; //!< by directed link
    uint64_t m_effort{0};                     //!< places looked at
    uint32_t m_nWords{0};                     //!< words of bits for all rounds
    RandomSource<SplitMixEngine> m_random;    //!< random numbers
};

/**
 * @ingroup allreduce
 *
 * Takes a round out of a plan, and finds other places for what was sent in it (ejection chains).
 *
 * Deliveries that have no round are *open*. One after another is put where it ejects the fewest
 * others. These are open then, if they find a free round nowhere. Open deliveries leave the trees
 * below them where they are: whoever gets the sum later has to send it on in time. Others move
 * about meanwhile, if they eject nobody. The plan is a round shorter when no delivery is open.
 *
 * @param setting what to work with
 * @return the search
 */
std::unique_ptr<DeliverySearch> MakeEjectionSearch(const SearchSetting& setting);

/**
 * @ingroup allreduce
 *
 * Shortens plans by simulated annealing. A step moves some chunks to earlier or later rounds. The
 * moved plan is only an order of the deliveries. In this order they are placed anew, each in the
 * first round in which it can be sent: sums come down from whoever can send them first, if scarce
 * links are not the price of it. Then the same is done backwards. The result is kept if not more
 * deliveries lie beyond the rounds hoped for, and sometimes if they do.
 *
 * @param setting what to work with
 * @return the search
 */
std::unique_ptr<DeliverySearch> MakeAnnealingSearch(const SearchSetting& setting);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DELIVERY_SEARCH_H */
