/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRAINING_ROWS_H
#define ALLREDUCE_TRAINING_ROWS_H

#include "result-writer.h"
#include "run-experiment.h"
#include "run-options.h"

#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ns3::allreduce
{

/// @return the columns of a training iteration
std::vector<ResultWriter::Column> GetTrainingColumns();

/**
 * @param experiment what was run, with a training iteration
 * @param options how
 * @param result what came out
 * @return a row for each of its AllReduces that is over, and one for all of it
 */
std::vector<nlohmann::ordered_json> MakeTrainingRows(const Experiment& experiment,
                                                     const RunOptions& options,
                                                     const ExperimentResult& result);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRAINING_ROWS_H */
