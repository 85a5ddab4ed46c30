/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LINK_FAULTS_H
#define ALLREDUCE_LINK_FAULTS_H

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-topology.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A link that breaks during a run, and perhaps is mended.
struct LinkFault
{
    LinkId link{0};         //!< the link
    Time down;              //!< when it breaks
    std::optional<Time> up; //!< when it is mended, if it is
};

/**
 * @ingroup allreduce
 *
 * Let links break and be mended during the simulation.
 *
 * @param network the network
 * @param faults which links, and when
 */
void ScheduleFaults(Ptr<AllReduceNetwork> network, const std::vector<LinkFault>& faults);

/**
 * @ingroup allreduce
 *
 * @param faults links that were to break
 * @return how many of them were to break after now
 */
uint32_t CountLateFaults(const std::vector<LinkFault>& faults);

/**
 * @ingroup allreduce
 *
 * Draw links that break at times from 0 to a horizon. About every second one is mended after at
 * most half as long.
 *
 * @param topology the network
 * @param count how many links; at most all of them
 * @param seed the random seed
 * @param horizon before this time they break
 * @return the faults
 */
std::vector<LinkFault> DrawFaults(const Topology& topology,
                                  uint32_t count,
                                  uint64_t seed,
                                  Time horizon);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LINK_FAULTS_H */
