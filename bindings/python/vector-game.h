/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PYTHON_VECTOR_GAME_H
#define ALLREDUCE_PYTHON_VECTOR_GAME_H

#include "decision-game.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3::allreduce::python
{

/**
 * @brief Several games that are stepped together, in several threads, and what agents see of them
 * in arrays that stay where they are.
 */
class VectorGame
{
  public:
    /// What agents see: arrays with a part for each game.
    struct Arrays
    {
        std::vector<float> rows;            //!< [game][choice][feature]
        std::unique_ptr<bool[]> mask;       //!< [game][choice]
        std::vector<int32_t> choices;       //!< [game][choice]
        std::vector<int32_t> heads;         //!< [game]
        std::vector<float> states;          //!< [game][feature of the critic]
        std::vector<double> rewards;        //!< [game]
        std::unique_ptr<bool[]> terminated; //!< [game]: a plan is complete
        std::vector<int32_t> rounds;        //!< [game]: of the last plan that was complete
    };

    /**
     * @param tasks what to plan, one for each game
     * @param level which decisions are the agent's
     * @param partner makes the others
     * @param nThreads that step the games
     * @param isResetAgain games that are over begin anew at once
     */
    VectorGame(std::vector<std::shared_ptr<const PlanningTask>> tasks,
               Level level,
               const Partner& partner,
               uint32_t nThreads,
               bool isResetAgain);

    /// @return the number of games
    std::size_t GetSize() const;
    /// @return choices that there are at most
    uint32_t GetMostChoices() const;
    /// @return features of a choice
    uint32_t GetNFeatures() const;
    /// @return features of the state
    uint32_t GetNStateFeatures() const;
    /// @return numbers in the action of a game
    std::size_t GetActionSize() const;
    /// @return what agents see
    Arrays& GetArrays();
    /// @return a game @param index its number @throws InputError if there is none
    const DecisionGame& GetGame(int64_t index) const;

    /// Begin all games anew. @param seeds one for each
    void Reset(const std::vector<uint64_t>& seeds);

    /**
     * Step all games; none if an action is wrong.
     *
     * @param actions GetActionSize numbers for each game
     * @throws InputError that names the game and what was expected
     */
    void Step(const std::vector<int64_t>& actions);

    /// Nothing can be done any more.
    void Close();

    /// @throws InputError if it is closed, or if another thread is at it
    void CheckUsable() const;

  private:
    /// Calls a task with each game's number, in threads; the first exception is thrown again.
    template <typename Task>
    void ForEachGame(const Task& task);
    void CheckActions(const std::vector<int64_t>& actions) const;

    const uint32_t m_nThreads;                          //!< that step the games
    const bool m_isResetAgain;                          //!< games begin anew at once
    const Level m_level;                                //!< which decisions are the agent's
    uint32_t m_mostChoices{0};                          //!< see GetMostChoices
    Arrays m_arrays;                                    //!< what agents see
    std::vector<std::unique_ptr<DecisionGame>> m_games; //!< the games
    bool m_isClosed{false};                             //!< see Close
    std::atomic<bool> m_isBusy{false};                  //!< some thread is at it
};

} // namespace ns3::allreduce::python

#endif /* ALLREDUCE_PYTHON_VECTOR_GAME_H */
