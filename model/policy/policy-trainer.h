/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_TRAINER_H
#define ALLREDUCE_POLICY_TRAINER_H

#include "policy-weights.h"
#include "training-config.h"
#include "training-slices.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// The metrics of an iteration: a line of the training log.
struct TrainingProgress
{
    uint32_t iteration{0};        //!< iterations done
    double meanReturn{0};         //!< mean sum of an episode's rewards
    double excessRounds{0};       //!< mean rounds over the least possible, while sampling
    double selectedShare{0};      //!< of the trees that the upper policy selected
    double entropy{0};            //!< mean entropy of the lower policy's choices
    double upperEntropy{0};       //!< mean entropy of the upper policy's choices
    double approxKl{0};           //!< how far the update moved the policies
    double clipfrac{0};           //!< share of the decisions that PPO clipped
    double explainedVariance{0};  //!< of the returns, by the critic
    uint64_t nDecisions{0};       //!< made so far
    bool isValidated{false};      //!< the next two are there
    double validation{0};         //!< of the present weights; see Validate
    double validationAveraged{0}; //!< of the averaged weights
    bool isBest{false};           //!< the best validation so far
};

/**
 * @ingroup allreduce
 * @brief Trains both policies and the critic together with proximal policy optimization (PPO).
 *
 * An iteration draws problems, rolls each out several times, estimates advantages and improves the
 * weights on what was seen. The rollouts are cut into slices (TrainingConfig::slices), which the
 * processes of a group and their threads share out. Random numbers depend only on the seed and on
 * the numbers of the iteration, the rollout and the slice, and what slices give is added up
 * in their order. So the weights are the same whoever does which slice, and whether training is
 * stopped and resumed or not.
 */
class PolicyTrainer
{
  public:
    /// @param config what to train on, and how; the same in all processes
    /// @param group who trains; none: this process on its own
    /// @throws InputError if there are more processes than slices
    explicit PolicyTrainer(const TrainingConfig& config,
                           std::shared_ptr<const TrainingGroup> group = nullptr);
    ~PolicyTrainer();

    /// Begin with weights that were trained before. @param weights the weights
    void Import(const PolicyWeights& weights);

    /// @return how many iterations have been done
    uint32_t GetIteration() const;

    /// Do an iteration, together with the others of the group.
    /// @return how it went, the same in all processes
    /// @throws InputError if a weight is no longer a finite number
    /// @throws TrainingGroupError if a process is gone
    TrainingProgress Step();

    /// @return the best weights so far: those of the best validation, or the averaged ones if there
    /// was none
    PolicyWeights GetBestWeights() const;

    /// @return the present weights, neither averaged nor chosen
    PolicyWeights GetWeights() const;

    /// What LibTorch makes of some rows with the present weights.
    /// @param head one of the networks @param rows features, one row after another
    /// @return the output for each row
    std::vector<float> Score(PolicyHead head, const std::vector<float>& rows) const;

    /// Write all that is needed to go on later. @param path where to write; replaced at once
    void Save(const std::string& path) const;

    /// Go on from what Save wrote. @param path where it is
    /// @throws InputError if it is not such a file, or of another configuration
    void Load(const std::string& path);

    /// Go on from where rank 0 is; to be called in all processes, before the first Step.
    void FollowRankZero();

  private:
    struct Impl; //!< keeps LibTorch out of this header
    std::unique_ptr<Impl> m_impl;
};

/// @ingroup allreduce
/// How good weights are on the validation problems.
/// @param weights the weights @param config says which problems
/// @param group who shares the problems out
/// @return mean length of the plans over the least possible, the nearer to 1 the better
double Validate(const PolicyWeights& weights,
                const TrainingConfig& config,
                const TrainingGroup& group = TrainingGroup());

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_TRAINER_H */
