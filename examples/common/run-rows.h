/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_RUN_ROWS_H
#define ALLREDUCE_RUN_ROWS_H

#include "result-writer.h"
#include "run-experiment.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @return what allreduce-run shows of a row in table, CSV and gnuplot
std::vector<ResultWriter::Column> GetRunColumns();

/// @return what allreduce-compare shows of a row in table, CSV and gnuplot
std::vector<ResultWriter::Column> GetCompareColumns();

/**
 * @param experiment what was run
 * @param options how
 * @param result what came out
 * @return a row for a ResultWriter
 */
nlohmann::ordered_json MakeRow(const Experiment& experiment,
                               const RunOptions& options,
                               const ExperimentResult& result);

/**
 * Add to a row whether all was right, how long queues became and what they dropped, what was done
 * about faults, and how the run failed if it did.
 *
 * @param row the row
 * @param options how it was run
 * @param result what came out
 */
void AddOutcome(nlohmann::ordered_json& row,
                const RunOptions& options,
                const ExperimentResult& result);

/**
 * Add to a row how fast a gradient was summed: goodput, and the two bandwidths of NCCL's tests.
 *
 * @param row a row that has the number of servers
 * @param bytes size of the gradient
 * @param seconds how long it took
 */
void AddBandwidths(nlohmann::ordered_json& row, uint64_t bytes, double seconds);

/**
 * Write a row and, if the run has failed, a line on standard error that says so.
 *
 * @param program the program's name
 * @param row what MakeRow returned
 * @param writer where the row goes
 * @return whether the run went well
 */
bool ReportRow(const std::string& program, const nlohmann::ordered_json& row, ResultWriter& writer);

/**
 * Print the measured use of the busiest links and the mean of all.
 *
 * @param row by MakeRow, with the use of links
 * @param out where to print
 */
void PrintLinkUse(const nlohmann::ordered_json& row, std::ostream& out);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_RUN_ROWS_H */
