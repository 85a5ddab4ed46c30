/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_SLICES_H
#define ALLREDUCE_TRAINING_SLICES_H

#include "advantage-estimate.h"
#include "training-group.h"
#include "training-problems.h"

#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// @param config what to train on, and how @param nProcesses how many processes are to train
/// @throws InputError if some of them would have nothing to do
void CheckTrainingSize(const TrainingConfig& config, uint32_t nProcesses);

/// @ingroup allreduce
/// Rollouts whose share of every gradient is computed in one piece.
struct TrainingSlice
{
    std::vector<Episode> episodes; //!< none if another process has them
    AdvantageEstimate advantages;  //!< of their decisions and rounds
};

/**
 * @ingroup allreduce
 * @brief Shares the slices of an iteration out among the processes of a group and their threads.
 *
 * Rollout i belongs to slice i modulo the number of slices. What slices give is added up in their
 * order, so that sums do not depend on who has which slice.
 */
class TrainingSlices
{
  public:
    /// Writes the numbers of a slice to a row, which is zero before.
    using RowTask = std::function<void(uint32_t slice, double* row)>;

    /// @param config says how many slices @param group who trains; none: this process on its own
    TrainingSlices(const TrainingConfig& config, std::shared_ptr<const TrainingGroup> group);

    /// @return the number of slices
    uint32_t GetCount() const
    {
        return m_count;
    }

    /// @return who trains
    const TrainingGroup& GetGroup() const
    {
        return *m_group;
    }

    /// @return the problems of an iteration: each process draws some and tells the others
    /// @param config what to draw from @param iteration its number
    std::vector<TrainingProblem> DrawProblems(const TrainingConfig& config,
                                              uint32_t iteration) const;

    /// Call a task with every slice of this process. @param task what to do
    void ForOwn(const std::function<void(uint32_t slice)>& task) const;

    /// @return the sum of the rows of all slices @param width of a row @param task writes a row
    std::vector<double> Sum(std::size_t width, const RowTask& task) const;

  private:
    const std::shared_ptr<const TrainingGroup> m_group;
    const uint32_t m_count;
};

/// How many numbers a struct of doubles has.
template <typename Struct>
constexpr std::size_t N_NUMBERS = sizeof(Struct) / sizeof(double);

/// Write a struct of doubles to a row. @param numbers the struct @param [out] row the row
template <typename Struct>
void
WriteNumbers(const Struct& numbers, double* row)
{
    std::memcpy(row, &numbers, sizeof(Struct));
}

/// @return what WriteNumbers wrote @param row the row
template <typename Struct>
Struct
ReadNumbers(const double* row)
{
    static_assert(std::is_trivially_copyable_v<Struct>);
    Struct numbers;
    std::memcpy(static_cast<void*>(&numbers), row, sizeof(Struct));
    return numbers;
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_SLICES_H */
