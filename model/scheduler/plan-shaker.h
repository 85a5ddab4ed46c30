/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLAN_SHAKER_H
#define ALLREDUCE_PLAN_SHAKER_H

#include "delivery-plan.h"
#include "search-random.h"

#include "ns3/allreduce-topology.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Shortens plans by shaking them: some chunks are moved to earlier or later rounds, then all
 * is pushed together from both ends.
 *
 * The moved plan is only an order of the deliveries. In this order they are placed anew, each in
 * the first round in which it can be sent: sums come down from whoever can send them first, if
 * scarce links are not the price of it. Then the same is done backwards. The result is kept if not
 * more deliveries lie beyond the rounds hoped for, and sometimes if they do (simulated annealing).
 */
class PlanShaker
{
  public:
    /**
     * @param topology the network
     * @param roots the root of each chunk, which must outlive this
     * @param paths the paths to choose from, which must outlive this
     * @param seed where chance comes from
     */
    PlanShaker(const Topology& topology,
               const std::vector<NodeId>& roots,
               const DeliveryPaths& paths,
               uint64_t seed);

    /**
     * Shake a plan for a while.
     *
     * @param [in,out] plan becomes shorter, or another one that is as long, or stays as it is
     * @param enough no fewer rounds are needed
     * @param effort how many paths to look at
     */
    void Shake(DeliveryPlan& plan, uint32_t enough, uint64_t effort);

  private:
    /// A delivery: twice its index, plus its half.
    using Task = uint32_t;

    /// Choose by how many rounds each chunk is moved.
    void ChooseShifts();
    /// Put the deliveries of m_next in the order of their rounds, moved ones where they belong.
    void SortTasks();
    /// Push m_next together from its end. @return whether it is not far too long now
    bool PushBackwards();
    /// @return the first round in which all links of a path have room @param end none before this
    uint32_t FindRound(PathId path, uint32_t earliest, uint32_t end) const;
    /// Send a delivery. @param path over these links
    void Take(PathId path, uint32_t round);
    /// Place a partial sum. @return whether it has a round
    bool PlaceUp(uint32_t index);
    /// Place a final sum. @return whether it has a round
    bool PlaceDown(uint32_t index);
    /// @return how much of m_next lies beyond rounds @param target so many rounds
    uint32_t CountBeyond(uint32_t target) const;

    const std::vector<NodeId>& m_roots; //!< by chunk
    const DeliveryPaths& m_paths;       //!< the paths to choose from
    const uint32_t m_nServers;          //!< number of servers
    std::vector<uint32_t> m_capacities; //!< by directed link
    SearchRandom m_random;              //!< where chance comes from
    uint64_t m_effort{0};               //!< paths looked at

    DeliveryPlan m_next;           //!< the plan that is being tried
    std::vector<int32_t> m_shifts; //!< by chunk: rounds by which it is moved
    std::vector<Task> m_tasks;     //!< all, in the order in which they are placed
    std::vector<Task> m_sorted;    //!< to sort them
    std::vector<uint32_t> m_first; //!< to sort them: by key: where its tasks begin
    std::vector<uint32_t> m_ready; //!< by index: when the server can send what it holds
    uint32_t m_horizon{0};         //!< longer plans are given up
    uint32_t m_nWords{0};          //!< words of bits for so many rounds
    std::vector<uint64_t> m_room;  //!< by directed link and word: a bit for each round with room
    std::vector<uint32_t> m_used;  //!< by directed link and round
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLAN_SHAKER_H */
