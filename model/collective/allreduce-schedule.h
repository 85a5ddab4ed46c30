/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULE_H
#define ALLREDUCE_SCHEDULE_H

#include "allreduce-workload.h"
#include "collective.h"

#include "ns3/allreduce-topology.h"

#include <boost/range/iterator_range.hpp>
#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// Rounds that lie one after another in somebody else's memory.
using RoundRange = boost::iterator_range<const WorkloadList*>;

/**
 * @ingroup allreduce
 *
 * @param rounds rounds
 * @param first where to begin
 * @return the rounds from there on, valid as long as they stay where they are
 */
inline RoundRange
MakeRoundRange(const std::vector<WorkloadList>& rounds, std::size_t first = 0)
{
    return {rounds.data() + first, rounds.data() + rounds.size()};
}

/**
 * @ingroup allreduce
 *
 * @brief A plan for a whole AllReduce, or another collective, on some network: its rounds, in
 * order.
 */
struct AllReduceSchedule
{
    Collective collective;            //!< what is to be summed where
    std::vector<WorkloadList> rounds; //!< the workloads of each round

    /// @return the number of workloads in all rounds
    uint64_t CountWorkloads() const;
};

/**
 * @ingroup allreduce
 *
 * @param bytes size of a gradient
 * @param nChunks into how many chunks it is cut
 * @param chunk one of them
 * @return its size; sizes differ by one byte at most
 */
constexpr uint64_t
GetChunkBytes(uint64_t bytes, uint64_t nChunks, uint64_t chunk)
{
    return bytes / nChunks + (chunk < bytes % nChunks);
}

/**
 * @ingroup allreduce
 *
 * Read rounds backwards in time and every path from its end: a broadcast plan becomes a reduce
 * plan, and the other way round. What has contributors cannot be mirrored.
 *
 * @param rounds rounds of plain workloads
 * @return the mirrored rounds, each workload of the other kind
 */
std::vector<WorkloadList> Mirror(const std::vector<WorkloadList>& rounds);

/// @ingroup allreduce
/// How much a link is used by a schedule.
struct LinkLoad
{
    DirectedLinkId link; //!< the directed link
    uint64_t nWorkloads; //!< how many workloads cross it
    double utilization;  //!< their share of what it could carry in all rounds
};

/**
 * @ingroup allreduce
 *
 * @param topology the network
 * @param schedule a valid schedule on it
 * @return every directed link, the busiest (by utilization) first
 */
std::vector<LinkLoad> ComputeLinkLoads(const Topology& topology, const AllReduceSchedule& schedule);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULE_H */
