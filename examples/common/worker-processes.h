/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_WORKER_PROCESSES_H
#define ALLREDUCE_WORKER_PROCESSES_H

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace ns3::allreduce
{

class MpiRanks;

/// Thrown when somebody asks the program to stop.
struct Interrupt
{
    int signal; //!< SIGINT or SIGTERM
};

/**
 * @brief Does tasks in processes of their own, several at a time.
 *
 * ns-3 has one simulator in a process, so that simulations run side by side only in several. A
 * process does one task: nothing is left of the tasks before, and if it crashes the others go on.
 * None outlives the process that started it, however that ends.
 */
class WorkerProcesses
{
  public:
    /// What came out of a task.
    struct Outcome
    {
        std::string text;    //!< what the task returned
        std::string failure; //!< how its process failed; "" if it did not
    };

    /// Does a task, given its number.
    using Task = std::function<std::string(std::size_t)>;
    /// Told about each task, in the order of their numbers and as soon as possible.
    using Report = std::function<void(std::size_t, const Outcome&)>;

    /**
     * @param nJobs how many processes there are at a time, 1 or more
     * @param ranks others that help, each with a process at a time; see ServeFirstRank
     */
    explicit WorkerProcesses(uint32_t nJobs, MpiRanks* ranks = nullptr);

    /// Ends processes that are still at work.
    ~WorkerProcesses();

    WorkerProcesses(const WorkerProcesses&) = delete;
    WorkerProcesses& operator=(const WorkerProcesses&) = delete;

    /**
     * Do tasks.
     *
     * @param nTasks how many
     * @param task does one of them, in a process of its own
     * @param report told what came out, in this process
     * @throws InputError if a task ends with one; those before it have been reported
     * @throws Interrupt at SIGINT and SIGTERM
     */
    void Run(std::size_t nTasks, const Task& task, const Report& report);

  private:
    /// A process at work.
    struct Worker
    {
        pid_t pid;         //!< the process
        int pipe;          //!< what it says comes from here
        std::size_t index; //!< its task
        std::string text;  //!< what it has said
    };

    /// A rank that does tasks for this one.
    struct Helper
    {
        uint32_t rank;                   //!< its number
        std::optional<std::size_t> task; //!< what it is doing
    };

    void Start(std::size_t index, const Task& task);
    /// Wait for news from workers and helpers.
    void Listen();
    void End(Worker& worker);
    /// Take a result from a helper, if there is one. @return whether there was
    bool HearHelper();
    /// @return a helper that has nothing to do, or nullptr
    Helper* FindIdleHelper();

    uint32_t m_nJobs;                 //!< how many processes there are at a time
    MpiRanks* m_ranks;                //!< others that help, or nullptr
    std::vector<Helper> m_helpers;    //!< those ranks
    std::vector<Worker> m_workers;    //!< those at work
    std::vector<bool> m_isDone;       //!< by task
    std::vector<Outcome> m_outcomes;  //!< by task
    std::vector<bool> m_isInputError; //!< by task: its text is that of an InputError
};

/**
 * Do what the first rank's WorkerProcesses ask for, each task in a process of its own, until they
 * have no more tasks.
 *
 * @param ranks those of mpirun
 * @param task does a task
 */
void ServeFirstRank(MpiRanks& ranks, const WorkerProcesses::Task& task);

/// @return how a process ended, as "was ended by signal 9 (Killed)" @param status of waitpid
std::string DescribeStatus(int status);

/// A call to the system failed. @param call its name @throws std::runtime_error that says why
[[noreturn]] void FailSystem(const std::string& call);

/// @return how many processes this machine runs at a time
uint32_t GetNCores();

} // namespace ns3::allreduce

#endif /* ALLREDUCE_WORKER_PROCESSES_H */
