/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PARALLEL_FOR_H
#define ALLREDUCE_PARALLEL_FOR_H

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <thread>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 *
 * @return how many threads RunParallel uses in this process; a process that is one of several
 * lowers it
 */
inline uint32_t&
MostThreads()
{
    static uint32_t mostThreads = std::max(1U, std::thread::hardware_concurrency());
    return mostThreads;
}

/**
 * @ingroup allreduce
 *
 * Call a task with 0, 1, ..., n-1, on all cores at once.
 *
 * @param n how often
 * @param task what to do; must not depend on the order
 * @param mostThreads that are used
 */
template <typename Task>
void
RunParallel(uint32_t n, const Task& task, uint32_t mostThreads = MostThreads())
{
    std::atomic<uint32_t> next{0};
    auto work = [&] {
        for (uint32_t i = next++; i < n; i = next++)
        {
            task(i);
        }
    };
    const uint32_t nThreads = std::max(1U, std::min(n, mostThreads));
    std::vector<std::future<void>> others;
    for (uint32_t i = 1; i < nThreads; ++i)
    {
        others.push_back(std::async(std::launch::async, work));
    }
    work();
    for (std::future<void>& other : others)
    {
        other.get();
    }
}

} // namespace ns3::allreduce

#endif /* ALLREDUCE_PARALLEL_FOR_H */
