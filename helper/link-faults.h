/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_LINK_FAULTS_H
#define ALLREDUCE_LINK_FAULTS_H

#include "ns3/allreduce-network.h"
#include "ns3/allreduce-topology.h"
#include "ns3/nstime.h"
#include "ns3/rate-change.h"

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

/// @ingroup allreduce
/// Other traffic, which goes first, has a share of what one direction of a link can carry.
struct Burst
{
    DirectedLinkId link{0}; //!< which
    Time begin;             //!< from here on
    Time end;               //!< until then
    double load{0};         //!< its share of the rate, less than 1
};

/// @ingroup allreduce
/// Bursts of traffic on random links. Each link is busy and idle in turns, for exponential times.
struct BurstModel
{
    double share{0};  //!< of all directed links that have bursts
    double load{0};   //!< share of the rate that a burst takes, less than 1
    Time meanOn;      //!< how long a link is busy, more than 0
    Time meanOff;     //!< how long it is idle, more than 0
    uint64_t seed{1}; //!< the random seed
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

/**
 * @ingroup allreduce
 *
 * Draw bursts from time 0 to a horizon. A link that has bursts is busy at time 0 as likely as at
 * any other time. With a later horizon there are more bursts, and the others are the same: whoever
 * takes longer meets the same traffic.
 *
 * @param topology the network
 * @param model which links, how busy and for how long; at least one link has bursts
 * @param horizon before this time they begin
 * @return the bursts, by link and time
 * @throws InputError if there would be more than a million
 */
std::vector<Burst> DrawBursts(const Topology& topology, const BurstModel& model, Time horizon);

/**
 * @ingroup allreduce
 *
 * Let links become slower or faster during the simulation; those that have changed by now do so at
 * once.
 *
 * @param network the network
 * @param changes rates of 1 bit/s or more; of those of a link at the same time the last one counts
 */
void ScheduleRateChanges(Ptr<AllReduceNetwork> network, const std::vector<RateChange>& changes);

/**
 * @ingroup allreduce
 *
 * @param changes links that were to become slower or faster
 * @return how many of the links were to change only after now
 */
uint32_t CountLateChanges(const std::vector<RateChange>& changes);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_LINK_FAULTS_H */
