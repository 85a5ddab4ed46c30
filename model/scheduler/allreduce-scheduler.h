/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SCHEDULER_H
#define ALLREDUCE_SCHEDULER_H

#include "live-view.h"
#include "planning-progress.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/allreduce-state.h"
#include "ns3/object.h"

#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Whatever chooses rounds.
 *
 * A subclass anywhere that registers itself with NS_OBJECT_ENSURE_REGISTERED can be chosen by its
 * TypeId name wherever a scheduler can be named.
 */
class AllReduceScheduler : public Object
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    /**
     * The hook: choose the workloads of the next round.
     *
     * @param state how far the AllReduce has come; no workload is in flight
     * @return workloads that are legal together in this state; none only if there is nothing to do
     */
    virtual WorkloadList NextRound(const AllReduceState& state) = 0;

    /**
     * Choose all rounds that are left. A scheduler that does not know how is asked for one round
     * after another in the flow-level simulator.
     *
     * @param start how far the AllReduce has come; no workload is in flight
     * @return the rounds
     * @throws InputError if the scheduler cannot plan
     */
    virtual std::vector<WorkloadList> PlanRounds(const AllReduceState& start);

    /// @return whether it is to be asked for each round when the one before is over, rather than
    /// for all at once, where that is possible
    virtual bool ChoosesByRound() const;

    /// @return whether it chooses one transfer after another (see NextTransfer). If it chooses by
    /// round it does so from the beginning; else it is asked once its plan meets a surprise.
    virtual bool ChoosesByTransfer() const;

    /**
     * Choose transfers from now on. What has been sent, and what is under way, may be those of a
     * plan that was followed so far.
     *
     * @param view what there is; its parts stay where they are until the collective ends
     */
    virtual void BeginTransfers(const LiveView& view);

    /**
     * Something has happened that no transfer brought about: links went down or came up, what is
     * believed of them changed, a server became ready, a transfer was given up.
     *
     * @param view what there is now
     */
    virtual void NotifySurprise(const LiveView& view);

    /**
     * The other hook: choose what a free port of a server does next.
     *
     * The port is one direction of a server's link, and has rate left: if it leads away from the
     * server, what does the server send? If it leads to the server, what does it receive? It is
     * asked when a port has become free, and about all free ports of a server at which data has
     * arrived. What it answers begins at once, and it is asked again while the port has rate left.
     *
     * @param view what there is
     * @param port one direction of a server's link
     * @return a transfer that is legal in the state of the view, over this port, or over others
     * that have rate left but were not asked about since there was something to do; none: nothing
     * begins
     */
    virtual std::optional<ChosenTransfer> NextTransfer(const LiveView& view, DirectedLinkId port);

    /**
     * A transfer has arrived.
     *
     * @param view what there is now
     * @param transfer the transfer, merged or copied already
     */
    virtual void NotifyArrived(const LiveView& view, const Workload& transfer);

    /**
     * Who made the last plan, if the scheduler handed over to another planner.
     *
     * @return a name for users; "" if the scheduler planned itself
     */
    virtual std::string GetPlanner() const;

    /**
     * What else users should know about the last plan, such as what it is made of.
     *
     * @return a few words; "" if there is nothing to say
     */
    virtual std::string GetRemark() const;

    /// @param progress where to say how far planning has come from now on
    void SetProgress(PlanningProgress progress);

  protected:
    /// @return where to say how far planning has come
    const PlanningProgress& GetProgress() const;

  private:
    PlanningProgress m_progress; //!< see SetProgress
};

/**
 * @ingroup allreduce
 *
 * Have a scheduler plan. What it plans is not proven here (see VerifiedPlan).
 *
 * @param scheduler whom to ask
 * @param state where to begin
 * @param progress where the scheduler says how far it has come
 * @return the rounds
 * @throws InputError if the scheduler cannot plan, or has nothing to hand out although sums are
 * missing
 */
AllReduceSchedule Plan(AllReduceScheduler& scheduler,
                       const AllReduceState& state,
                       const PlanningProgress& progress = {});

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SCHEDULER_H */
