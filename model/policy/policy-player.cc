/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-player.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t SOON = 8; //!< rounds within which a sum must be due for its tree to be selected

/// A fixed rule in place of the upper policy: trees whose sums are due soon; if that is not known,
/// final trees and the open ones with the fewest partial sums left.
void
SelectByRule(const PlanningEnvironment& environment, std::vector<bool>& selected)
{
    const PlanningState& state = environment.GetState();
    const std::vector<ChunkId>& trees = environment.GetSelectableTrees();
    uint32_t fewest = std::numeric_limits<uint32_t>::max();
    for (const ChunkId chunk : trees)
    {
        const uint32_t nLeft = state.trees.CountLeft(chunk);
        fewest = nLeft > 0 ? std::min(fewest, nLeft) : fewest;
    }
    std::transform(trees.begin(), trees.end(), selected.begin(), [&](ChunkId chunk) {
        return state.problem.due.empty() ? state.trees.CountLeft(chunk) <= fewest
                                         : state.problem.due[chunk] <= state.round + SOON;
    });
}

} // namespace

PolicyPlayer::PolicyPlayer(RoundSteps& steps,
                           const PolicyWeights& weights,
                           const RolloutOptions& options,
                           const RewardWeights& rewards,
                           Episode* episode)
    : m_steps(steps),
      m_environment(steps.GetEnvironment()),
      m_view(m_environment),
      m_weights(weights),
      m_options(options),
      m_rewards(rewards),
      m_episode(episode),
      m_random(options.seed),
      m_nPortFeatures(weights.Get(PolicyHead::PORT).nInputs),
      m_portRows(m_environment.GetState().network->ports.size() * m_nPortFeatures, 0),
      m_portScores(m_environment.GetState().network->ports.size(), 0)
{
}

void
PolicyPlayer::Decide()
{
    uint32_t nLost = 0;
    switch (m_steps.GetStage())
    {
    case RoundSteps::Stage::TREES:
        SelectTrees();
        if (m_episode)
        {
            m_view.AppendValue(m_episode->rows[static_cast<std::size_t>(PolicyHead::VALUE)]);
        }
        m_steps.BeginPicks();
        break;
    case RoundSteps::Stage::PORT:
        ScoreChangedPorts();
        m_steps.Choose(ChoosePort());
        break;
    case RoundSteps::Stage::SENDER:
        m_steps.Choose(ChooseSender());
        break;
    case RoundSteps::Stage::ITEM:
        nLost = m_steps.Choose(ChooseItem());
        if (IsRecording() && m_hasDecidedInPick)
        {
            m_episode->decisions.back().reward -= m_rewards.lostOption * nLost;
        }
        break;
    case RoundSteps::Stage::END:
        break;
    }
}

double
PolicyPlayer::GetSelectedShare() const
{
    return m_nSelectable > 0 ? m_nSelected / double(m_nSelectable) : 1;
}

/// Ask the upper policy, or follow a rule in its place.
void
PolicyPlayer::SelectTrees()
{
    const uint32_t nTrees = m_steps.CountChoices();
    std::vector<bool> selected(nTrees, true);
    if (nTrees > 0 && m_options.upper != UpperMode::ALL)
    {
        if (m_options.upper == UpperMode::RULE)
        {
            SelectByRule(m_environment, selected);
        }
        else
        {
            m_view.WriteTrees(m_rows);
            Score(PolicyHead::TREE, nTrees);
            for (uint32_t i = 0; i < nTrees; ++i)
            {
                selected[i] = ChooseTree(i);
            }
        }
        m_nSelectable += nTrees;
        m_nSelected += std::count(selected.begin(), selected.end(), true);
    }
    m_steps.SelectTrees(selected);
}

bool
PolicyPlayer::ChooseTree(uint32_t tree)
{
    const bool isSampled = m_options.mode == RolloutMode::SAMPLE;
    const float score = m_scores[tree] / (isSampled ? m_options.temperature : 1);
    const float probability = 1 / (1 + std::exp(-score));
    switch (m_options.mode)
    {
    case RolloutMode::BEST:
        return probability >= 0.5F;
    case RolloutMode::RANDOM:
        return DrawUnit() < 0.5F;
    case RolloutMode::SAMPLE:
        break;
    }
    const bool isSelected = DrawUnit() < probability;
    if (m_episode)
    {
        const float chosen = isSelected ? probability : 1 - probability;
        Record(PolicyHead::TREE, tree, 1, isSelected, std::log(std::max(1e-9F, chosen)));
    }
    return isSelected;
}

bool
PolicyPlayer::IsRecording() const
{
    return m_episode && m_options.mode == RolloutMode::SAMPLE;
}

