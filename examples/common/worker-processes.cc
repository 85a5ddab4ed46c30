/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "worker-processes.h"

#include "mpi-ranks.h"

#include "ns3/allreduce-error.h"
#include "ns3/parallel-for.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <stdexcept>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// How a worker ends; what it has said is then the task's result or a message.
enum ExitStatus
{
    DONE = 0,
    FAILED = 1,
    INPUT_ERROR = 2
};

/// What a rank says of a task: one of these, and then the text.
enum Verdict : char
{
    IS_DONE = 'd',
    HAS_FAILED = 'f',
    IS_INPUT_ERROR = 'i'
};

/// What tells a rank that there are no more tasks.
const std::string NO_MORE;

/// How long to wait before looking for messages of ranks again; waiting in MPI keeps a core busy.
constexpr int PAUSE_MS = 1;

volatile std::sig_atomic_t g_signal = 0; //!< that has come; 0: none

void
NoteSignal(int signal)
{
    g_signal = signal;
}

/// Takes note of SIGINT and SIGTERM instead of ending, as long as it lives.
class SignalGuard
{
  public:
    SignalGuard()
    {
        g_signal = 0;

        struct sigaction note
        {
        };

        note.sa_handler = NoteSignal;
        sigaction(SIGINT, &note, &m_oldInt);
        sigaction(SIGTERM, &note, &m_oldTerm);
    }

    ~SignalGuard()
    {
        Restore();
    }

    SignalGuard(const SignalGuard&) = delete;
    SignalGuard& operator=(const SignalGuard&) = delete;

    /// Everything is as it was before.
    void Restore() const
    {
        sigaction(SIGINT, &m_oldInt, nullptr);
        sigaction(SIGTERM, &m_oldTerm, nullptr);
    }

  private:
    struct sigaction m_oldInt;  //!< what SIGINT did
    struct sigaction m_oldTerm; //!< what SIGTERM did
};

/// @return whether all could be written
bool
WriteAll(int pipe, const std::string& text)
{
    std::size_t begin = 0;
    while (begin < text.size())
    {
        const ssize_t written = write(pipe, text.data() + begin, text.size() - begin);
        if (written < 0 && errno != EINTR)
        {
            return false;
        }
        begin += std::max<ssize_t>(written, 0);
    }
    return true;
}

/// A worker's life.
[[noreturn]] void
Work(int pipe, std::size_t index, const WorkerProcesses::Task& task)
{
    ExitStatus status = DONE;
    std::string text;
    try
    {
        text = task(index);
    }
    catch (const InputError& error)
    {
        text = error.what();
        status = INPUT_ERROR;
    }
    catch (const std::exception& error)
    {
        text = error.what();
        status = FAILED;
    }
    // Not exit(): what this process shares with its parent is for that to clear away.
    _exit(WriteAll(pipe, text) ? status : FAILED);
}

/// @return how a process failed; "" if it did not
std::string
DescribeEnd(int status, const std::string& text)
{
    if (WIFSIGNALED(status))
    {
        return "its process " + DescribeStatus(status);
    }
    switch (WEXITSTATUS(status))
    {
    case DONE:
    case INPUT_ERROR:
        return "";
    case FAILED:
        return text.empty() ? "its process failed" : text;
    default:
        return "its process " + DescribeStatus(status);
    }
}

} // namespace

WorkerProcesses::WorkerProcesses(uint32_t nJobs, MpiRanks* ranks)
    : m_nJobs(std::max(nJobs, 1U)),
      m_ranks(ranks)
{
    for (uint32_t rank = 1; ranks && rank < ranks->GetSize(); ++rank)
    {
        m_helpers.push_back({rank, std::nullopt});
    }
}

WorkerProcesses::~WorkerProcesses()
{
    for (const Worker& worker : m_workers)
    {
        kill(worker.pid, SIGKILL);
        waitpid(worker.pid, nullptr, 0);
        close(worker.pipe);
    }
}

void
WorkerProcesses::Run(std::size_t nTasks, const Task& task, const Report& report)
{
    m_isDone.assign(nTasks, false);
    m_isInputError.assign(nTasks, false);
    m_outcomes.assign(nTasks, {});
    const SignalGuard signals;
    std::size_t nStarted = 0;
    for (std::size_t nReported = 0; nReported < nTasks;)
    {
        while (nStarted < nTasks && m_workers.size() < m_nJobs)
        {
            Start(nStarted++, [&](std::size_t index) {
                signals.Restore();
                return task(index);
            });
        }
        for (Helper* idle = nullptr; nStarted < nTasks && (idle = FindIdleHelper());)
        {
            idle->task = nStarted++;
            m_ranks->Send(idle->rank, std::to_string(*idle->task));
        }
        Listen();
        if (g_signal != 0)
        {
            throw Interrupt{g_signal};
        }
        for (; nReported < nTasks && m_isDone[nReported]; ++nReported)
        {
            if (m_isInputError[nReported])
            {
                FailInput(m_outcomes[nReported].text);
            }
            report(nReported, m_outcomes[nReported]);
        }
    }
    for (const Helper& helper : m_helpers)
    {
        m_ranks->Send(helper.rank, NO_MORE);
    }
}

