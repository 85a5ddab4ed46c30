/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_VERIFIER_H
#define ALLREDUCE_SCHEDULE_VERIFIER_H

#include "allreduce-schedule.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <string>

namespace ns3::allreduce
{

class ContributionLedger;

/// @ingroup allreduce
/// What the verifier found.
struct Verdict
{
    bool isCorrect{true};    //!< receivers end with the true sums, and no rule was broken
    uint32_t round{0};       //!< if not: the round (counted from 0) of the first violation
    std::size_t workload{0}; //!< and the workload in it
    std::string reason;      //!< and what is wrong, in a line that names round and workload
};

/**
 * @ingroup allreduce
 *
 * Prove or refute a schedule by following every contribution of every server. This shares no rule
 * with AllReduceState, so that a mistake there does not hide itself.
 *
 * Checked are the paths and capacities of every round, and for every chunk that nothing is sent
 * that is not there at the beginning of the round, that no contribution is counted twice, taken
 * out of a sum or lost, that nobody relays who may not, and that in the end every receiver has the
 * sum of all contributors.
 *
 * @param topology the network
 * @param schedule the schedule
 * @return what was found; of several violations the first, paths and capacities before data
 */
Verdict Verify(const Topology& topology, const AllReduceSchedule& schedule);

/// @ingroup allreduce
/// How rounds must end.
enum class RoundsEnd
{
    DONE, //!< all receivers have the sums
    OPEN  //!< anywhere: more rounds may follow
};

/**
 * @ingroup allreduce
 *
 * Prove or refute rounds that go on from the middle of an AllReduce, as Verify does from its
 * beginning. Links that are down carry nothing.
 *
 * @param start where all contributions are; none is in flight
 * @param rounds the rounds
 * @param end how they must end
 * @return what was found; rounds are counted from the first of these
 */
Verdict Verify(const ContributionLedger& start, RoundRange rounds, RoundsEnd end);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_VERIFIER_H */
