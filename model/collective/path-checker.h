/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PATH_CHECKER_H
#define ALLREDUCE_PATH_CHECKER_H

#include "contribution-ledger.h"
#include "schedule-violation.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Checks each round's paths against the network.
class PathChecker
{
  public:
    /**
     * @param start knows the network and which links are up, and must outlive this
     * @param violation where violations go
     */
    PathChecker(const ContributionLedger& start, FirstViolation& violation);

    /// @return whether all paths of a round are good @param round it @param number its number
    bool Check(const WorkloadList& round, uint32_t number);

  private:
    bool CheckWorkload(const Workload& workload, SchedulePlace place);
    bool CheckInside(const NodeRange& path, SchedulePlace place);
    bool CheckLinks(const NodeRange& path, SchedulePlace place);

    const ContributionLedger& m_start;     //!< knows which links are up
    const Topology& m_topology;            //!< the network
    FirstViolation& m_violation;           //!< where violations go
    std::vector<uint32_t> m_used;          //!< by directed link: workloads in this round
    std::vector<DirectedLinkId> m_touched; //!< links used in this round
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PATH_CHECKER_H */
