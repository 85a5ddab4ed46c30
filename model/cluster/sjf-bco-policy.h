/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SJF_BCO_POLICY_H
#define ALLREDUCE_SJF_BCO_POLICY_H

#include "cluster-policy.h"

#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief SJF-BCO after the follow-up: smallest job first, placed so that contention and the number
 * of servers balance.
 *
 * Jobs get all the workers they ask for, or wait, and keep them until they finish. Small rings are
 * packed into servers that are in use already; large ones take the servers with most room. Nothing
 * is reserved: rings that share a link slow each other down as GetContendedBandwidth says.
 */
class SjfBcoPolicy : public ClusterPolicy
{
  public:
    void AddJob(JobId job) override;
    void Allocate(uint32_t slot) override;

  private:
    uint32_t GetRequest(JobId job) const;
    std::vector<ServerShare> ChooseServers(uint32_t workers) const;

    std::vector<JobId> m_waiting; //!< jobs without a ring, the smallest first
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SJF_BCO_POLICY_H */
