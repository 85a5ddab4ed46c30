/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_POLICY_TRAINER_H
#define ALLREDUCE_POLICY_TRAINER_H

#include "policy-weights.h"
#include "training-config.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How good weights are in deterministic rollouts.
struct Validation
{
    double excessRounds{0};          //!< mean rounds over the least possible
    std::optional<double> staggered; //!< mean length of staggered plans over the least for others

    /// @return both in one number, the less the better
    double GetScore() const;
};

/// How training goes: a line of its log.
struct TrainingProgress
{
    uint32_t iteration{0};         //!< iterations done
    double excessRounds{0};        //!< mean rounds over the least possible, while sampling
    double staggered{0};           //!< mean length of staggered plans over the least for others
    double selectedShare{0};       //!< of the trees that the upper policy selected
    double entropy{0};             //!< mean entropy of the lower policy's choices
    double valueError{0};          //!< mean squared error of the critic
    uint64_t nDecisions{0};        //!< made so far
    bool isValidated{false};       //!< the next two are there
    Validation validation;         //!< of the present weights
    Validation validationAveraged; //!< of the averaged weights
    bool isBest{false};            //!< the best validation so far
};

/**
 * @ingroup allreduce
 *
 * @brief Trains both policies and the critic together with proximal policy optimization (PPO).
 *
 * An iteration draws problems, rolls each out several times on all cores, and improves the weights
 * on what was seen. All that chance decides depends on the seed and the number of the iteration
 * only, so that training which was stopped and resumed gives the same weights as training which
 * was not.
 */
class PolicyTrainer
{
  public:
    /// @param config what to train on, and how
    explicit PolicyTrainer(const TrainingConfig& config);
    ~PolicyTrainer();

    /**
     * Begin with weights that were trained before, on something else perhaps.
     *
     * @param weights for plans of the same mode
     */
    void Import(const PolicyWeights& weights);

    /// @return how many iterations have been done
    uint32_t GetIteration() const;

    /// Do an iteration. @return how it went
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
 * How good weights are on the validation networks.
 *
 * @param weights the weights
 * @param config says which networks
 * @return means over all of them
 */
Validation Validate(const PolicyWeights& weights, const TrainingConfig& config);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_POLICY_TRAINER_H */
