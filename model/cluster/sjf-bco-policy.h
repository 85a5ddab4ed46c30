/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SJF_BCO_POLICY_H
#define ALLREDUCE_SJF_BCO_POLICY_H

#include "cluster-policy.h"

#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief SJF-BCO after the follow-up: smallest job first, placed so that contention and the number
 * of servers balance.
 *
 * Jobs get all the workers they ask for, or wait, and keep them until they finish. Up to a
 * threshold rings are packed into the server with the least room that is enough; larger ones take
 * the servers with most room. Nothing is reserved: rings that share a link slow each other down as
 * GetContendedBandwidth says.
 *
 * The follow-up plans offline. So does this policy: before the first slot it plays the whole trace,
 * jobs that have not arrived too, with every size of a job as the threshold, and takes the one with
 * which most jobs finish, of these the one with the shortest makespan.
 */
class SjfBcoPolicy : public ClusterPolicy
{
  public:
    /// Searches the threshold.
    SjfBcoPolicy() = default;

    /// @param threshold up to so many workers a ring is packed
    explicit SjfBcoPolicy(uint32_t threshold);

    void AddJob(JobId job) override;
    void Allocate(uint32_t slot) override;
    std::string GetRemark() const override;

  private:
    uint32_t GetRequest(JobId job) const;
    uint32_t FindThreshold() const;
    std::vector<ServerShare> ChooseServers(uint32_t workers) const;

    std::optional<uint32_t> m_threshold; //!< up to so many workers a ring is packed
    std::vector<JobId> m_waiting;        //!< jobs without a ring, the smallest first
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SJF_BCO_POLICY_H */
