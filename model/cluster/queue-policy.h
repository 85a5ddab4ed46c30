/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_QUEUE_POLICY_H
#define ALLREDUCE_QUEUE_POLICY_H

#include "cluster-policy.h"

#include <random>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Puts the jobs in an order in every slot, and gives each in turn as many workers as it can
 * use, as long as there are GPUs.
 */
class QueuePolicy : public ClusterPolicy
{
  public:
    /// Who comes first.
    enum class Order
    {
        ARRIVAL,   //!< first in, first out
        REMAINING, //!< shortest remaining first: least GPU time left
        ATTAINED,  //!< least attained service: fewest worker-slots held so far
        RANDOM     //!< anyone
    };

    /**
     * @param order who comes first
     * @param seed where chance comes from
     */
    QueuePolicy(Order order, uint64_t seed);

    void Allocate(uint32_t slot) override;

  private:
    double GetKey(JobId job);
    std::vector<JobId> MakeQueue();

    Order m_order;            //!< who comes first
    std::mt19937_64 m_random; //!< chance
};

/**
 * @ingroup allreduce
 *
 * Give jobs rings of the sizes that a policy wants; a ring that the network refuses shrinks to
 * what one server has room for, and GPUs left over go to the jobs of a queue that have no ring.
 *
 * @param world what the policy works with
 * @param sizes the sizes wanted
 * @param queue jobs, the first ones first
 */
void PlaceRings(const ClusterPolicy::World& world,
                const std::vector<RingSize>& sizes,
                const std::vector<JobId>& queue);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_QUEUE_POLICY_H */
