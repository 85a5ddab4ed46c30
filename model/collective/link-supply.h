/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LINK_SUPPLY_H
#define ALLREDUCE_LINK_SUPPLY_H

#include "ns3/allreduce-topology.h"
#include "ns3/rate-change.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What links can carry over time, by direction, if their rates change. Time begins at 0.
 */
class LinkSupply
{
  public:
    /// A direction of a link, from some time on.
    struct Part
    {
        DirectedLinkId link{0}; //!< which
        int64_t fromNs{0};      //!< what it could carry before does not count
    };

    /**
     * With a *slack* a link may be faster than it is: at any time it has the largest of the rates
     * that it has from then on until so much later. So between any times t and t + s, t at most the
     * slack, it carries no more than this says of the times between 0 and s.
     *
     * @param topology the network; its rates are those at first
     * @param changes in any order of links, but of ascending times; those before 0 count from 0 on
     * @param slackNs how much later, 0: rates as they are
     * @throws InputError if there is no such link, a rate is too large, or times are not ascending
     */
    LinkSupply(const Topology& topology,
               const std::vector<RateChange>& changes,
               int64_t slackNs = 0);

    /**
     * @param parts directions of links; one that is there twice counts twice
     * @param bits more than 0
     * @return for how many seconds, from each part's time on, they need to carry so many bits
     *         together; infinity if they never do
     */
    double FindSeconds(const std::vector<Part>& parts, double bits) const;

    /**
     * @param seconds how long, from 0 on; 0: the rates are those at 0
     * @return by directed link: its mean rate, rounded up, 1 or more
     */
    std::vector<uint64_t> ComputeMeanRates(double seconds) const;

  private:
    /// A rate, from some time on.
    struct Step
    {
        int64_t atNs;     //!< since when
        uint64_t rateBps; //!< how fast
    };

    using Steps = std::vector<Step>; // ascending, the first one at 0

    void Add(const Topology& topology, const RateChange& change);
    static Steps Hasten(const Steps& steps, int64_t slackNs);
    static double ComputeMeanRate(const Steps& steps, double seconds);

    std::vector<Steps> m_steps; //!< by directed link
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LINK_SUPPLY_H */
