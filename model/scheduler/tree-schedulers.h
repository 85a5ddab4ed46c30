/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TREE_SCHEDULERS_H
#define ALLREDUCE_TREE_SCHEDULERS_H

#include "planned-scheduler.h"
#include "ring-order.h"

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Parameter server: each chunk's root collects it from all servers and sends it to all.
 *
 * Without merging, every contribution travels to the root by itself. With merging, contributions
 * go up a shortest-path tree and are summed on the way.
 */
class ParameterServerScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;

    bool m_isMerging{false}; //!< the attribute Merge
};

/**
 * @ingroup allreduce
 *
 * @brief Ring: each chunk goes round once to be summed, and once more to be copied.
 */
class RingScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;

    bool m_isAware{false}; //!< the attribute TopologyAware
};

/**
 * @ingroup allreduce
 *
 * @brief Recursive halving and doubling, for any number of servers.
 *
 * Counted from its root, a chunk's partial sum goes from server i to the one without i's highest
 * bit, largest distance first, which is a binomial tree; the final sum goes back the same way.
 * For a power of two, counting is by exclusive or, as in the usual algorithm.
 */
class HalvingDoublingScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;
};

/**
 * @ingroup allreduce
 *
 * @brief Double binary tree (Sanders, Speck and Traff): two trees such that a leaf of one is inside
 * of the other; each root's chunks use the two in turn.
 */
class DoubleTreeScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;
};

/**
 * @ingroup allreduce
 *
 * @param state how an AllReduce begins
 * @param ring the ring; where it has no path between two servers, any will do
 * @return a plan in which each chunk goes round once to be summed and once more to be copied
 */
std::vector<WorkloadList> PlanRing(const AllReduceState& state, const Ring& ring);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TREE_SCHEDULERS_H */
