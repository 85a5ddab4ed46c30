/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_NETWORK_SURPRISES_H
#define ALLREDUCE_NETWORK_SURPRISES_H

#include "allreduce-experiment.h"
#include "link-faults.h"

#include "ns3/allreduce-topology.h"
#include "ns3/nstime.h"
#include "ns3/rate-change.h"

#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// All that a network does by itself during a run, drawn and in simulated time.
struct Surprises
{
    std::vector<LinkFault> faults;       //!< links that break
    std::vector<RateChange> rateChanges; //!< links that become slower, and recover
    std::vector<Burst> bursts;           //!< other traffic that takes its share
    std::vector<LateServer> lateServers; //!< servers that are ready later
};

/**
 * @ingroup allreduce
 *
 * Refuse what cannot happen on a network.
 *
 * @param topology the network
 * @param settings what goes wrong there
 * @throws InputError that names it
 */
void CheckSurprises(const Topology& topology, const ExperimentSettings& settings);

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param settings what goes wrong there, as CheckSurprises takes it
 * @param faultHorizon until when links break at random
 * @param burstHorizon until when bursts begin
 * @return what the settings say, and what is random drawn
 * @throws InputError if there are too many bursts
 */
Surprises DrawSurprises(const Topology& topology,
                        const ExperimentSettings& settings,
                        Time faultHorizon,
                        Time burstHorizon);

/**
 * @ingroup allreduce
 *
 * What links can carry over time, from all that happens together: a rate that has changed, less the
 * share of bursts; nothing while a link is down or one of its ends is a server that is not ready
 * yet. (A packet that is being sent when a link's rate changes keeps the rate with which it began:
 * a link can carry a packet more than this says for each change.)
 *
 * @param topology the network at first
 * @param surprises what happens
 * @param begin the time that counts as 0, as when the first AllReduce began; what has changed by
 *        then is so from 0 on
 * @return ascending in time, then by link; none for what is as in the topology
 */
std::vector<RateChange> ListCapacityChanges(const Topology& topology,
                                            const Surprises& surprises,
                                            Time begin = Time(0));

/**
 * @ingroup allreduce
 *
 * @param topology the network at first
 * @param surprises what happens
 * @return the rates that devices have: of changes and bursts, 1 bit/s or more, in simulated time
 */
std::vector<RateChange> ListRates(const Topology& topology, const Surprises& surprises);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_NETWORK_SURPRISES_H */
