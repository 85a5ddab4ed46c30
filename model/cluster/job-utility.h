/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_UTILITY_H
#define ALLREDUCE_JOB_UTILITY_H

#include "cluster-job.h"

#include <memory>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @brief What a job's progress is worth: derive from this for an objective of one's own.
 *
 * A job's utility is its benefit minus a cost for every GPU that it held for a slot; a slot in
 * which it ends is paid for in part. GADGET's guarantee holds if the benefit never falls and is
 * concave, and, where GPUs have a cost, linear.
 */
class JobUtility
{
  public:
    virtual ~JobUtility() = default;

    /**
     * @param state a job, for its constants only
     * @param iterations how many it has done, at most its target
     * @return what they are worth
     */
    virtual double GetBenefit(const JobState& state, double iterations) const = 0;

    /**
     * The difference of two benefits. Override it where these are so close that their difference
     * is lost to rounding: a gain of 0 is a step that GADGET never takes.
     *
     * @param state a job, for its constants only
     * @param from iterations before
     * @param to iterations after, at most its target
     * @return what the iterations between are worth
     */
    virtual double GetGain(const JobState& state, double from, double to) const;

    /**
     * @param state a job, for its constants only
     * @return what a GPU costs for a slot, 0 or more
     */
    virtual double GetWorkerSlotCost(const JobState& state) const;
};

/**
 * @ingroup allreduce
 *
 * @brief Excessive-training avoidance: progress counts up to the target, and not beyond.
 */
class ProgressUtility : public JobUtility
{
  public:
    double GetBenefit(const JobState& state, double iterations) const override;
};

/**
 * @ingroup allreduce
 *
 * @brief Energy efficiency: the same benefit, and a price for every GPU and slot.
 *
 * The price is relative: a job that runs on one GPU from beginning to end pays this share of its
 * whole benefit. A job's worker-slots thus cost in proportion to what they could bring, whatever
 * the job's size.
 */
class EnergyUtility : public ProgressUtility
{
  public:
    /// @param price 0 or more
    explicit EnergyUtility(double price);

    double GetWorkerSlotCost(const JobState& state) const override;

  private:
    double m_price; //!< share of the benefit that one GPU costs over the whole job
};

/**
 * @ingroup allreduce
 *
 * @brief Fairness: ((1 + x/s)^(1-alpha) - 1) / (1-alpha) of the share x of the target reached.
 *
 * Alpha 0 is the sum of progress, 1 (by its limit, the logarithm) is proportional fairness, and
 * as alpha grows the job that has come least far counts ever more: max-min fairness.
 */
class AlphaFairUtility : public JobUtility
{
  public:
    /// Large enough for max-min fairness, small enough for double.
    static constexpr double MAX_MIN_ALPHA = 32;

    /**
     * @param alpha 0 or more
     * @param scale s: the share from which on the benefit bends
     */
    explicit AlphaFairUtility(double alpha, double scale = 0.1);

    double GetBenefit(const JobState& state, double iterations) const override;
    double GetGain(const JobState& state, double from, double to) const override;

  private:
    double m_alpha; //!< how fair
    double m_scale; //!< where the benefit bends
};

/**
 * @ingroup allreduce
 *
 * @brief A weighted sum of utilities; concave if they are and no weight is negative.
 */
class WeightedUtility : public JobUtility
{
  public:
    /**
     * @param weight 0 or more
     * @param utility what to add
     */
    void Add(double weight, std::unique_ptr<JobUtility> utility);

    double GetBenefit(const JobState& state, double iterations) const override;
    double GetGain(const JobState& state, double from, double to) const override;
    double GetWorkerSlotCost(const JobState& state) const override;

  private:
    std::vector<std::pair<double, std::unique_ptr<JobUtility>>> m_parts; //!< what to add up
};

/// The forms that ParseUtility understands, for help texts.
extern const char* const UTILITY_GRAMMAR;

/**
 * @ingroup allreduce
 *
 * @param text one of the forms of UTILITY_GRAMMAR, for example "0.5*progress+0.5*fair:1"
 * @return the utility
 * @throws InputError that names the text and what was expected
 */
std::unique_ptr<JobUtility> ParseUtility(const std::string& text);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_UTILITY_H */
