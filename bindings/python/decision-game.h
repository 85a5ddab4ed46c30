/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_PYTHON_DECISION_GAME_H
#define ALLREDUCE_PYTHON_DECISION_GAME_H

#include "planning-task.h"

#include "ns3/policy-player.h"
#include "ns3/round-steps.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace ns3::allreduce::python
{

/// Which decisions are the agent's.
enum class Level
{
    LOWER, //!< which workloads a round has; another selects trees
    UPPER, //!< which trees come first; another chooses workloads
    JOINT  //!< both
};

/// Who makes the decisions that are not the agent's.
struct Partner
{
    std::shared_ptr<const PolicyWeights> weights; //!< of the policies
    RolloutOptions options;                       //!< how to choose
};

/// Where the agent looks: memory that belongs to somebody else.
struct Sight
{
    float* rows;        //!< [mostChoices][nFeatures]: the features of each choice, then zeros
    bool* mask;         //!< [mostChoices]: whether it may be chosen
    int32_t* choices;   //!< [mostChoices]: what each choice stands for, then -1
    int32_t* head;      //!< which network of the policies would decide
    float* state;       //!< what the critic of the policies sees
    uint32_t mostRows;  //!< mostChoices
    uint32_t nFeatures; //!< of a row
};

/**
 * @brief One AllReduce, planned decision by decision by an agent.
 *
 * Decisions with one choice are made without asking. What the agent earns for a decision is what
 * PolicyPlayer and RewardRound say, up to the next one.
 */
class DecisionGame
{
  public:
    /**
     * @param task what to plan
     * @param level which decisions are the agent's
     * @param partner makes the others
     * @param sight where the agent looks
     */
    DecisionGame(std::shared_ptr<const PlanningTask> task,
                 Level level,
                 Partner partner,
                 const Sight& sight);

    /// Begin anew. @param seed random seed of the partner
    void Reset(uint64_t seed);

    /// Begin anew, with another seed that follows from the last one.
    void ResetAgain();

    /**
     * @param action as Step takes it
     * @return what is wrong with it; empty if nothing is
     */
    std::string FindFault(const int64_t* action) const;

    /**
     * Decide.
     *
     * @param action the number of a choice; UPPER: for each choice 1 or 0
     * @return what the agent earned
     */
    double Step(const int64_t* action);

    /// @return whether the agent has something to decide
    bool IsWaiting() const;

    /// @return the last plan that was complete, verified; null if there is none
    const std::shared_ptr<const ScheduleObject>& GetPlan() const;

    /// @return what is planned
    const PlanningTask& GetTask() const;

  private:
    using Stage = RoundSteps::Stage;

    /// All that begins anew with an episode.
    struct Play
    {
        Play(const PlanningEnvironment& beginning,
             const Partner& partner,
             const RewardWeights& rewards);

        PlanningEnvironment environment;  //!< the state
        RoundSteps steps;                 //!< the decisions that are due
        PolicyView view;                  //!< what can be seen
        PolicyPlayer player;              //!< the partner
        RoundOutcome outcome;             //!< of the last round
        std::vector<WorkloadList> rounds; //!< the plan so far
        std::vector<bool> selected;       //!< JOINT: trees that have been decided on
        bool isStateShown{false};         //!< since the round or its picks began
    };

    void Advance();
    void EndRound();
    void Finish();
    void ChooseTree(bool isSelected);
    void SelectTrees(const std::vector<bool>& selected);
    bool IsAgentsTurn();
    void UpdatePorts();
    void Show();
    void ShowState();
    void ShowPorts();
    void ShowTrees();
    void ShowRows(PolicyHead head, uint32_t nRows, const float* rows);

    const std::shared_ptr<const PlanningTask> m_task; //!< what is planned
    const Level m_level;                              //!< which decisions are the agent's
    Partner m_partner;                                //!< makes the others
    const RewardWeights m_rewards;                    //!< what rounds and picks earn
    const Sight m_sight;                              //!< where the agent looks
    uint32_t m_nShown{0};                             //!< rows that are not zero
    std::unique_ptr<Play> m_play;                     //!< the episode; null when it is over
    double m_reward{0};                               //!< since the last decision
    std::vector<float> m_portRows;                    //!< by port: its features
    std::vector<float> m_treeRows;                    //!< features of the selectable trees
    std::vector<float> m_rows;                        //!< of the present choices
    std::shared_ptr<const ScheduleObject> m_plan;     //!< see GetPlan
};

} // namespace ns3::allreduce::python

#endif /* ALLREDUCE_PYTHON_DECISION_GAME_H */
