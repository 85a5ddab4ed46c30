/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "decision-game.h"

#include <algorithm>

namespace ns3::allreduce::python
{

namespace
{

std::size_t
CountFeatures(PolicyHead head)
{
    return GetPolicyFeatures(head).size();
}

} // namespace

DecisionGame::Play::Play(const PlanningEnvironment& beginning,
                         const Partner& partner,
                         const RewardWeights& rewards)
    : environment(beginning),
      steps(environment),
      view(environment),
      player(steps, *partner.weights, partner.options, rewards, nullptr),
      outcome{environment.GetState().CountRoundsNeeded(),
              static_cast<double>(environment.GetState().CountRoundsNeeded()),
              0}
{
}

DecisionGame::DecisionGame(std::shared_ptr<const PlanningTask> task,
                           Level level,
                           Partner partner,
                           const Sight& sight)
    : m_task(std::move(task)),
      m_level(level),
      m_partner(std::move(partner)),
      m_sight(sight),
      m_portRows(m_task->GetBeginning().GetState().network->ports.size() *
                 CountFeatures(PolicyHead::PORT))
{
}

void
DecisionGame::Reset(uint64_t seed)
{
    m_partner.options.seed = seed;
    m_play = std::make_unique<Play>(m_task->GetBeginning(), m_partner, m_rewards);
    if (m_level == Level::UPPER && m_partner.options.mode == RolloutMode::BEST)
    {
        m_play->environment.SetRenewal(PlanningEnvironment::Renewal::WHEN_ASKED);
    }
    m_play->steps.Begin();
    m_reward = 0;
    Advance();
}

void
DecisionGame::ResetAgain()
{
    constexpr uint64_t STEP = 0x9e37'79b9'7f4a'7c15;
    Reset(m_partner.options.seed + STEP);
}

bool
DecisionGame::IsWaiting() const
{
    return m_play != nullptr;
}

const std::shared_ptr<const ScheduleObject>&
DecisionGame::GetPlan() const
{
    return m_plan;
}

const PlanningTask&
DecisionGame::GetTask() const
{
    return *m_task;
}

std::string
DecisionGame::FindFault(const int64_t* action) const
{
    const bool isTree = m_play->steps.GetStage() == Stage::TREES;
    const int64_t nChoices = isTree && m_level == Level::JOINT ? 2 : m_play->steps.CountChoices();
    if (m_level != Level::UPPER)
    {
        return action[0] >= 0 && action[0] < nChoices
                   ? ""
                   : "action " + std::to_string(action[0]) + ", expected 0 to " +
                         std::to_string(nChoices - 1);
    }
    for (int64_t i = 0; i < m_sight.mostRows; ++i)
    {
        if (action[i] < 0 || action[i] > (i < nChoices ? 1 : 0))
        {
            return "action " + std::to_string(action[i]) + " for tree " + std::to_string(i) +
                   ", expected 0 or 1 for the first " + std::to_string(nChoices) +
                   " and 0 for others";
        }
    }
    return "";
}

double
DecisionGame::Step(const int64_t* action)
{
    m_reward = 0;
    if (m_level == Level::UPPER)
    {
        SelectTrees(std::vector<bool>(action, action + m_play->steps.CountChoices()));
    }
    else if (m_play->steps.GetStage() == Stage::TREES)
    {
        ChooseTree(action[0] == 1);
    }
    else
    {
        m_reward -= m_rewards.lostOption * m_play->steps.Choose(action[0]);
    }
    Advance();
    return m_reward;
}

/// Trees are decided on one after the other, and then all at once.
void
DecisionGame::ChooseTree(bool isSelected)
{
    m_play->selected.push_back(isSelected);
    if (m_play->selected.size() == m_play->steps.CountChoices())
    {
        SelectTrees(m_play->selected);
        m_play->selected.clear();
    }
}

void
DecisionGame::SelectTrees(const std::vector<bool>& selected)
{
    m_play->steps.SelectTrees(selected);
    m_play->steps.BeginPicks();
    m_play->isStateShown = false;
}

/// Go on until the agent has something to decide, or the plan is complete.
void
DecisionGame::Advance()
{
    while (m_play && !IsAgentsTurn())
    {
        RoundSteps& steps = m_play->steps;
        if (steps.GetStage() == Stage::END)
        {
            EndRound();
        }
        else if (steps.GetStage() == Stage::TREES ? m_level == Level::LOWER
                                                  : m_level == Level::UPPER)
        {
            m_play->player.Decide();
        }
        else if (steps.GetStage() == Stage::TREES)
        {
            SelectTrees({});
        }
        else
        {
            m_reward -= m_rewards.lostOption * steps.Choose(0);
        }
    }
    if (m_play)
    {
        Show();
    }
}

/// @return whether the agent has something to decide; what it would see of ports is kept up to date
bool
DecisionGame::IsAgentsTurn()
{
    const RoundSteps& steps = m_play->steps;
    if (steps.GetStage() == Stage::TREES)
    {
        return m_level != Level::LOWER && steps.CountChoices() > 0;
    }
    if (m_level == Level::UPPER || steps.GetStage() == Stage::END)
    {
        return false;
    }
    if (steps.GetStage() == Stage::PORT)
    {
        UpdatePorts();
    }
    return steps.CountChoices() > 1;
}

void
DecisionGame::EndRound()
{
    RoundOutcome after{};
    m_play->rounds.push_back(m_play->steps.End(after));
    m_reward += RewardRound(m_play->outcome, after, m_rewards);
    m_play->outcome = after;
    if (m_play->environment.GetState().nTransfersLeft == 0)
    {
        Finish();
        return;
    }
    m_play->steps.Begin();
    m_play->isStateShown = false;
}

void
DecisionGame::Finish()
{
    const std::unique_ptr<Play> play = std::move(m_play);
    m_plan = std::make_shared<const ScheduleObject>(m_task->Finish(play->rounds));
    ShowRows(PolicyHead::PORT, 0, nullptr);
}

void
DecisionGame::UpdatePorts()
{
    const std::size_t nFeatures = CountFeatures(PolicyHead::PORT);
    for (const uint32_t port : m_play->environment.GetChangedPorts())
    {
        if (m_play->environment.IsOpen(port))
        {
            m_rows.clear();
            m_play->view.AppendPort(port, m_rows);
            std::copy(m_rows.begin(), m_rows.end(), &m_portRows[port * nFeatures]);
        }
    }
}

void
DecisionGame::Show()
{
    const RoundSteps& steps = m_play->steps;
    ShowState();
    switch (steps.GetStage())
    {
    case Stage::TREES:
        ShowTrees();
        break;
    case Stage::PORT:
        ShowPorts();
        break;
    case Stage::SENDER: {
        const auto& senders = m_play->environment.GetSenders(steps.GetPort());
        m_play->view.WriteSenders(steps.GetPort(), m_rows);
        ShowRows(PolicyHead::SENDER, senders.size(), m_rows.data());
        std::transform(senders.begin(), senders.end(), m_sight.choices, [](const auto& sender) {
            return sender.server;
        });
        break;
    }
    case Stage::ITEM: {
        const std::vector<uint32_t>& items = steps.GetItems();
        m_play->view.WriteItems(steps.GetPort(), steps.GetSender(), items, m_rows);
        ShowRows(PolicyHead::ITEM, items.size(), m_rows.data());
        std::copy(items.begin(), items.end(), m_sight.choices);
        break;
    }
    case Stage::END:
        break;
    }
}

void
DecisionGame::ShowState()
{
    if (m_play->isStateShown)
    {
        return;
    }
    m_play->isStateShown = true;
    m_rows.clear();
    m_play->view.AppendValue(m_rows);
    std::copy(m_rows.begin(), m_rows.end(), m_sight.state);
}

void
DecisionGame::ShowPorts()
{
    const std::vector<uint32_t>& open = m_play->environment.GetOpenPorts();
    const std::size_t nFeatures = CountFeatures(PolicyHead::PORT);
    m_rows.clear();
    for (const uint32_t port : open)
    {
        const float* features = &m_portRows[port * nFeatures];
        m_rows.insert(m_rows.end(), features, features + nFeatures);
    }
    ShowRows(PolicyHead::PORT, open.size(), m_rows.data());
    std::transform(open.begin(), open.end(), m_sight.choices, [this](uint32_t port) {
        return m_play->environment.GetState().network->ports[port].link;
    });
}

void
DecisionGame::ShowTrees()
{
    const std::vector<ChunkId>& trees = m_play->environment.GetSelectableTrees();
    const std::size_t tree = m_play->selected.size();
    if (tree == 0)
    {
        m_play->view.WriteTrees(m_treeRows);
    }
    if (m_level == Level::UPPER)
    {
        ShowRows(PolicyHead::TREE, trees.size(), m_treeRows.data());
        std::copy(trees.begin(), trees.end(), m_sight.choices);
        return;
    }
    ShowRows(PolicyHead::TREE, 1, m_treeRows.data() + tree * CountFeatures(PolicyHead::TREE));
    m_sight.choices[0] = trees[tree];
    m_sight.mask[1] = true; // 0 is no, 1 is yes
    m_nShown = 2;
}

void
DecisionGame::ShowRows(PolicyHead head, uint32_t nRows, const float* rows)
{
    const std::size_t nFeatures = CountFeatures(head);
    std::fill_n(m_sight.rows, std::size_t{m_nShown} * m_sight.nFeatures, 0.0F);
    std::fill_n(m_sight.mask, m_nShown, false);
    std::fill_n(m_sight.choices, m_nShown, -1);
    for (uint32_t i = 0; i < nRows; ++i)
    {
        std::copy_n(rows + i * nFeatures,
                    nFeatures,
                    m_sight.rows + std::size_t{i} * m_sight.nFeatures);
    }
    std::fill_n(m_sight.mask, nRows, true);
    *m_sight.head = static_cast<int32_t>(head);
    m_nShown = nRows;
}

} // namespace ns3::allreduce::python
