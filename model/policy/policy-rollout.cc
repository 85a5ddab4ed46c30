/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-rollout.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// More items are not weighed against each other; training networks hardly have so many.
constexpr uint32_t MOST_ITEMS = 32;
/// Where plans fail to be as short as they can be, it is mostly in this part of the rounds.
constexpr uint32_t ENDING_SHARE = 5;

/// Rolls out the policies on one problem.
class Rollout
{
  public:
    Rollout(PlanningEnvironment& environment,
            const PolicyWeights& weights,
            const RolloutOptions& options,
            const RewardWeights& rewards,
            Episode* episode)
        : m_environment(environment),
          m_view(environment),
          m_weights(weights),
          m_options(options),
          m_rewards(rewards),
          m_episode(episode),
          m_random(options.seed),
          m_nPortFeatures(weights.Get(PolicyHead::PORT).nInputs),
          m_portRows(environment.GetNPorts() * m_nPortFeatures, 0),
          m_portScores(environment.GetNPorts(), 0)
    {
        if (options.mode == RolloutMode::BEST)
        {
            environment.SetRenewal(PlanningEnvironment::Renewal::WHEN_ASKED);
        }
    }

    /// @return the next rounds @param mostRounds no more than so many
    std::vector<WorkloadList> Run(std::size_t mostRounds = std::numeric_limits<std::size_t>::max())
    {
        std::vector<WorkloadList> plan;
        const uint32_t needed = m_environment.GetRoundsNeeded();
        const double nTransfers = m_environment.GetNTransfersLeft();
        PlanningEnvironment::RoundOutcome before{needed, static_cast<double>(needed), 0};
        if (m_episode)
        {
            *m_episode = {};
            m_episode->nRoundsNeeded = needed;
        }
        while (m_environment.GetNTransfersLeft() > 0 && plan.size() < mostRounds)
        {
            if (m_options.mostRounds > 0 && plan.size() == m_options.mostRounds)
            {
                NoteEnd(plan.size());
                return {};
            }
            plan.push_back(MakeRound());
            const auto after = m_environment.EndRound();
            Reward(before, after);
            before = after;
            m_options.progress.ShowRound(m_environment.GetRound(),
                                         1 - m_environment.GetNTransfersLeft() / nTransfers);
        }
        NoteEnd(plan.size());
        return plan;
    }

    WorkloadList MakeRound()
    {
        m_environment.BeginRound();
        SelectTrees();
        if (m_episode)
        {
            m_view.AppendValue(m_episode->rows[static_cast<std::size_t>(PolicyHead::VALUE)]);
        }
        WorkloadList round;
        do
        {
            PickAll(round);
        } while (m_environment.OfferMore());
        if (round.IsEmpty())
        {
            FailInput("round ",
                      m_environment.GetRound(),
                      ": nothing can be sent over the links that are up, though ",
                      m_environment.GetNTransfersLeft(),
                      " transfers are left");
        }
        return round;
    }

  private:
    void NoteEnd(std::size_t nRounds)
    {
        if (m_episode)
        {
            m_episode->nRounds = nRounds;
            m_episode->selectedShare = m_nSelectable > 0 ? m_nSelected / double(m_nSelectable) : 1;
        }
    }

    void Reward(const PlanningEnvironment::RoundOutcome& before,
                const PlanningEnvironment::RoundOutcome& after)
    {
        if (m_episode)
        {
            const double lost = static_cast<double>(after.roundsNeeded) - before.roundsNeeded;
            const double lostMean = after.meanRoundsNeeded - before.meanRoundsNeeded;
            m_episode->rewards.push_back(-m_rewards.lostRound * lost -
                                         m_rewards.lostMeanRound * lostMean -
                                         m_rewards.idlePorts * after.idleShare);
        }
    }

    void PickAll(WorkloadList& round)
    {
        ScoreChangedPorts();
        while (!m_environment.GetOpenPorts().empty())
        {
            PickOne(round);
            ScoreChangedPorts();
        }
    }

