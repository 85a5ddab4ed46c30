/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_PROVER_H
#define ALLREDUCE_ROUND_PROVER_H

#include "allreduce-scheduler.h"
#include "plan-follower.h"
#include "verified-plan.h"

#include "ns3/contribution-ledger.h"
#include "ns3/schedule-verifier.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Gives a session its rounds, each of them proven: those of a plan as long as the state is
 * the one that the plan expects, else what the scheduler says.
 *
 * A plan from the beginning is made once, or given, and serves all AllReduces of the session. If
 * links change or workloads are lost, the scheduler plans what is left. A scheduler that chooses
 * by round is asked for each round, and each is proven by itself.
 */
class RoundProver
{
  public:
    /// @param scheduler whom to ask
    explicit RoundProver(Ptr<AllReduceScheduler> scheduler);

    /// @return whom it asks
    Ptr<AllReduceScheduler> GetScheduler() const;

    /// @return whether there is a plan from the beginning
    bool HasPlan() const;

    /// @param plan what to follow from the beginning, in the place of the scheduler's own plan
    void SetPlan(VerifiedPlan plan);

    /// Another AllReduce begins.
    void Restart();

    /**
     * Get the next round.
     *
     * @param state how far the AllReduce has come
     * @param ledger the same, for the proof
     * @return a round that is proven
     * @throws InputError that says why there is none
     */
    WorkloadList GetRound(const AllReduceState& state, const ContributionLedger& ledger);

    /**
     * Get all rounds that are left.
     *
     * @param state how far the AllReduce has come
     * @param ledger the same, for the proof
     * @return rounds that are proven
     * @throws InputError that says why there are none
     */
    std::vector<WorkloadList> GetAll(const AllReduceState& state, const ContributionLedger& ledger);

    /**
     * Have what is left planned anew, because the network is not what was announced. GetRound goes
     * on with it.
     *
     * @param state how far the AllReduce has come, with the rates to plan for
     * @param ledger the same, for the proof
     * @return rounds that are proven
     * @throws InputError that says why there are none
     */
    std::vector<WorkloadList> PlanAnew(const AllReduceState& state,
                                       const ContributionLedger& ledger);

    /// @return the round that GetRound returned last, and those of the plan that are to come; none
    /// if the scheduler chooses by round
    RoundRange GetPresentAndAhead() const;

    /// @return whether something was handed out, and all of it was proven
    bool IsProven() const;

    /// @return HashRounds of the last plan from the beginning; none if there was no such plan
    std::optional<uint64_t> GetPlanHash() const;

    /// @return how many plans, remainders and single rounds the verifier was asked about
    uint32_t GetNProofs() const;

    /// @return how often what was left was planned anew
    uint32_t GetNReplans() const;

    /// @return the names of those who planned that, each once, in order
    const std::vector<std::string>& GetReplanners() const;

    /// @return who planned that the last time; "" if nobody has
    const std::string& GetLastReplanner() const;

  private:
    /// Follow a plan from the beginning, which is made if there is none.
    void BeginWhole(const AllReduceState& state);
    /// Make the plan from the beginning.
    void PlanWhole(const AllReduceState& state);
    /// Have what is left planned, and follow that.
    void BeginRemainder(const AllReduceState& state, const ContributionLedger& ledger);
    /// @return all rounds that are ahead
    std::vector<WorkloadList> TakeAll(const ContributionLedger& ledger);
    WorkloadList ChooseRound(const AllReduceState& state, const ContributionLedger& ledger);
    void Prove(const ContributionLedger& ledger, RoundRange rounds, RoundsEnd end);
    /// @return who made what the scheduler handed out last
    std::string GetPlannerName() const;
    void NoteReplan(const std::string& planner);

    Ptr<AllReduceScheduler> m_scheduler;   //!< whom to ask
    std::optional<VerifiedPlan> m_whole;   //!< the plan from the beginning
    std::vector<WorkloadList> m_remainder; //!< the plan from the last surprise
    PlanFollower m_follower;               //!< follows one of them
    std::optional<uint64_t> m_planHash;    //!< see GetPlanHash
    bool m_isPlannedAnew{false};           //!< by PlanAnew, and no round was taken since
    bool m_hasBegun{false};                //!< the present AllReduce has a plan
    uint64_t m_nUpsets{0};                 //!< of the ledger when something was last handed out
    bool m_isUsed{false};                  //!< something was handed out
    bool m_isRefused{false};               //!< something was not proven
    uint32_t m_nProofs{0};                 //!< see GetNProofs
    uint32_t m_nReplans{0};                //!< see GetNReplans
    std::vector<std::string> m_replanners; //!< see GetReplanners
    std::string m_lastReplanner;           //!< see GetLastReplanner
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_PROVER_H */
