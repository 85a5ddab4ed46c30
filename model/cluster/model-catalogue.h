/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_MODEL_CATALOGUE_H
#define ALLREDUCE_MODEL_CATALOGUE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// How long a training step takes on one GPU.
struct StepTime
{
    uint32_t batch; //!< samples of a step; 0: the model has one size only
    double seconds; //!< on one V100
};

/**
 * @ingroup allreduce
 *
 * @brief A model that people train, for traces that name models and not what they need.
 */
struct TrainingModel
{
    std::string name;            //!< as in --trace-model
    uint64_t parameters;         //!< how many
    std::vector<StepTime> steps; //!< measured, by ascending batch; may be empty

    /// @return size of its gradient, 4 bytes for each parameter
    uint64_t GetGradientBytes() const;

    /**
     * @param batch samples of a step
     * @return seconds that it takes
     * @throws InputError that names the batches that were measured
     */
    double GetStepSeconds(uint32_t batch) const;
};

/// @ingroup allreduce
/// @return all models; the manual has the same table, with where its numbers are from
const std::vector<TrainingModel>& GetModelCatalogue();

/**
 * @ingroup allreduce
 *
 * @param name of a model; case, - and _ do not matter
 * @return the model
 * @throws InputError that names those that there are
 */
const TrainingModel& FindModel(std::string_view name);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_MODEL_CATALOGUE_H */