    /// Ask the upper policy, or follow a rule in its place.
    void SelectTrees()
    {
        const uint32_t nTrees = m_environment.GetSelectableTrees().size();
        if (nTrees == 0 || m_options.upper == UpperMode::ALL)
        {
            return;
        }
        std::vector<bool> selected(nTrees);
        if (m_options.upper == UpperMode::RULE)
        {
            m_environment.SelectByRule(selected);
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
        m_environment.SelectTrees(selected);
        m_nSelectable += nTrees;
        m_nSelected += std::count(selected.begin(), selected.end(), true);
    }

    bool ChooseTree(uint32_t tree)
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

    bool IsRecording() const
    {
        return m_episode && m_options.mode == RolloutMode::SAMPLE;
    }

    void ScoreChangedPorts()
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

    void PickOne(WorkloadList& round)
    {
        const uint32_t port = PickPort();
        if (m_environment.Renew(port))
        {
            return; // it may not be the best one any more
        }
        const std::vector<PlanningEnvironment::Sender>& senders = m_environment.GetSenders(port);
        uint32_t choice = 0;
        if (senders.size() > 1)
        {
            m_view.WriteSenders(port, m_rows);
            choice = ScoreAndChoose(PolicyHead::SENDER, senders.size());
        }
        const PlanningEnvironment::Sender sender = senders[choice];
        m_environment.FindItems(port, sender, MOST_ITEMS, m_items);
        choice = 0;
        if (m_items.size() > 1)
        {
            m_view.WriteItems(port, sender, m_items, m_rows);
            choice = ScoreAndChoose(PolicyHead::ITEM, m_items.size());
        }
        const uint32_t nLost = m_environment.Pick(port, sender, m_items[choice], round);
        if (IsRecording() && m_hasDecidedInPick)
        {
            m_episode->decisions.back().reward -= m_rewards.lostOption * nLost;
        }
    }

    uint32_t PickPort()
    {
        const std::vector<uint32_t>& open = m_environment.GetOpenPorts();
        m_hasDecidedInPick = false;
        if (open.size() == 1)
        {
            return open[0];
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
        return open[Choose(PolicyHead::PORT, open.size())];
    }

    void Score(PolicyHead head, uint32_t nRows)
    {
        m_scores.assign(nRows, 0);
        if (m_options.mode != RolloutMode::RANDOM)
        {
            m_weights.Get(head).Score(m_rows.data(), nRows, m_scores.data());
        }
    }

    /// Symmetric networks tie everywhere.
    void BreakTie(float& score)
    {
        if (m_options.mode == RolloutMode::BEST)
        {
            score += 1e-4F * DrawUnit();
        }
    }

    uint32_t ScoreAndChoose(PolicyHead head, uint32_t nRows)
    {
        Score(head, nRows);
        std::for_each(m_scores.begin(), m_scores.end(), [this](float& score) { BreakTie(score); });
        return Choose(head, nRows);
    }

    /// @return a choice among the rows that have been scored
    uint32_t Choose(PolicyHead head, uint32_t nRows)
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

    uint32_t Sample(PolicyHead head, uint32_t nRows)
    {
        const float highest = *std::max_element(m_scores.begin(), m_scores.end());
        double sum = 0;
        for (float& score : m_scores)
        {
            score = std::exp((score - highest) / m_options.temperature);
            sum += score;
        }
        double rest = DrawUnit() * sum;
        uint32_t choice = 0;
        while (choice + 1 < nRows && (rest -= m_scores[choice]) >= 0)
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
    void Record(PolicyHead head, uint32_t firstRow, uint32_t nRows, uint32_t choice, float logP)
    {
        const std::size_t nFeatures = m_weights.Get(head).nInputs;
        std::vector<float>& rows = m_episode->rows[static_cast<std::size_t>(head)];
        m_episode->decisions.push_back(
            {head, nRows, choice, m_environment.GetRound() - 1, rows.size() / nFeatures, logP, 0});
        const auto first = m_rows.begin() + firstRow * nFeatures;
        rows.insert(rows.end(), first, first + nRows * nFeatures);
    }

    float DrawUnit()
    {
        return (m_random() >> 40) * (1.0F / (1 << 24));
    }

    PlanningEnvironment& m_environment;  //!< what is planned
    const PolicyView m_view;             //!< what the policies see of it
    const PolicyWeights& m_weights;      //!< of the policies
    const RolloutOptions& m_options;     //!< how to choose
    const RewardWeights& m_rewards;      //!< what rounds earn
    Episode* m_episode;                  //!< what training needs to know
    std::mt19937_64 m_random;            //!< where chance comes from
    const std::size_t m_nPortFeatures;   //!< features of a port
    std::vector<float> m_portRows;       //!< by port: its features
    std::vector<float> m_portScores;     //!< by port
    std::vector<uint32_t> m_scoredPorts; //!< ports whose options have changed
    std::vector<float> m_rows;           //!< features of the present choice
    std::vector<float> m_scores;         //!< of the present choice
    std::vector<uint32_t> m_items;       //!< of the present choice
    bool m_hasDecidedInPick{false};      //!< the present pick was recorded
    uint64_t m_nSelectable{0};           //!< trees that the upper policy was asked about
    uint64_t m_nSelected{0};             //!< those that it selected
};

} // namespace

std::vector<WorkloadList>
RunRollout(PlanningEnvironment& environment,
           const PolicyWeights& weights,
           const RolloutOptions& options,
           const RewardWeights& rewards,
           Episode* episode)
{
    return Rollout(environment, weights, options, rewards, episode).Run();
}

WorkloadList
RunRound(PlanningEnvironment& environment,
         const PolicyWeights& weights,
         const RolloutOptions& options)
{
    const RewardWeights rewards;
    return Rollout(environment, weights, options, rewards, nullptr).MakeRound();
}

std::vector<WorkloadList>
RunRolloutWithEndings(const PlanningProblem& problem,
                      const PolicyWeights& weights,
                      const RolloutOptions& options,
                      uint32_t nEndings)
{
    PlanningEnvironment paused(problem);
    const uint32_t needed = paused.GetRoundsNeeded();
    std::vector<WorkloadList> plan =
        Rollout(paused, weights, options, {}, nullptr).Run(needed - needed / ENDING_SHARE);
    if (paused.GetRoundsNeeded() > needed)
    {
        nEndings = 1; // no ending makes up for that
    }
    std::vector<WorkloadList> best;
    RolloutOptions other = options;
    other.progress = options.progress.GetPart(1 - 1.0 / ENDING_SHARE, 1);
    for (uint32_t i = 0; i < nEndings && (i == 0 || plan.size() + best.size() > needed); ++i)
    {
        other.seed = options.seed + i;
        PlanningEnvironment environment = paused;
        std::vector<WorkloadList> ending = Rollout(environment, weights, other, {}, nullptr).Run();
        if (i == 0 || ending.size() < best.size())
        {
            best = std::move(ending);
        }
    }
    plan.insert(plan.end(), best.begin(), best.end());
    return plan;
}

} // namespace ns3::allreduce
