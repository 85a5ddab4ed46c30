/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "sweep-options.h"

#include "allreduce-program-options.h"
#include "mpi-ranks.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-units.h"

#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Every N-th case, from the I-th on.
struct Shard
{
    uint64_t number{1};  //!< I, from 1 on
    uint64_t nShards{1}; //!< N
};

Shard
ParseShard(const std::string& text)
{
    if (text.empty())
    {
        return {};
    }
    const std::size_t slash = text.find('/');
    if (slash != std::string::npos)
    {
        const std::string option = "--shard " + Quote(text);
        const Shard shard{ParseNumber(text.substr(0, slash), option),
                          ParseNumber(text.substr(slash + 1), option)};
        if (shard.number >= 1 && shard.number <= shard.nShards)
        {
            return shard;
        }
    }
    FailInput("--shard ", Quote(text), ": expected I/N with I from 1 to N");
}

} // namespace

void
SweepOptions::AddTo(ProgramOptions& parser, const std::string& jobs)
{
    m_jobsName = jobs;
    parser.Add(jobs,
               nJobs,
               "cases at a time, each in a process of its own; under mpirun one a rank");
    parser.Add("shard", shard, "I/N: only every N-th case, from the I-th on, for batch queues");
}

void
SweepOptions::Check(const ProgramOptions& parser)
{
    ParseShard(shard);
    if (nJobs == 0)
    {
        FailInput("--", m_jobsName, " \"0\": expected 1 or more");
    }
    if (MpiRanks::Get().GetSize() > 1)
    {
        if (parser.IsGiven(m_jobsName))
        {
            FailInput("--", m_jobsName, ": under mpirun each rank does one case at a time");
        }
        nJobs = 1;
    }
}

bool
SweepOptions::IsOneAfterAnother() const
{
    return nJobs == 1 && MpiRanks::Get().GetSize() == 1;
}

Sweep::Sweep(const SweepOptions& options, std::size_t nCases, WorkerProcesses::Task task)
    : m_nJobs(options.nJobs),
      m_task(std::move(task))
{
    const Shard shard = ParseShard(options.shard);
    for (std::size_t i = shard.number - 1; i < nCases; i += shard.nShards)
    {
        m_cases.push_back(i);
    }
    if (m_cases.empty() && nCases > 0)
    {
        FailInput("--shard ", Quote(options.shard), ": has none of the ", nCases, " cases");
    }
}

const std::vector<std::size_t>&
Sweep::GetCases() const
{
    return m_cases;
}

bool
Sweep::Serve()
{
    MpiRanks& ranks = MpiRanks::Get();
    if (ranks.GetRank() == 0)
    {
        return false;
    }
    ServeFirstRank(ranks, [this](std::size_t index) { return m_task(m_cases[index]); });
    return true;
}

void
Sweep::Run(const WorkerProcesses::Report& report)
{
    WorkerProcesses workers(m_nJobs, &MpiRanks::Get());
    workers.Run(
        m_cases.size(),
        [this](std::size_t index) { return m_task(m_cases[index]); },
        [&](std::size_t index, const WorkerProcesses::Outcome& outcome) {
            report(m_cases[index], outcome);
        });
}

} // namespace ns3::allreduce
