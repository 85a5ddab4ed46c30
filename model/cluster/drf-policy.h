/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DRF_POLICY_H
#define ALLREDUCE_DRF_POLICY_H

#include "cluster-policy.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Dominant-resource fairness: workers are given one by one to the job with the least
 * dominant share.
 *
 * A job's shares are its part of all GPUs, and that of all bandwidth if each of its workers
 * reserves a hop; the larger one is dominant. Where jobs outnumber GPUs, those that have had least
 * come first.
 */
class DrfPolicy : public ClusterPolicy
{
  public:
    void Allocate(uint32_t slot) override;

  private:
    std::vector<RingSize> FillProgressively() const;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DRF_POLICY_H */
