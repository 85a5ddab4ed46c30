/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_TRACE_H
#define ALLREDUCE_JOB_TRACE_H

#include "cluster-job.h"

#include <iosfwd>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * Read jobs from CSV. The first line names the columns, in any order:
 *
 * | column | what | if it is not there |
 * | --- | --- | --- |
 * | name | what the job is called | the number of its line |
 * | arrival_slot | the first slot in which it can run | an error |
 * | gradient_bytes | size of the gradient | an error |
 * | forward_s | forward pass of a whole batch on one GPU, in seconds | an error |
 * | backward_s | backward pass of the same | an error |
 * | overhead_s | what every iteration costs besides | 0 |
 * | iterations | iterations until it has learned all | an error |
 * | min_workers | with fewer it does not run | 1 |
 * | max_workers | most workers that it can use | an error |
 * | bandwidth | what its ring reserves on every hop, as 1Gbps | an error |
 * | weight | how much it matters | 1 |
 *
 * Empty lines and lines that begin with # are skipped.
 *
 * @param in where to read
 * @param name what the file is called, for messages
 * @return the jobs, in the order of the file
 * @throws InputError that names the file, the line and what is wrong with it
 */
std::vector<Job> ReadJobs(std::istream& in, const std::string& name);

/**
 * @ingroup allreduce
 *
 * @param path of a file that ReadJobs understands
 * @return the jobs
 * @throws InputError that names the file, the line and what is wrong with it
 */
std::vector<Job> ReadJobFile(const std::string& path);

/**
 * @ingroup allreduce
 *
 * Write jobs as ReadJobs reads them.
 *
 * @param jobs the jobs
 * @param comment written first, after a #, if it is not empty
 * @param out where to write
 */
void WriteJobs(const std::vector<Job>& jobs, const std::string& comment, std::ostream& out);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_TRACE_H */
