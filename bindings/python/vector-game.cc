/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "vector-game.h"

#include "ns3/parallel-for.h"

#include <algorithm>
#include <exception>

namespace ns3::allreduce::python
{

namespace
{

/// Arrays of more floats would not fit into memory.
constexpr std::size_t MOST_FLOATS = std::size_t{1} << 30;

/// Lets one thread in at a time; the others are refused.
class BusyGuard
{
  public:
    explicit BusyGuard(std::atomic<bool>& isBusy)
        : m_isBusy(isBusy)
    {
        if (m_isBusy.exchange(true))
        {
            FailInput("environment: another thread is using it, expected one at a time");
        }
    }

    ~BusyGuard()
    {
        m_isBusy = false;
    }

    BusyGuard(const BusyGuard&) = delete;
    BusyGuard& operator=(const BusyGuard&) = delete;

  private:
    std::atomic<bool>& m_isBusy; //!< some thread is in
};

} // namespace

VectorGame::VectorGame(std::vector<std::shared_ptr<const PlanningTask>> tasks,
                       Level level,
                       const Partner& partner,
                       uint32_t nThreads,
                       bool isResetAgain)
    : m_nThreads(nThreads),
      m_isResetAgain(isResetAgain),
      m_level(level)
{
    for (const auto& task : tasks)
    {
        m_mostChoices = std::max(m_mostChoices, task->GetMostChoices());
    }
    const std::size_t n = tasks.size();
    if (n == 0 || n * m_mostChoices * GetNFeatures() > MOST_FLOATS)
    {
        FailInput("environment: ",
                  n,
                  " tasks with up to ",
                  m_mostChoices,
                  " choices, expected 1 or more, with arrays of at most ",
                  MOST_FLOATS,
                  " numbers");
    }
    m_arrays.rows.resize(n * m_mostChoices * GetNFeatures());
    m_arrays.mask = std::make_unique<bool[]>(n * m_mostChoices);
    m_arrays.choices.resize(n * m_mostChoices, -1);
    m_arrays.heads.resize(n);
    m_arrays.states.resize(n * GetNStateFeatures());
    m_arrays.rewards.resize(n);
    m_arrays.terminated = std::make_unique<bool[]>(n);
    m_arrays.rounds.resize(n);
    for (std::size_t i = 0; i < n; ++i)
    {
        const Sight sight{&m_arrays.rows[i * m_mostChoices * GetNFeatures()],
                          &m_arrays.mask[i * m_mostChoices],
                          &m_arrays.choices[i * m_mostChoices],
                          &m_arrays.heads[i],
                          &m_arrays.states[i * GetNStateFeatures()],
                          m_mostChoices,
                          GetNFeatures()};
        m_games.push_back(std::make_unique<DecisionGame>(tasks[i], level, partner, sight));
    }
}

std::size_t
VectorGame::GetSize() const
{
    return m_games.size();
}

uint32_t
VectorGame::GetMostChoices() const
{
    return m_mostChoices;
}

uint32_t
VectorGame::GetNFeatures() const
{
    std::size_t most = 0;
    for (const PolicyHead head : {PolicyHead::PORT, PolicyHead::SENDER, PolicyHead::ITEM})
    {
        most = std::max(most, GetPolicyFeatures(head).size());
    }
    const std::size_t nOfTrees = GetPolicyFeatures(PolicyHead::TREE).size();
    return m_level == Level::UPPER ? nOfTrees : std::max(most, nOfTrees);
}

uint32_t
VectorGame::GetNStateFeatures() const
{
    return GetPolicyFeatures(PolicyHead::VALUE).size();
}

std::size_t
VectorGame::GetActionSize() const
{
    return m_level == Level::UPPER ? m_mostChoices : 1;
}

VectorGame::Arrays&
VectorGame::GetArrays()
{
    return m_arrays;
}

const DecisionGame&
VectorGame::GetGame(int64_t index) const
{
    if (index < 0 || static_cast<std::size_t>(index) >= m_games.size())
    {
        FailInput("environment ", index, ": expected 0 to ", m_games.size() - 1);
    }
    return *m_games[index];
}

void
VectorGame::CheckUsable() const
{
    if (m_isClosed)
    {
        FailInput("environment: it is closed, expected one that is open");
    }
    if (m_isBusy)
    {
        FailInput("environment: another thread is using it, expected one at a time");
    }
}

void
VectorGame::Close()
{
    const BusyGuard guard(m_isBusy);
    m_isClosed = true;
}

template <typename Task>
void
VectorGame::ForEachGame(const Task& task)
{
    std::vector<std::exception_ptr> errors(m_games.size());
    RunParallel(
        m_games.size(),
        [&](uint32_t i) {
            try
            {
                task(i);
            }
            catch (...)
            {
                errors[i] = std::current_exception();
            }
        },
        m_nThreads);
    for (const std::exception_ptr& error : errors)
    {
        if (error)
        {
            std::rethrow_exception(error);
        }
    }
}

void
VectorGame::Reset(const std::vector<uint64_t>& seeds)
{
    CheckUsable();
    const BusyGuard guard(m_isBusy);
    if (seeds.size() != m_games.size())
    {
        FailInput("seeds: ", seeds.size(), ", expected ", m_games.size());
    }
    ForEachGame([&](uint32_t i) {
        m_games[i]->Reset(seeds[i]);
        m_arrays.rewards[i] = 0;
        m_arrays.terminated[i] = !m_games[i]->IsWaiting();
    });
}

void
VectorGame::CheckActions(const std::vector<int64_t>& actions) const
{
    if (actions.size() != m_games.size() * GetActionSize())
    {
        FailInput("actions: ",
                  actions.size(),
                  " numbers, expected ",
                  m_games.size() * GetActionSize());
    }
    for (std::size_t i = 0; i < m_games.size(); ++i)
    {
        if (!m_games[i]->IsWaiting())
        {
            FailInput("environment ", i, ": no episode is under way, expected reset first");
        }
        const std::string fault = m_games[i]->FindFault(&actions[i * GetActionSize()]);
        if (!fault.empty())
        {
            FailInput("environment ", i, ": ", fault);
        }
    }
}

void
VectorGame::Step(const std::vector<int64_t>& actions)
{
    CheckUsable();
    const BusyGuard guard(m_isBusy);
    CheckActions(actions);
    ForEachGame([&](uint32_t i) {
        DecisionGame& game = *m_games[i];
        m_arrays.rewards[i] = game.Step(&actions[i * GetActionSize()]);
        m_arrays.terminated[i] = !game.IsWaiting();
        if (m_arrays.terminated[i])
        {
            m_arrays.rounds[i] = game.GetPlan()->schedule.rounds.size();
            if (m_isResetAgain)
            {
                game.ResetAgain();
            }
        }
    });
}

} // namespace ns3::allreduce::python
