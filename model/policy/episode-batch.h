/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_EPISODE_BATCH_H
#define ALLREDUCE_EPISODE_BATCH_H

#include "policy-rollout.h"
#include "policy-weights.h"
#include "training-config.h"

#include <array>
#include <torch/torch.h>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Decisions of one head, ready for a loss.
struct DecisionBatch
{
    bool isImitated{false};       //!< another planner's, to be followed whatever they were worth
    int64_t nDecisions{0};        //!< how many
    torch::Tensor rows;           //!< [row][feature], one decision's rows after another's
    torch::Tensor decisionOfRow;  //!< by row: index of its decision
    torch::Tensor chosenRow;      //!< by decision: the row that was chosen
    torch::Tensor choice;         //!< by decision: the choice, as a number
    torch::Tensor logProbability; //!< by decision: when it was made
    torch::Tensor advantage;      //!< by decision: normalized; if imitated, its weight
};

/**
 * @ingroup allreduce
 *
 * @brief The rollouts of one iteration with what each decision was worth.
 *
 * Rounds get a generalized advantage estimate from the critic, plus the lead over other rollouts
 * of the same problem. A pick is worth its round's advantage and what it and those after it in the
 * round earned; a tree's selection is worth a share of the round's and what it earned itself. Where
 * rounds earn nothing by themselves, as in staggered plans, it is worth the lead.
 */
class EpisodeBatch
{
  public:
    /**
     * @param records the rollouts
     * @param weights with which they were made
     * @param config says how advantages are weighed
     * @param isLowerImitated whether another planner made the lower policy's decisions
     * @param isUpperImitated whether another planner made the upper policy's decisions
     */
    EpisodeBatch(std::vector<EpisodeRecord> records,
                 const PolicyWeights& weights,
                 const TrainingConfig& config,
                 bool isLowerImitated,
                 bool isUpperImitated);

    /**
     * Put the decisions of a head into another order, and choose which of many ports' are used.
     *
     * @param head whose decisions
     * @param seed where chance comes from
     */
    void Shuffle(PolicyHead head, uint64_t seed);

    /**
     * @param head whose decisions
     * @param index of the minibatch
     * @param count of minibatches
     * @return a share of the head's decisions
     */
    DecisionBatch MakeMinibatch(PolicyHead head, uint32_t index, uint32_t count) const;

    /// @return [round][feature] of all rollouts
    torch::Tensor GetValueRows() const;

    /// @return by round: what the critic should say
    torch::Tensor GetReturns() const;

  private:
    /// Where a decision is.
    struct Place
    {
        uint32_t record;   //!< its rollout
        uint32_t decision; //!< its index there
    };

    void EstimateRounds(uint32_t record, const PolicyWeights& weights);
    void EstimateDecisions(uint32_t record);
    /// A tree is selected once and left out many times before; both shall count alike.
    void WeighSelections(uint32_t record);
    void Normalize();

    const TrainingConfig& m_config;                         //!< how to weigh
    const bool m_isLowerImitated;                           //!< by another planner
    const bool m_isUpperImitated;                           //!< by another planner
    std::vector<std::size_t> m_nFeatures;                   //!< by head
    std::vector<EpisodeRecord> m_records;                   //!< the rollouts
    std::vector<std::vector<float>> m_roundAdvantages;      //!< [record][round]
    std::vector<std::vector<float>> m_advantages;           //!< [record][decision]
    std::vector<float> m_returns;                           //!< of all rounds, record by record
    std::array<std::vector<Place>, N_POLICY_HEADS> m_order; //!< by head: decisions to be used
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_EPISODE_BATCH_H */
