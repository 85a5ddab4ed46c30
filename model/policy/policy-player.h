/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_PLAYER_H
#define ALLREDUCE_POLICY_PLAYER_H

#include "policy-rollout.h"
#include "round-steps.h"

#include <cstdint>
#include <random>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Makes the decisions of the two policies, and records them for training.
class PolicyPlayer
{
  public:
    /// All arguments must outlive the player.
    /// @param steps where decisions are due @param weights of the policies
    /// @param options how to choose @param rewards what picks cost, if they are written down
    /// @param episode where decisions are written down; may be null
    PolicyPlayer(RoundSteps& steps,
                 const PolicyWeights& weights,
                 const RolloutOptions& options,
                 const RewardWeights& rewards,
                 Episode* episode);

    /// Make the decision that is due.
    void Decide();

    /// @return the share of trees that were selected, of those that could be
    double GetSelectedShare() const;

  private:
    void SelectTrees();
    bool ChooseTree(uint32_t tree);
    bool IsRecording() const;
    void ScoreChangedPorts();
    uint32_t ChoosePort();
    uint32_t ChooseSender();
    uint32_t ChooseItem();
    void Score(PolicyHead head, uint32_t nRows);
    void BreakTie(float& score);
    uint32_t ScoreAndChoose(PolicyHead head, uint32_t nRows);
    uint32_t Choose(PolicyHead head, uint32_t nRows);
    uint32_t Sample(PolicyHead head, uint32_t nRows);
    void Record(PolicyHead head, uint32_t firstRow, uint32_t nRows, uint32_t choice, float logP);
    float DrawUnit();

    RoundSteps& m_steps;
    const PlanningEnvironment& m_environment;
    const PolicyView m_view; //!< what the policies see of it
    const PolicyWeights& m_weights;
    const RolloutOptions& m_options;
    const RewardWeights& m_rewards;
    Episode* m_episode;
    std::mt19937_64 m_random;
    const std::size_t m_nPortFeatures;   //!< features of a port
    std::vector<float> m_portRows;       //!< by port: its features
    std::vector<float> m_portScores;     //!< by port
    std::vector<uint32_t> m_scoredPorts; //!< ports whose options have changed
    std::vector<float> m_rows;           //!< features of the present choice
    std::vector<float> m_scores;         //!< of the present choice
    bool m_hasDecidedInPick{false};      //!< the present pick was recorded
    uint64_t m_nSelectable{0};           //!< trees that the upper policy was asked about
    uint64_t m_nSelected{0};             //!< those that it selected
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_PLAYER_H */
