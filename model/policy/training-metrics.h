/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_METRICS_H
#define ALLREDUCE_TRAINING_METRICS_H

#include "advantage-estimate.h"
#include "policy-trainer.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

namespace ns3::allreduce
{

// Slices and processes add up sums; means are taken of these at the end.

/// Sums over the decisions of a minibatch.
struct MinibatchMetrics
{
    double nDecisions{0};
    double entropy{0};
    double approxKl{0};
    double nClipped{0};
};

/// Sums over the minibatches of an iteration, for means.
struct UpdateMetrics
{
    double entropy{0};      //!< sum, of the lower policy
    double upperEntropy{0}; //!< sum, of the upper policy
    double approxKl{0};     //!< sum
    double clipfrac{0};     //!< sum
    uint32_t nLower{0};     //!< minibatches of the lower policy
    uint32_t nUpper{0};     //!< minibatches of the upper policy

    void Add(const MinibatchMetrics& sums, bool isUpper)
    {
        (isUpper ? upperEntropy : entropy) += sums.entropy / sums.nDecisions;
        approxKl += sums.approxKl / sums.nDecisions;
        clipfrac += sums.nClipped / sums.nDecisions;
        ++(isUpper ? nUpper : nLower);
    }

    void WriteTo(TrainingProgress& progress) const
    {
        const double n = std::max(1U, nLower + nUpper);
        progress.entropy = entropy / std::max(1U, nLower);
        progress.upperEntropy = upperEntropy / std::max(1U, nUpper);
        progress.approxKl = approxKl / n;
        progress.clipfrac = clipfrac / n;
    }
};

/// Sums over the returns of rounds, for how much of their variance the critic explains.
struct ReturnMoments
{
    double count{0};
    double sum{0};
    double squares{0};
    double errorSum{0}; //!< of what the critic was wrong by
    double errorSquares{0};

    void Add(const AdvantageEstimate& estimate)
    {
        for (std::size_t i = 0; i < estimate.returns.size(); ++i)
        {
            const double error = estimate.returns[i] - estimate.values[i];
            ++count;
            sum += estimate.returns[i];
            squares += estimate.returns[i] * estimate.returns[i];
            errorSum += error;
            errorSquares += error * error;
        }
    }

    /// @return 1 - Var(returns - values) / Var(returns)
    double GetExplainedVariance() const
    {
        const double variance = squares - sum * sum / count;
        return variance > 0 ? 1 - (errorSquares - errorSum * errorSum / count) / variance : 0;
    }
};

/// Sums over episodes.
struct EpisodeSums
{
    double returns{0};
    double excessRounds{0};
    double selectedShare{0};
    double nDecisions{0};

    void Add(const Episode& episode)
    {
        returns += std::accumulate(episode.rewards.begin(), episode.rewards.end(), 0.0);
        excessRounds += double(episode.nRounds) - episode.nRoundsNeeded;
        selectedShare += episode.selectedShare;
        nDecisions += episode.decisions.size();
    }
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_METRICS_H */
