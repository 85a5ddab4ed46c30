/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_PLANNER_H
#define ALLREDUCE_ROUND_PLANNER_H

#include "broadcast-problem.h"
#include "broadcast-progress.h"
#include "route-search.h"

#include <cstdint>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Plans one round of a broadcast after another. Each server port is given something to receive,
/// the neediest server first. Then ports left idle get something by rearranging others.
class RoundPlanner
{
  public:
    /**
     * @param problem the network
     * @param progress who holds and misses what; planning a round changes it
     * @param weights what to prefer
     * @param random random numbers
     */
    RoundPlanner(const BroadcastProblem& problem,
                 BroadcastProgress& progress,
                 const GreedyWeights& weights,
                 PlannerRandom& random);

    /**
     * Plan a round and bring the progress to its end.
     *
     * @param round the workloads of the round, appended
     */
    void Plan(WorkloadList& round);

    /**
     * Take back a round, the last one that is still in the progress.
     *
     * @param round its workloads
     */
    void Undo(const WorkloadList& round);

    /// @return how many rounds the remainder takes at least
    uint32_t GetRoundsNeeded() const;

  private:
    /// One unit flow into a server in a round.
    struct Slot
    {
        NodeId server;       //!< the server
        DirectedLinkId link; //!< the link into it
        bool isDirect;       //!< whether the link comes from another server
        Route route;         //!< what it receives; no links: nothing
    };

    using SlotId = uint32_t;

    /// @return whether a slot has nothing to receive though its server misses something
    bool IsIdle(SlotId slot) const;
    /// Sort the slots: the neediest server first.
    void OrderSlots();
    /// Give each slot the best route that is left. @return whether none is idle
    bool FillSlots();
    /// Find routes for slots left idle by giving others other routes.
    void FillIdleSlots();
    void ListUsers();
    /// Find a route for a slot, if need be by moving others out of its way, at most so many in a
    /// row. @return whether it has one; else nothing has changed
    bool Rearrange(SlotId slot, uint32_t depth);
    /// Move the slot that is in the way of a route to another route, and take it.
    bool TakeBlocked(SlotId slot, BlockedRoute& blocked, uint32_t depth);
    /// @return the slot that is in the way of another's route
    SlotId FindInTheWay(SlotId slot, const BlockedRoute& blocked) const;
    /// Let a slot receive by a route, without a note in the lists of users.
    void Occupy(SlotId slot, Route& route);
    /// Let a slot receive by a route.
    void Take(SlotId slot, Route& route);
    /// Let a slot receive nothing. @param route takes the route that it had
    void Release(SlotId slot, Route& route);
    /// Write the round down and bring the progress to its end.
    void Commit(WorkloadList& round);

    const BroadcastProblem& m_problem;
    BroadcastProgress& m_progress; //!< who holds and misses what
    PlannerRandom& m_random;
    std::vector<uint32_t> m_free;             //!< by directed link: unit flows that it still takes
    std::vector<std::vector<SlotId>> m_users; //!< by directed link: slots that use it
    std::vector<Slot> m_slots;                //!< one server after another
    std::vector<SlotId> m_firstSlot;          //!< by server: its first slot
    RouteSearch m_search;

    std::vector<std::pair<uint64_t, SlotId>> m_order; //!< slots, the neediest first
    uint32_t m_attempt{0};                            //!< number of this attempt to rearrange
    uint32_t m_movesLeft{0};                          //!< how many slots it may still try to move
    std::vector<uint32_t> m_linkFreedIn; //!< by directed link: last attempt that tried to free it
    std::vector<uint32_t> m_slotMovedIn; //!< by slot: last attempt that tried to move it
    std::vector<std::vector<BlockedRoute>> m_blocked; //!< by depth: routes to try
    std::vector<ChunkId> m_coming;                    //!< what a server receives in this round
    Path m_path;                                      //!< of the workload being written
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_PLANNER_H */
