/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_JOB_OPTIONS_H
#define ALLREDUCE_JOB_OPTIONS_H

#include "allreduce-program-options.h"
#include "plan-options.h"
#include "run-options.h"

#include "ns3/allreduce-error.h"
#include "ns3/nstime.h"

#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace ns3::allreduce
{

/// @brief One of several jobs that share a network: a program's options, as far as the job does not
/// say otherwise.
struct JobOptions
{
    std::string name;    //!< what it is called in results
    PlanOptions plan;    //!< its servers, its collective, its scheduler
    RunOptions run;      //!< its iterations and what is between them
    uint64_t bytes{0};   //!< size of its gradient
    Time start;          //!< when it begins
    std::string servers; //!< as they were given; "all" if they were not

    std::set<std::string> keys; //!< what the job says for itself
};

/// @return what the text of a job may be, for the help
std::string GetJobGrammar();

/**
 * @param texts a job each, as "name=a;servers=0-7;bytes=4MiB"
 * @param plan what holds for a job that does not say otherwise
 * @param run likewise
 * @param bytes likewise
 * @return the jobs, in the same order
 * @throws InputError that names the job, the key and what was expected
 */
std::vector<JobOptions> ParseJobs(const std::vector<std::string>& texts,
                                  const PlanOptions& plan,
                                  const RunOptions& run,
                                  uint64_t bytes);

/**
 * Refuse what is not possible beside --job.
 *
 * @param parser the program's options, after Parse
 * @param nRanks processes that simulate together
 * @throws InputError that names the option
 */
void ExcludeBesideJobs(const ProgramOptions& parser, uint32_t nRanks);

/**
 * Refuse options that every job overrides.
 *
 * @param parser the program's options, after Parse
 * @param jobs the jobs, as ParseJobs returned them
 * @throws InputError that names the option
 */
void CheckBesideJobs(const ProgramOptions& parser, const std::vector<JobOptions>& jobs);

/**
 * Do something for a job; what is wrong with what the user gave then has the job's name.
 *
 * @param name the job's name
 * @param body what is done
 * @return what the body returns
 * @throws InputError that names the job
 */
template <typename Body>
auto
ForJob(const std::string& name, const Body& body)
{
    try
    {
        return body();
    }
    catch (const InputError& error)
    {
        FailInput("--job ", Quote(name), ": ", error.what());
    }
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_JOB_OPTIONS_H */