void
WorkerProcesses::Start(std::size_t index, const Task& task)
{
    int ends[2];
    if (pipe(ends) != 0)
    {
        FailSystem("pipe");
    }
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0)
    {
        close(ends[0]);
        close(ends[1]);
        FailSystem("fork");
    }
    if (pid == 0)
    {
        close(ends[0]);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
        {
            _exit(FAILED); // It ended before that could take effect.
        }
        MostThreads() =
            std::max<std::size_t>(1,
                                  GetNCores() / std::min<std::size_t>(m_nJobs, m_outcomes.size()));
        Work(ends[1], index, task);
    }
    close(ends[1]);
    m_workers.push_back({pid, ends[0], index, {}});
}

void
WorkerProcesses::Listen()
{
    std::vector<pollfd> polled;
    for (const Worker& worker : m_workers)
    {
        polled.push_back({worker.pipe, POLLIN, 0});
    }
    const int patience = m_helpers.empty() ? -1 : PAUSE_MS;
    if (poll(polled.data(), polled.size(), patience) < 0 && errno != EINTR)
    {
        FailSystem("poll");
    }
    for (std::size_t i = polled.size(); i-- > 0;)
    {
        char buffer[4096];
        const ssize_t size =
            polled[i].revents ? read(polled[i].fd, buffer, sizeof(buffer)) : ssize_t{-1};
        if (size > 0)
        {
            m_workers[i].text.append(buffer, size);
        }
        else if (size == 0)
        {
            End(m_workers[i]);
            m_workers.erase(m_workers.begin() + i);
        }
    }
    while (HearHelper())
    {
    }
}

WorkerProcesses::Helper*
WorkerProcesses::FindIdleHelper()
{
    const auto idle = std::find_if(m_helpers.begin(), m_helpers.end(), [](const Helper& helper) {
        return !helper.task;
    });
    return idle == m_helpers.end() ? nullptr : &*idle;
}

bool
WorkerProcesses::HearHelper()
{
    const auto sender = m_helpers.empty() ? std::nullopt : m_ranks->FindSender();
    if (!sender)
    {
        return false;
    }
    const std::string message = m_ranks->Receive(*sender);
    Helper& helper = m_helpers[*sender - 1];
    const std::size_t index = *std::exchange(helper.task, std::nullopt);
    m_isDone[index] = true;
    m_isInputError[index] = message[0] == IS_INPUT_ERROR;
    Outcome& outcome = m_outcomes[index];
    (message[0] == HAS_FAILED ? outcome.failure : outcome.text) = message.substr(1);
    return true;
}

void
WorkerProcesses::End(Worker& worker)
{
    int status = 0;
    while (waitpid(worker.pid, &status, 0) < 0 && errno == EINTR)
    {
    }
    close(worker.pipe);
    m_isDone[worker.index] = true;
    m_isInputError[worker.index] = WIFEXITED(status) && WEXITSTATUS(status) == INPUT_ERROR;
    Outcome& outcome = m_outcomes[worker.index];
    outcome.failure = DescribeEnd(status, worker.text);
    outcome.text = std::move(worker.text);
}

void
ServeFirstRank(MpiRanks& ranks, const WorkerProcesses::Task& task)
{
    for (;;)
    {
        while (!ranks.FindSender())
        {
            std::this_thread::sleep_for(std::chrono::milliseconds(PAUSE_MS));
        }
        const std::string request = ranks.Receive(0);
        if (request == NO_MORE)
        {
            return;
        }
        try
        {
            WorkerProcesses(1).Run(
                1,
                [&](std::size_t) { return task(std::stoull(request)); },
                [&](std::size_t, const WorkerProcesses::Outcome& outcome) {
                    ranks.Send(0,
                               outcome.failure.empty() ? char(IS_DONE) + outcome.text
                                                       : char(HAS_FAILED) + outcome.failure);
                });
        }
        catch (const InputError& error)
        {
            ranks.Send(0, char(IS_INPUT_ERROR) + std::string(error.what()));
        }
    }
}

std::string
DescribeStatus(int status)
{
    if (WIFSIGNALED(status))
    {
        const int number = WTERMSIG(status);
        return "was ended by signal " + std::to_string(number) + " (" + strsignal(number) + ")";
    }
    return "ended with status " + std::to_string(WEXITSTATUS(status));
}

void
FailSystem(const std::string& call)
{
    throw std::runtime_error(call + ": " + std::strerror(errno));
}

uint32_t
GetNCores()
{
    return std::max(1U, std::thread::hardware_concurrency());
}

} // namespace ns3::allreduce
