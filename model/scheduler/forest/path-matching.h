/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PATH_MATCHING_H
#define ALLREDUCE_PATH_MATCHING_H

#include "ns3/allreduce-topology.h"
#include "ns3/path-table.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Chooses the paths that carry a workload in a round, such that busy links do not idle.
 *
 * A workload needs all links of its path in the same round. Where every link is needed in every
 * round, taking paths in any order until nothing fits leaves some links idle, although other paths
 * would use them all; at a single switch this is a matching of its inputs and outputs that cannot
 * be extended, but is not the largest. So the first choice is improved as matchings are, along
 * alternating paths: an idle link gets a path through it, the one in its way leaves, and the links
 * that are now idle get others in turn.
 */
class PathMatching
{
  public:
    /// The index of a path: half of its PathId. The reversed paths are not used.
    using Index = uint32_t;

    /**
     * @param topology the network, which must outlive the matching
     * @param paths the paths, no two of which are the same; must outlive the matching
     */
    PathMatching(const Topology& topology, const PathTable& paths);

    /**
     * Choose the paths of a round.
     *
     * @param order the paths on which workloads wait, those that are to be used first in front
     * @param nWaiting by path: how many wait
     * @param load by directed link: what it has yet to carry, for its capacity; links with more are
     * kept busy at the cost of those with less
     * @return by path: how many workloads it carries
     */
    const std::vector<uint32_t>& Choose(const std::vector<Index>& order,
                                        const std::vector<uint32_t>& nWaiting,
                                        const std::vector<double>& load);

  private:
    static constexpr Index NOBODY = UINT32_MAX; //!< no path is in the way

    PathTable::Links GetLinks(Index path) const
    {
        return m_paths.GetLinks(2 * path);
    }

    /// @return whether a workload waits that has not been chosen
    bool IsWaiting(Index path) const
    {
        return (*m_nWaiting)[path] > m_nChosen[path];
    }

    /// Nothing is chosen, and all links have room.
    void BeginRound();
    bool Fits(Index path) const;
    /// Choose a path once more.
    void Take(Index path);
    /// Choose a path once less.
    void Drop(Index path);
    /// @return what the links of a path have yet to carry
    double GetLoad(Index path) const;
    /// Make m_idle the busy links that idle, those with most load first.
    void ListIdleLinks();
    /**
     * Use a link that idles.
     *
     * @param link it has room
     * @param gain the load of links used so far less that of links no longer used
     * @param nSteps so many more paths may give way
     * @return whether links with more load are used now; nothing has changed otherwise
     */
    bool Use(DirectedLinkId link, double gain, uint32_t nSteps);
    /**
     * @param path a path
     * @param [out] rival if one path less makes room for it: that path; NOBODY if there is room
     * @return whether at most one path is in its way
     */
    bool FindRival(Index path, Index& rival) const;
    /// @return the path through a link that is missed least, other than this one
    Index FindWeakest(DirectedLinkId link, Index other) const;

    const Topology& m_topology;
    const PathTable& m_paths;
    std::vector<std::vector<Index>> m_through;        //!< by directed link
    const std::vector<uint32_t>* m_nWaiting{nullptr}; //!< by path: for Choose
    const std::vector<double>* m_load{nullptr};       //!< by directed link: for Choose
    std::vector<uint32_t> m_nChosen;                  //!< by path
    std::vector<uint32_t> m_room;                     //!< by directed link
    std::vector<std::vector<Index>> m_carries;        //!< by directed link: paths that are chosen
    std::vector<DirectedLinkId> m_idle;               //!< links to use, one after another
    std::vector<uint32_t> m_triedIn;                  //!< by path: the last search that tried it
    uint32_t m_search{0};                             //!< its number
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PATH_MATCHING_H */
