/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_SWEEP_OPTIONS_H
#define ALLREDUCE_SWEEP_OPTIONS_H

#include "worker-processes.h"

#include <cstdint>
#include <string>
#include <vector>

namespace ns3::allreduce
{

class ProgramOptions;

/// Who does which of many cases: processes of this machine, ranks of mpirun, machines of a queue.
struct SweepOptions
{
    uint32_t nJobs{1}; //!< cases at a time
    std::string shard; //!< "I/N": only every N-th case, from the I-th on

    /**
     * @param parser the program's options
     * @param jobs what the option for nJobs is called
     */
    void AddTo(ProgramOptions& parser, const std::string& jobs = "jobs");

    /**
     * Refuse what cannot be done; to be called after the parser's Parse. Joins the ranks of mpirun.
     *
     * @param parser the program's options
     * @throws InputError that names the option
     */
    void Check(const ProgramOptions& parser);

    /// @return whether this process sees one case after another, so that each can say how far it is
    bool IsOneAfterAnother() const;

  private:
    std::string m_jobsName; //!< of the option
};

/**
 * @brief Cases that are done independently of each other, and reported in their order.
 *
 * All ranks of mpirun make the same sweep. The first one hands out the cases, does some itself and
 * reports; the others do cases until none is left.
 */
class Sweep
{
  public:
    /**
     * @param options who does what
     * @param nCases how many cases there are
     * @param task does one of them, given its number, in a process of its own
     * @throws InputError if the shard has no case
     */
    Sweep(const SweepOptions& options, std::size_t nCases, WorkerProcesses::Task task);

    /// @return the numbers of the cases that are done
    const std::vector<std::size_t>& GetCases() const;

    /**
     * Do what the first rank asks for.
     *
     * @return true when that is done, and there is nothing to report here; false in the first rank
     */
    bool Serve();

    /**
     * Do all cases.
     *
     * @param report told what came out, by number of the case
     * @throws InputError if a case ends with one; those before it have been reported
     * @throws Interrupt at SIGINT and SIGTERM
     */
    void Run(const WorkerProcesses::Report& report);

  private:
    uint32_t m_nJobs;                 //!< cases at a time
    std::vector<std::size_t> m_cases; //!< their numbers
    WorkerProcesses::Task m_task;     //!< does one of them
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_SWEEP_OPTIONS_H */
