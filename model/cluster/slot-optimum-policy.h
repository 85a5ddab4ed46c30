/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SLOT_OPTIMUM_POLICY_H
#define ALLREDUCE_SLOT_OPTIMUM_POLICY_H

#include "cluster-policy.h"

#include <cstdint>
#include <map>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// A ring that a job could have in a slot, and what it would gain.
struct RingOffer
{
    RingEmbedding ring; //!< with job and bandwidth
    double gain{0};     //!< more than 0
};

/**
 * @ingroup allreduce
 *
 * Choose rings that together gain most: at most one for each job, no more GPUs and bandwidth than
 * there are. Solved exactly, by GLPK.
 *
 * @param cluster a small cluster
 * @param offers the rings to choose from
 * @return indices of the chosen ones
 * @throws std::runtime_error if there is no solver, or it fails
 */
std::vector<std::size_t> ChooseRings(const GpuCluster& cluster,
                                     const std::vector<RingOffer>& offers);

/**
 * @ingroup allreduce
 *
 * @brief In each slot the best of all allocations, as a reference for the others.
 *
 * It knows the slot only, as the others do, and nothing of what moves cost. All rings of all jobs
 * are choices, so that clusters must be small.
 */
class SlotOptimumPolicy : public ClusterPolicy
{
  public:
    void Allocate(uint32_t slot) override;

  private:
    const std::vector<RingEmbedding>& GetRings(uint32_t maxWorkers);
    std::vector<RingOffer> MakeOffers();

    std::map<uint32_t, std::vector<RingEmbedding>> m_rings; //!< by most workers: all rings
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SLOT_OPTIMUM_POLICY_H */
