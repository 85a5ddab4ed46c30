/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_DECISION_BATCH_H
#define ALLREDUCE_DECISION_BATCH_H

#include "advantage-estimate.h"
#include "policy-rollout.h"

#include <cstdint>
#include <torch/torch.h>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Decisions of one head as tensors, ready for a loss.
struct DecisionBatch
{
    int64_t nDecisions{0};        //!< how many
    torch::Tensor rows;           //!< [row][feature], one decision's rows after another's
    torch::Tensor decisionOfRow;  //!< by row: index of its decision
    torch::Tensor chosenRow;      //!< by decision: the row that was chosen
    torch::Tensor choice;         //!< by decision: the choice, as a number
    torch::Tensor logProbability; //!< by decision: when it was made
    torch::Tensor advantage;      //!< by decision
};

/// @ingroup allreduce
/// The decisions of one head in random order, to be handed out in minibatches.
class DecisionShuffle
{
  public:
    /// @param episodes the rollouts; must outlive this
    /// @param advantages of their decisions; must outlive this @param head whose decisions
    /// @param portShare of the choices among many ports that are used @param seed random seed
    DecisionShuffle(const std::vector<Episode>& episodes,
                    const AdvantageEstimate& advantages,
                    PolicyHead head,
                    double portShare,
                    uint64_t seed);

    /// @param index of the minibatch @param count of minibatches @return a share of the decisions
    DecisionBatch MakeMinibatch(uint32_t index, uint32_t count) const;

  private:
    /// Where a decision is.
    struct DecisionIndex
    {
        uint32_t episode;  //!< its rollout
        uint32_t decision; //!< its index there
    };

    const std::vector<Episode>& m_episodes;
    const AdvantageEstimate& m_advantages; //!< of their decisions
    const PolicyHead m_head;               //!< whose decisions
    std::vector<DecisionIndex> m_order;    //!< decisions to be used
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_DECISION_BATCH_H */
