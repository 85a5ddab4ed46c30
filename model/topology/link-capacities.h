/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LINK_CAPACITIES_H
#define ALLREDUCE_LINK_CAPACITIES_H

#include "allreduce-topology.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// How much of its rate a link may lose before DeriveCapacities tries smaller unit flows, in %.
constexpr uint32_t MOST_ROUNDING_LOSS_PERCENT = 5;

/**
 * @ingroup allreduce
 *
 * @brief What is lost because a link carries whole unit flows only.
 */
struct CapacityRounding
{
    double unitRateBps{0}; //!< what a unit flow may send, in bit/s
    double worstLoss{0};   //!< share of its rate that worstLink cannot use, 0 to 1
    LinkId worstLink{0};   //!< the link that loses most
};

/**
 * @ingroup allreduce
 *
 * Set every link's capacity to the number of unit flows that its rate has room for, rounded down
 * and at most TopologyBuilder::MAX_CAPACITY. The unit rate is a k-th of the slowest link's rate,
 * with the smallest k of 1 to 16 for which no link loses more than MOST_ROUNDING_LOSS_PERCENT of
 * its rate, or, if there is none, the one for which the link that loses most loses least.
 *
 * So rates of 10, 25 and 100 Gb/s give 2, 5 and 20; equal rates give 1.
 *
 * @param [in,out] links the links, their rates above 0
 */
void DeriveCapacities(std::vector<Link>& links);

/**
 * @ingroup allreduce
 *
 * The link that unit flows fill exactly: none has less rate for each of its unit flows.
 *
 * @param links one link or more, their capacities above 0
 * @return the first such link
 */
const Link& FindUnitLink(const std::vector<Link>& links);

/**
 * @ingroup allreduce
 *
 * @param rateBps the rate of a link in bit/s
 * @param unit a link that unit flows fill exactly
 * @return the number of unit flows that the rate has room for, at most
 *         TopologyBuilder::MAX_CAPACITY; 0 if it has not room for one
 */
uint32_t CountUnitFlows(uint64_t rateBps, const Link& unit);

/**
 * @ingroup allreduce
 *
 * Check that capacities and rates say the same: that there is a unit rate of which each link
 * carries as many as it has room for.
 *
 * @param links the links, their rates and capacities above 0
 * @param source where they come from, for the message
 * @throws InputError that names source, a link that contradicts another, and what was expected
 */
void CheckCapacities(const std::vector<Link>& links, const std::string& source);

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @return what whole unit flows cost in it; nothing if it has no links
 */
CapacityRounding ComputeCapacityRounding(const Topology& topology);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LINK_CAPACITIES_H */
