/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_ROUND_STEPS_H
#define ALLREDUCE_ROUND_STEPS_H

#include "planning-environment.h"

#include <cstdint>
#include <vector>

namespace ns3::allreduce
{

/**
 * @ingroup allreduce
 * @brief A round as a sequence of decisions: says which one is due, and carries it out.
 *
 * This is the order of decisions that PlanningEnvironment describes, turned inside out, so that a
 * rollout of the policies and an environment for other learners share it.
 */
class RoundSteps
{
  public:
    /// More items are not weighed against each other; training networks hardly have so many.
    static constexpr uint32_t MOST_ITEMS = 32;

    /// What has to be decided next.
    enum class Stage : uint8_t
    {
        TREES,  //!< which of the selectable trees come first
        PORT,   //!< which open port is served
        SENDER, //!< who sends to it
        ITEM,   //!< what is sent
        END     //!< nothing: the round is complete
    };

    /// @param environment where the decisions are carried out; must outlive the steps
    explicit RoundSteps(PlanningEnvironment& environment);

    /// Begin a round. The last one has ended.
    void Begin();

    /// @return what has to be decided next
    Stage GetStage() const
    {
        return m_stage;
    }

    /// @return where the decisions are carried out
    const PlanningEnvironment& GetEnvironment() const
    {
        return m_environment;
    }

    /// @return the number of choices; that of trees where several are chosen
    std::size_t CountChoices() const;

    /// @return the port that was chosen, at the stages after PORT
    uint32_t GetPort() const
    {
        return m_port;
    }

    /// @return the sender that was chosen, at the stage ITEM
    const PortSender& GetSender() const
    {
        return m_sender;
    }

    /// @return what it could send, at the stage ITEM
    const std::vector<uint32_t>& GetItems() const
    {
        return m_items;
    }

    /// @param selected by index in GetSelectableTrees; BeginPicks goes on
    void SelectTrees(const std::vector<bool>& selected);

    /// Go on after SelectTrees: if the selected trees offer nothing, others do.
    void BeginPicks();

    /// Choose at one of the other stages.
    /// @param choice index of an open port, of one of its senders or of an item
    /// @return after an item, how many ports lost their last option through this (see
    /// PlanningEnvironment::Pick); else 0
    uint32_t Choose(uint32_t choice);

    /// Carry out the round, which is complete.
    /// @param [out] outcome what became of it @return its workloads
    /// @throws InputError if there are none
    WorkloadList End(RoundOutcome& outcome);

  private:
    void ChoosePort(uint32_t port);
    void ChooseSender(const PortSender& sender);
    void Advance();

    PlanningEnvironment& m_environment; //!< where the decisions are carried out
    Stage m_stage{Stage::END};          //!< what has to be decided next
    uint32_t m_port{0};                 //!< the port that was chosen
    PortSender m_sender{};              //!< the sender that was chosen
    std::vector<uint32_t> m_items;      //!< what it could send
    WorkloadList m_round;               //!< what was chosen in this round
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_ROUND_STEPS_H */
