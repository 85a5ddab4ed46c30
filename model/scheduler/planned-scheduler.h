/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PLANNED_SCHEDULER_H
#define ALLREDUCE_PLANNED_SCHEDULER_H

#include "allreduce-scheduler.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3::allreduce
{

struct PlanKey;

/**
 * @ingroup allreduce
 *
 * @brief A scheduler that plans all rounds at once and hands them out one by one.
 *
 * As long as the world follows the plan it is not made anew; when the state is another than the
 * plan expects (a link went down, a workload did not arrive), the rest is planned from there. The
 * plan from the beginning is kept and handed out again for every later AllReduce on the same
 * network with the same roots and servers, until an attribute changes.
 */
class PlannedScheduler : public AllReduceScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    WorkloadList NextRound(const AllReduceState& state) override;
    RoundRange GetPlan() const override;
    std::string GetPlanner() const final;

    /// @return how often a plan was made because the state was not the expected one
    uint32_t GetNReplans() const;

  protected:
    /// Random seed, for schedulers that use one.
    /// @return the attribute Seed
    uint64_t GetSeed() const;

    /// Make the next plan from the beginning anew: something else than an attribute has changed.
    void ForgetPlan();

    /**
     * Say in PlanRest that somebody else plans the rest.
     *
     * @param planner a name that users know
     */
    void HandOver(const std::string& planner);

  private:
    /**
     * Plan an AllReduce, or another collective if PlansGroups says so, from its beginning.
     *
     * @param state the beginning
     * @return all rounds
     * @throws InputError if the network does not have what the scheduler needs
     */
    virtual std::vector<WorkloadList> PlanAll(const AllReduceState& state) = 0;

    /// @return whether it plans other collectives than AllReduces of all servers
    virtual bool PlansGroups() const;

    /**
     * Plan what is left of an AllReduce. Unless a subclass knows better it is handed over to
     * greedy.
     *
     * @param state any state in which no workload is in flight
     * @return the rounds that are left
     * @throws InputError if servers are cut off, or the scheduler does not want to go on
     */
    virtual std::vector<WorkloadList> PlanRest(const AllReduceState& state);

    /// @return the plan that is handed out
    const std::vector<WorkloadList>& GetRounds() const;
    /// Hand out the plan from the beginning. @param state the beginning
    void BeginWhole(const AllReduceState& state);
    /// Hand out a plan of what is left. @param state where to go on
    void BeginRest(const AllReduceState& state);

    uint64_t m_seed{1};                   //!< see GetSeed
    std::shared_ptr<const PlanKey> m_key; //!< what m_whole was made for
    std::vector<WorkloadList> m_whole;    //!< the plan from the beginning
    std::vector<WorkloadList> m_rest;     //!< the plan from the last surprise
    bool m_isRest{false};                 //!< whether m_rest is handed out
    std::size_t m_next{0};                //!< the round to hand out next
    std::string m_planner;                //!< see GetPlanner
    uint64_t m_expectedFingerprint{0};    //!< of the state when the next round is asked for
    uint32_t m_nReplans{0};               //!< see GetNReplans
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PLANNED_SCHEDULER_H */
