/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "job-options.h"

#include "ns3/allreduce-units.h"

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <limits>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// Something that a job may say.
struct Key
{
    const char* name;                                       //!< what it is called
    void (*set)(JobOptions& job, const std::string& value); //!< takes it
};

void
SetName(JobOptions& job, const std::string& value)
{
    job.name = value;
}

void
SetIterations(JobOptions& job, const std::string& value)
{
    const uint64_t number = ParseNumber(value, "iterations");
    if (number > std::numeric_limits<uint32_t>::max())
    {
        FailInput("iterations ", Quote(value), ": expected a smaller number");
    }
    job.run.iterations = number;
}

const Key KEYS[] = {
    {"name", SetName},
    {"servers", [](JobOptions& job, const std::string& value) { job.plan.groups.servers = value; }},
    {"collective",
     [](JobOptions& job, const std::string& value) { job.plan.groups.collective = value; }},
    {"root", [](JobOptions& job, const std::string& value) { job.plan.groups.root = value; }},
    {"relay", [](JobOptions& job, const std::string& value) { job.plan.groups.relay = value; }},
    {"scheduler", [](JobOptions& job, const std::string& value) { job.plan.schedulers = {value}; }},
    {"bytes",
     [](JobOptions& job, const std::string& value) { job.bytes = ParseSize(value, "bytes"); }},
    {"chunks-per-server",
     [](JobOptions& job, const std::string& value) { job.plan.chunksPerServer = value; }},
    {"start",
     [](JobOptions& job, const std::string& value) {
         job.start = NanoSeconds(ParseTime(value, "start"));
     }},
    {"iterations", SetIterations},
    {"compute-time",
     [](JobOptions& job, const std::string& value) {
         ParseTime(value, "compute-time");
         job.run.computeTime = value;
     }},
};

std::string
ListKeys()
{
    std::string names;
    for (const Key& key : KEYS)
    {
        names += (names.empty() ? "" : ", ") + std::string(key.name);
    }
    return names;
}

/// Takes what a job says. @param text KEY=VALUE;KEY=VALUE...
void
SetKeys(JobOptions& job, const std::string& text)
{
    std::vector<std::string> parts;
    boost::split(parts, text, [](char c) { return c == ';'; });
    for (const std::string& part : parts)
    {
        const std::size_t equals = part.find('=');
        const std::string name = part.substr(0, equals);
        const Key* key = std::find_if(std::begin(KEYS), std::end(KEYS), [&](const Key& other) {
            return name == other.name;
        });
        if (equals == std::string::npos || key == std::end(KEYS))
        {
            FailInput(Quote(part), ": expected KEY=VALUE with one of the keys ", ListKeys());
        }
        const std::string value = part.substr(equals + 1);
        if (value.empty())
        {
            FailInput(name, ": expected a value after the =");
        }
        if (!job.keys.insert(name).second)
        {
            FailInput(name, ": given twice, expected once");
        }
        key->set(job, value);
    }
}

/// Refuses what does not depend on the network.
void
CheckJob(const JobOptions& job)
{
    if (job.plan.schedulers.size() != 1 || job.plan.schedulers.front() == "all")
    {
        FailInput("scheduler: expected one, a job has one plan");
    }
    if (job.keys.count("compute-time") > 0)
    {
        job.run.CheckIterations();
    }
    MakeScheduler(job.plan.schedulers.front(), job.plan);
    ParseCollectiveKind(job.plan.groups.collective, "collective");
    job.run.Check();
}

/// @return whether a program's option matters to one of the jobs
bool
TakesAny(const std::vector<JobOptions>& jobs, const std::string& option)
{
    return std::any_of(jobs.begin(), jobs.end(), [&](const JobOptions& job) {
        const bool matters = option != "compute-time" || job.run.iterations > 1;
        return matters && job.keys.count(option) == 0;
    });
}

} // namespace

std::string
GetJobGrammar()
{
    return "KEY=VALUE;KEY=VALUE...: one of several jobs that share the network, with the keys " +
           ListKeys() + "; what a job does not say is as the program's options say; once or more";
}

std::vector<JobOptions>
ParseJobs(const std::vector<std::string>& texts,
          const PlanOptions& plan,
          const RunOptions& run,
          uint64_t bytes)
{
    std::vector<JobOptions> jobs;
    std::set<std::string> names;
    for (const std::string& text : texts)
    {
        JobOptions job;
        job.name = "job" + std::to_string(jobs.size() + 1);
        job.plan = plan;
        job.run = run;
        job.bytes = bytes;
        ForJob(text, [&] {
            SetKeys(job, text);
            CheckJob(job);
        });
        job.servers = job.plan.groups.servers.empty() ? "all" : job.plan.groups.servers;
        if (!names.insert(job.name).second)
        {
            FailInput("--job ",
                      Quote(text),
                      ": name ",
                      Quote(job.name),
                      ": expected another one, ",
                      "a job before has it");
        }
        jobs.push_back(std::move(job));
    }
    return jobs;
}

void
ExcludeBesideJobs(const ProgramOptions& parser, uint32_t nRanks)
{
    parser.Exclude(
        "job",
        {"groups", "schedule-in", "schedule-out", "chakra-in", "links", "trace-json", "partition"});
    if (parser.IsGiven("job") && nRanks > 1)
    {
        FailInput("--job: not possible in ", nRanks, " processes, which run one AllReduce");
    }
}

void
CheckBesideJobs(const ProgramOptions& parser, const std::vector<JobOptions>& jobs)
{
    for (const Key& key : KEYS)
    {
        if (parser.IsGiven("job") && parser.IsGiven(key.name) && !TakesAny(jobs, key.name))
        {
            FailInput("--", key.name, ": has no effect, every --job says otherwise");
        }
    }
    PlanOptions all = jobs.empty() ? PlanOptions() : jobs.front().plan;
    all.schedulers.clear();
    for (const JobOptions& job : jobs)
    {
        all.schedulers.push_back(job.plan.schedulers.front());
    }
    CheckSchedulers(all);
}

} // namespace ns3::allreduce
