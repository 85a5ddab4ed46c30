/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_PROVER_H
#define ALLREDUCE_ROUND_PROVER_H

#include "allreduce-scheduler.h"

#include "ns3/contribution-ledger.h"
#include "ns3/schedule-verifier.h"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief Stands between a session and its scheduler: asks the hook, and lets pass only what the
 * verifier has proven.
 *
 * If the scheduler keeps a plan, all of it is proven before its first round is used; later rounds
 * are compared with it, and a new plan is accepted only after something happened that no plan
 * foresees. So a scheduler that keeps a plan can serve only one session at a time. If it keeps
 * none, every round is proven by itself.
 */
class RoundProver
{
  public:
    /**
     * A plan from the beginning has been proven elsewhere. A scheduler that keeps a plan may then
     * hand out no other from the beginning.
     *
     * @param hash HashRounds of the plan
     */
    void ExpectPlan(uint64_t hash);

    /// Another AllReduce begins.
    void Restart();

    /**
     * Ask for the next round.
     *
     * @param scheduler whom to ask
     * @param state how far the AllReduce has come
     * @param ledger the same, for the proof
     * @return a round that is proven
     * @throws InputError that says why there is none
     */
    WorkloadList AskForRound(AllReduceScheduler& scheduler,
                             const AllReduceState& state,
                             const ContributionLedger& ledger);

    /**
     * Ask for all rounds that are left, by way of the flow-level simulator.
     *
     * @param scheduler whom to ask
     * @param state how far the AllReduce has come
     * @param ledger the same, for the proof
     * @return rounds that are proven
     * @throws InputError that says why there are none
     */
    std::vector<WorkloadList> AskForAll(AllReduceScheduler& scheduler,
                                        const AllReduceState& state,
                                        const ContributionLedger& ledger);

    /// @return whether something was handed out, and all of it was proven
    bool IsProven() const;

    /// @return HashRounds of the last plan from the beginning; none if there was no such plan
    std::optional<uint64_t> GetPlanHash() const;

    /// @return how many plans, rests and single rounds the verifier was asked about
    uint32_t GetNProofs() const;

    /// @return how often what was left was planned anew
    uint32_t GetNRests() const;

    /// @return the names of those who planned that, each once, in order
    const std::vector<std::string>& GetReplanners() const;

    /// @return who planned that the last time; "" if nobody has
    const std::string& GetLastReplanner() const;

  private:
    /// A whole plan, or what is left of it, is about to be used.
    void Adopt(const AllReduceScheduler& scheduler,
               const ContributionLedger& ledger,
               RoundRange plan);
    void CheckExpected(const AllReduceScheduler& scheduler, uint64_t hash);
    void Prove(const AllReduceScheduler& scheduler,
               const ContributionLedger& ledger,
               RoundRange rounds,
               RoundsEnd end);
    bool IsAsForeseen(const ContributionLedger& ledger) const;
    void NoteRest(const AllReduceScheduler& scheduler);
    template <typename... Parts>
    [[noreturn]] void Refuse(const AllReduceScheduler& scheduler, const Parts&... why);

    std::optional<uint64_t> m_expected;    //!< the plan that was proven elsewhere
    std::set<uint64_t> m_known;            //!< plans from the beginning that are proven
    std::optional<uint64_t> m_planHash;    //!< see GetPlanHash
    std::vector<uint64_t> m_hashes;        //!< of the proven rounds that are to come
    std::size_t m_next{0};                 //!< which of them comes next
    uint64_t m_nUpsets{0};                 //!< of the ledger when they were proven
    bool m_isUsed{false};                  //!< something was handed out
    bool m_isRefused{false};               //!< something was not proven
    uint32_t m_nProofs{0};                 //!< see GetNProofs
    uint32_t m_nRests{0};                  //!< see GetNRests
    std::vector<std::string> m_replanners; //!< see GetReplanners
    std::string m_lastReplanner;           //!< see GetLastReplanner
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_PROVER_H */
