/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "abort-message.h"

#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace ns3::allreduce
{

namespace
{

/**
 * Read until the other end is closed.
 *
 * @param file the file descriptor to read from
 * @return what was read
 */
std::string
ReadAll(int file)
{
    std::string text;
    std::array<char, 4096> buffer;
    ssize_t n;
    while ((n = read(file, buffer.data(), buffer.size())) > 0)
    {
        text.append(buffer.data(), n);
    }
    return text;
}

/**
 * Run the action with its error output going to a file descriptor; does not return.
 *
 * @param action what to run
 * @param errorOutput the file descriptor
 */
[[noreturn]] void
RunInChild(const std::function<void()>& action, int errorOutput)
{
    const rlimit noCoreFile{0, 0};
    setrlimit(RLIMIT_CORE, &noCoreFile);
    dup2(errorOutput, STDERR_FILENO);
    action();
    _exit(EXIT_SUCCESS);
}

} // namespace

std::string
GetAbortMessage(const std::function<void()>& action)
{
    // What is still buffered would be written by parent and child.
    std::cout.flush();
    std::fflush(nullptr);
    std::array<int, 2> ends;
    if (pipe(ends.data()) != 0)
    {
        return "";
    }
    const pid_t child = fork();
    if (child == 0)
    {
        RunInChild(action, ends[1]);
    }
    close(ends[1]);
    const auto message = ReadAll(ends[0]);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT ? message : "";
}

} // namespace ns3::allreduce
