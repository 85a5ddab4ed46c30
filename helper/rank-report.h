/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RANK_REPORT_H
#define ALLREDUCE_RANK_REPORT_H

#include "allreduce-experiment.h"

#include "ns3/allreduce-session.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What one of several ranks has seen of a run.
struct RankReport
{
    ExperimentResult result;                          //!< its part of the result
    Time begin;                                       //!< of the AllReduce
    std::vector<AllReduceSession::RoundTimes> rounds; //!< when its servers were in them
    std::vector<AllReduceFlow> started;               //!< flows that its servers sent
    double waitSeconds{0};                            //!< it waited for others
    std::vector<DirectedLinkId> links;                //!< that its nodes send on
};

/**
 * @ingroup allreduce
 *
 * @param report what a rank has seen
 * @return it as a text
 */
std::string WriteRankReport(const RankReport& report);

/**
 * @ingroup allreduce
 *
 * Put together what the ranks have seen, as if one process had seen it.
 *
 * @param texts what WriteRankReport returned, by rank
 * @param result what rank 0 has seen, and then what all have seen
 */
void MergeRankReports(const std::vector<std::string>& texts, ExperimentResult& result);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RANK_REPORT_H */
