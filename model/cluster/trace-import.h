/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_TRACE_IMPORT_H
#define ALLREDUCE_TRACE_IMPORT_H

#include "cluster-job.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @ingroup allreduce
/// What public traces do not say.
struct TraceSettings
{
    double slotSeconds{60};            //!< how long a slot is
    double reduceBytesPerSecond{1e10}; //!< how fast a worker adds up gradients
    uint64_t bandwidthBps{5000000000}; //!< what rings reserve
    std::string model{"resnet-50"};    //!< what jobs train whose model is not said
    bool isElastic{false};             //!< jobs run with fewer GPUs than they asked for, too
    double arrivalSpeed{1};            //!< so many times as fast as in the trace jobs come
};

/// @ingroup allreduce
/// Jobs of a trace.
struct ImportedTrace
{
    std::vector<Job> jobs;          //!< by arrival
    std::vector<std::string> notes; //!< what was assumed and left out, a line each
};

/// The forms that ImportJobs understands, for help texts.
extern const char* const JOBS_GRAMMAR;

/**
 * @ingroup allreduce
 *
 * @param spec one of the forms of JOBS_GRAMMAR
 * @return whether it names a public trace rather than a file of our own
 */
bool IsPublicTrace(const std::string& spec);

/**
 * @ingroup allreduce
 *
 * Read the jobs of a public trace, or of a file that ReadJobFile understands.
 *
 * @param spec one of the forms of JOBS_GRAMMAR
 * @param settings what such traces do not say
 * @return the jobs
 * @throws InputError that names the file, the line and what is wrong with it
 */
ImportedTrace ImportJobs(const std::string& spec, const TraceSettings& settings);

} // namespace ns3::allreduce

#endif /* ALLREDUCE_TRACE_IMPORT_H */