void
PolicyPlayer::ScoreChangedPorts()
{
    if (m_options.mode == RolloutMode::RANDOM)
    {
        return;
    }
    m_rows.clear();
    m_scoredPorts.clear();
    for (const uint32_t port : m_environment.GetChangedPorts())
    {
        if (m_environment.IsOpen(port))
        {
            m_view.AppendPort(port, m_rows);
            m_scoredPorts.push_back(port);
        }
    }
    Score(PolicyHead::PORT, m_scoredPorts.size());
    auto row = m_rows.begin();
    for (std::size_t i = 0; i < m_scoredPorts.size(); ++i, row += m_nPortFeatures)
    {
        BreakTie(m_scores[i]);
        m_portScores[m_scoredPorts[i]] = m_scores[i];
        std::copy_n(row, m_nPortFeatures, &m_portRows[m_scoredPorts[i] * m_nPortFeatures]);
    }
}

uint32_t
PolicyPlayer::ChoosePort()
{
    const std::vector<uint32_t>& open = m_environment.GetOpenPorts();
    m_hasDecidedInPick = false;
    if (open.size() == 1)
    {
        return 0;
    }
    m_scores.resize(open.size());
    for (std::size_t i = 0; i < open.size(); ++i)
    {
        m_scores[i] = m_portScores[open[i]];
    }
    if (IsRecording())
    {
        m_rows.clear();
        for (const uint32_t port : open)
        {
            const float* features = &m_portRows[port * m_nPortFeatures];
            m_rows.insert(m_rows.end(), features, features + m_nPortFeatures);
        }
    }
    return Choose(PolicyHead::PORT, open.size());
}

uint32_t
PolicyPlayer::ChooseSender()
{
    const uint32_t nSenders = m_steps.CountChoices();
    if (nSenders == 1)
    {
        return 0;
    }
    m_view.WriteSenders(m_steps.GetPort(), m_rows);
    return ScoreAndChoose(PolicyHead::SENDER, nSenders);
}

uint32_t
PolicyPlayer::ChooseItem()
{
    const std::vector<uint32_t>& items = m_steps.GetItems();
    if (items.size() == 1)
    {
        return 0;
    }
    m_view.WriteItems(m_steps.GetPort(), m_steps.GetSender(), items, m_rows);
    return ScoreAndChoose(PolicyHead::ITEM, items.size());
}

void
PolicyPlayer::Score(PolicyHead head, uint32_t nRows)
{
    m_scores.assign(nRows, 0);
    if (m_options.mode == RolloutMode::RANDOM || nRows == 0)
    {
        return;
    }
    if (m_options.scorer)
    {
        m_options.scorer(head, m_rows.data(), nRows, m_scores.data());
    }
    else
    {
        m_weights.Get(head).Score(m_rows.data(), nRows, m_scores.data());
    }
}

/// Symmetric networks tie everywhere.
void
PolicyPlayer::BreakTie(float& score)
{
    if (m_options.mode == RolloutMode::BEST)
    {
        score += 1e-4F * DrawUnit();
    }
}

uint32_t
PolicyPlayer::ScoreAndChoose(PolicyHead head, uint32_t nRows)
{
    Score(head, nRows);
    std::for_each(m_scores.begin(), m_scores.end(), [this](float& score) { BreakTie(score); });
    return Choose(head, nRows);
}

/// @return a choice among the rows that have been scored
uint32_t
PolicyPlayer::Choose(PolicyHead head, uint32_t nRows)
{
    if (m_options.mode == RolloutMode::RANDOM)
    {
        return m_random() % nRows;
    }
    if (m_options.mode == RolloutMode::BEST)
    {
        return std::max_element(m_scores.begin(), m_scores.end()) - m_scores.begin();
    }
    return Sample(head, nRows);
}

uint32_t
PolicyPlayer::Sample(PolicyHead head, uint32_t nRows)
{
    const float highest = *std::max_element(m_scores.begin(), m_scores.end());
    double sum = 0;
    for (float& score : m_scores)
    {
        score = std::exp((score - highest) / m_options.temperature);
        sum += score;
    }
    double remainder = DrawUnit() * sum;
    uint32_t choice = 0;
    while (choice + 1 < nRows && (remainder -= m_scores[choice]) >= 0)
    {
        ++choice;
    }
    if (IsRecording())
    {
        const double probability = std::max(1e-30, m_scores[choice] / sum);
        Record(head, 0, nRows, choice, std::log(probability));
        m_hasDecidedInPick = true;
    }
    return choice;
}

/// Write down a decision on some of the present rows.
void
PolicyPlayer::Record(PolicyHead head,
                     uint32_t firstRow,
                     uint32_t nRows,
                     uint32_t choice,
                     float logP)
{
    const std::size_t nFeatures = m_weights.Get(head).nInputs;
    std::vector<float>& rows = m_episode->rows[static_cast<std::size_t>(head)];
    m_episode->decisions.push_back({head,
                                    nRows,
                                    choice,
                                    m_environment.GetState().round - 1,
                                    rows.size() / nFeatures,
                                    logP,
                                    0});
    const auto first = m_rows.begin() + firstRow * nFeatures;
    rows.insert(rows.end(), first, first + nRows * nFeatures);
}

float
PolicyPlayer::DrawUnit()
{
    return (m_random() >> 40) * (1.0F / (1 << 24));
}

} // namespace ns3::allreduce
