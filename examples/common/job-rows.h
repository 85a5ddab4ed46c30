/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_ROWS_H
#define ALLREDUCE_JOB_ROWS_H

#include "job-experiment.h"
#include "result-writer.h"

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace ns3::allreduce
{

/// @return what allreduce-run shows of a job's row in table, CSV and gnuplot
std::vector<ResultWriter::Column> GetJobColumns();

/**
 * Make columns wide enough for what jobs are called.
 *
 * @param jobs the jobs of the rows to come
 * @param writer where the rows go
 */
void MakeRoomForJobs(const std::vector<JobOptions>& jobs, ResultWriter& writer);

/**
 * @param job what was run
 * @param result what came out
 * @return a row for a ResultWriter: what MakeRow says of a run, and what makes it a job's
 */
nlohmann::ordered_json MakeJobRow(const PlannedJob& job, const JobResult& result);

/**
 * @param job what was run, with RunOptions::recordsFlows
 * @param result what came out
 * @param number the job's place among those that shared the network, from 0
 * @param run the same for all jobs that shared the network
 * @return what MakeRunView makes of the run, and what tells the page whose it is
 */
nlohmann::ordered_json MakeJobView(const PlannedJob& job,
                                   const JobResult& result,
                                   uint32_t number,
                                   uint32_t run);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_ROWS_H */
