/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_TRAINER_H
#define ALLREDUCE_POLICY_TRAINER_H

#include "policy-weights.h"
#include "training-config.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// How training goes: a line of its log.
struct TrainingProgress
{
    uint32_t iteration{0};        //!< iterations done
    double meanReturn{0};         //!< mean sum of an episode's rewards
    double excessRounds{0};       //!< mean rounds over the least possible, while sampling
    double selectedShare{0};      //!< of the trees that the upper policy selected
    double entropy{0};            //!< mean entropy of the lower policy's choices
    double upperEntropy{0};       //!< mean entropy of the upper policy's choices
    double kl{0};                 //!< how far the update moved the policies, approximately
    double clipFraction{0};       //!< share of the decisions that PPO clipped
    double explainedVariance{0};  //!< of the returns, by the critic
    uint64_t nDecisions{0};       //!< made so far
    bool isValidated{false};      //!< the next two are there
    double validation{0};         //!< of the present weights; see Validate
    double validationAveraged{0}; //!< of the averaged weights
    bool isBest{false};           //!< the best validation so far
};

/**
 * @ingroup allreduce
 *
 * @brief Trains both policies and the critic together with proximal policy optimization (PPO).
 *
 * An iteration draws problems, rolls each out several times on all cores, estimates advantages and
 * improves the weights on what was seen. All that chance decides depends on the seed and the number
 * of the iteration only, so that training which was stopped and resumed gives the same weights as
 * training which was not.
 */
class PolicyTrainer
{
  public:
    /// @param config what to train on, and how
    explicit PolicyTrainer(const TrainingConfig& config);
    ~PolicyTrainer();

    /// Begin with weights that were trained before. @param weights the weights
    void Import(const PolicyWeights& weights);

    /// @return how many iterations have been done
    uint32_t GetIteration() const;

    /**
     * Do an iteration.
     *
     * @return how it went
     * @throws InputError if a weight is no longer a finite number
     */
    TrainingProgress Step();

    /// @return the best weights so far: those of the best validation, or the averaged ones if there
    /// was none
    PolicyWeights GetBestWeights() const;

    /// @return the present weights, neither averaged nor chosen
    PolicyWeights GetWeights() const;

    /**
     * What LibTorch makes of some rows with the present weights.
     *
     * @param head one of the networks
     * @param rows features, one row after another
     * @return the output for each row
     */
    std::vector<float> Score(PolicyHead head, const std::vector<float>& rows) const;

    /**
     * Write all that is needed to go on later.
     *
     * @param path where to write; replaced at once
     */
    void Save(const std::string& path) const;

    /**
     * Go on from what Save wrote.
     *
     * @param path where it is
     * @throws InputError if it is not such a file, or of another configuration
     */
    void Load(const std::string& path);

  private:
    struct Impl;                  //!< keeps LibTorch out of this header
    std::unique_ptr<Impl> m_impl; //!< networks and optimizers
};

/**
 * @ingroup allreduce
 *
 * How good weights are on the validation problems.
 *
 * @param weights the weights
 * @param config says which problems
 * @return mean length of the plans over the least possible, the nearer to 1 the better
 */
double Validate(const PolicyWeights& weights, const TrainingConfig& config);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_TRAINER_H */
