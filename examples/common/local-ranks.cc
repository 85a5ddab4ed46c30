/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "local-ranks.h"

#include "worker-processes.h"

#include "ns3/training-process.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace ns3::allreduce
{

namespace
{

constexpr int NOT_STARTED = 127; //!< the status that shells give to what cannot be run
constexpr auto POLL_PERIOD = std::chrono::milliseconds(10);

/// @return the environment with other values of some variables
std::vector<std::string>
MakeEnvironment(const std::vector<std::string>& assignments)
{
    std::vector<std::string> all = assignments;
    for (char** variable = environ; *variable; ++variable)
    {
        const std::string text = *variable;
        bool isReplaced = false;
        for (const std::string& assignment : assignments)
        {
            isReplaced |= text.compare(0, text.find('='), assignment, 0, assignment.find('=')) == 0;
        }
        if (!isReplaced)
        {
            all.push_back(text);
        }
    }
    return all;
}

} // namespace

LocalRanks::LocalRanks(uint32_t size, char* argv[])
    : m_size(size),
      m_folder((std::filesystem::temp_directory_path() / "allreduce-ranks-XXXXXX").string())
{
    if (!mkdtemp(m_folder.data()))
    {
        FailSystem("mkdtemp " + m_folder);
    }
    for (uint32_t rank = 1; rank < size; ++rank)
    {
        Start(rank, argv);
    }
}

LocalRanks::~LocalRanks()
{
    for (const Process& process : m_processes)
    {
        if (process.pid > 0)
        {
            kill(process.pid, SIGKILL);
            waitpid(process.pid, nullptr, 0);
        }
    }
    RemoveFile();
}

std::string
LocalRanks::GetFile() const
{
    return m_folder + "/store";
}

void
LocalRanks::RemoveFile()
{
    std::error_code ignored;
    std::filesystem::remove_all(m_folder, ignored);
}

void
LocalRanks::Start(uint32_t rank, char* argv[])
{
    // Between fork and exec a process with threads may hardly do anything: all is made before.
    std::vector<std::string> variables =
        MakeEnvironment({"RANK=" + std::to_string(rank),
                         "WORLD_SIZE=" + std::to_string(m_size),
                         TrainingProcess::FILE_VARIABLE + ("=" + GetFile())});
    std::vector<char*> pointers;
    for (std::string& variable : variables)
    {
        pointers.push_back(variable.data());
    }
    pointers.push_back(nullptr);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid < 0)
    {
        FailSystem("fork");
    }
    if (pid == 0)
    {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent)
        {
            execve("/proc/self/exe", argv, pointers.data());
        }
        _exit(NOT_STARTED);
    }
    m_processes.push_back({pid, rank});
}

std::string
LocalRanks::DescribeEnded(double seconds)
{
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const Process* blamed = nullptr;
    do
    {
        for (Process& process : m_processes)
        {
            if (process.pid > 0 && waitpid(process.pid, &process.status, WNOHANG) == process.pid)
            {
                process.pid = 0;
            }
            // Who was killed is to blame, not those who then ended because of that.
            if (process.pid == 0 && (!blamed || WIFSIGNALED(process.status)))
            {
                blamed = &process;
            }
        }
        if (!blamed && seconds > 0)
        {
            std::this_thread::sleep_for(POLL_PERIOD);
        }
    } while (!blamed && std::chrono::steady_clock::now() < deadline);
    return blamed ? "rank " + std::to_string(blamed->rank) + " of " + std::to_string(m_size) + " " +
                        DescribeStatus(blamed->status)
                  : "";
}

} // namespace ns3::allreduce
