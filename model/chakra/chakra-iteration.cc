/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "chakra-iteration.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

namespace ns3::allreduce
{

/// What one server has done, and when.
class ChakraIteration::Server
{
  public:
    explicit Server(const ChakraWorkload& workload)
        : m_workload(workload),
          m_readyAt(workload.collectives.size()),
          m_steps(workload.collectives.size())
    {
        std::vector<uint32_t> first;
        for (uint32_t i = 0; i < workload.steps.size(); ++i)
        {
            m_nAwaited.push_back(workload.steps[i].nAwaited);
            if (m_nAwaited.back() == 0)
            {
                first.push_back(i);
            }
            if (workload.steps[i].unit == ChakraWorkload::NETWORK)
            {
                m_steps[workload.steps[i].collective] = i;
            }
        }
        MakeReady(std::move(first));
    }

    uint64_t FindReady(uint32_t collective)
    {
        while (!m_readyAt[collective] && RunNext(FOREVER))
        {
        }
        return m_readyAt[collective].value_or(m_now);
    }

    void NoteEnd(uint32_t collective, uint64_t nanos)
    {
        // What begins at the same time chooses among all that is ready then.
        while (m_now < nanos && RunNext(nanos))
        {
        }
        m_now = std::max(m_now, nanos);
        Release(m_steps[collective]);
    }

    uint64_t FindEnd()
    {
        while (RunNext(FOREVER))
        {
        }
        return m_now;
    }

  private:
    /// A step under way.
    struct Running
    {
        uint32_t step;
        uint64_t end; //!< when it ends
    };

    static constexpr uint64_t FOREVER = std::numeric_limits<uint64_t>::max();

    /// Begin what can begin, then go on to the next end of something. @return whether there was one
    bool RunNext(uint64_t limit)
    {
        uint64_t next = FOREVER;
        for (std::size_t unit = 0; unit < m_running.size(); ++unit)
        {
            if (!m_running[unit] && !m_ready[unit].empty())
            {
                const uint32_t step = *m_ready[unit].begin();
                m_ready[unit].erase(m_ready[unit].begin());
                m_running[unit] = Running{step, m_now + m_workload.steps[step].nanos};
            }
            next = std::min(next, m_running[unit] ? m_running[unit]->end : FOREVER);
        }
        if (next == FOREVER || next > limit)
        {
            return false;
        }
        m_now = next;
        for (auto& running : m_running)
        {
            if (running && running->end == m_now)
            {
                const uint32_t step = running->step;
                running.reset();
                Release(step);
            }
        }
        return true;
    }

    /// A step has ended.
    void Release(uint32_t step)
    {
        std::vector<uint32_t> ready;
        CollectReady(step, ready);
        MakeReady(std::move(ready));
    }

    void CollectReady(uint32_t step, std::vector<uint32_t>& ready)
    {
        for (const uint32_t follower : m_workload.steps[step].followers)
        {
            if (--m_nAwaited[follower] == 0)
            {
                ready.push_back(follower);
            }
        }
    }

    /// Steps wait for nothing more; those that take no time end at once.
    void MakeReady(std::vector<uint32_t> ready)
    {
        while (!ready.empty())
        {
            const uint32_t index = ready.back();
            ready.pop_back();
            const ChakraWorkload::Step& step = m_workload.steps[index];
            switch (step.unit)
            {
            case ChakraWorkload::NETWORK:
                m_readyAt[step.collective] = m_now;
                break;
            case ChakraWorkload::NOTHING:
                CollectReady(index, ready);
                break;
            default:
                m_ready[step.unit].insert(index);
            }
        }
    }

    const ChakraWorkload& m_workload;                //!< what it does
    std::vector<uint32_t> m_nAwaited;                //!< by step: what it still waits for
    std::array<std::set<uint32_t>, 2> m_ready;       //!< by CPU, GPU: steps that could run
    std::array<std::optional<Running>, 2> m_running; //!< by CPU, GPU: the step that runs
    std::vector<std::optional<uint64_t>> m_readyAt;  //!< by collective: when it could begin
    std::vector<uint32_t> m_steps;                   //!< by collective: its step
    uint64_t m_now{0};                               //!< nanoseconds from the beginning
};

ChakraIteration::ChakraIteration(const std::vector<ChakraWorkload>& workloads)
{
    for (const ChakraWorkload& workload : workloads)
    {
        m_servers.push_back(std::make_unique<Server>(workload));
    }
}

ChakraIteration::~ChakraIteration() = default;

uint64_t
ChakraIteration::FindReady(uint32_t collective)
{
    uint64_t ready = 0;
    for (const auto& server : m_servers)
    {
        ready = std::max(ready, server->FindReady(collective));
    }
    return ready;
}

void
ChakraIteration::NoteEnd(uint32_t collective, uint64_t nanos)
{
    for (const auto& server : m_servers)
    {
        server->NoteEnd(collective, nanos);
    }
}

uint64_t
ChakraIteration::FindEnd()
{
    uint64_t end = 0;
    for (const auto& server : m_servers)
    {
        end = std::max(end, server->FindEnd());
    }
    return end;
}

uint64_t
GetComputeNanos(const std::vector<ChakraWorkload>& workloads)
{
    uint64_t most = 0;
    for (const ChakraWorkload& workload : workloads)
    {
        std::array<uint64_t, ChakraWorkload::NOTHING + 1> sums{};
        for (const ChakraWorkload::Step& step : workload.steps)
        {
            sums[step.unit] += step.nanos;
        }
        most = std::max(most, *std::max_element(sums.begin(), sums.end()));
    }
    return most;
}

} // namespace ns3::allreduce
