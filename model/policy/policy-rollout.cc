/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-rollout.h"

#include "ns3/allreduce-error.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// More items are not weighed against each other; training networks hardly have so many.
constexpr uint32_t MOST_ITEMS = 64;

/// How a round is rewarded: rounds lost, the same for the mean server, and ports that idled.
constexpr float LOST_ROUND = 1;
constexpr float LOST_MEAN_ROUND = 0.5;
constexpr float IDLE_PORTS = 0.4;
/// What a pick costs for each port that it leaves without options.
constexpr float LOST_OPTION = 0.1;

/// Rolls out the policies on one problem.
class Rollout
{
  public:
    Rollout(PlanningEnvironment& environment,
            const PolicyWeights& weights,
            const RolloutOptions& options,
            EpisodeRecord* record)
        : m_environment(environment),
          m_weights(weights),
          m_options(options),
          m_record(record),
          m_random(options.seed),
          m_portScores(m_environment.GetNPorts(), 0)
    {
    }

    std::vector<WorkloadList> Run()
    {
        std::vector<WorkloadList> plan;
        const uint32_t needed = m_environment.GetRoundsNeeded();
        PlanningEnvironment::RoundOutcome before{needed, static_cast<double>(needed), 0};
        if (m_record)
        {
            *m_record = {};
            m_record->nRoundsNeeded = needed;
        }
        while (m_environment.GetNTransfersLeft() > 0)
        {
            if (m_options.mostRounds > 0 && plan.size() == m_options.mostRounds)
            {
                NoteEnd(plan.size());
                return {};
            }
            plan.push_back(MakeRound());
            if (plan.back().IsEmpty() && !m_environment.MayWait())
            {
                FailInput("round ",
                          plan.size(),
                          ": nothing can be sent over the links that are up, though ",
                          m_environment.GetNTransfersLeft(),
                          " transfers are left");
            }
            const auto after = m_environment.EndRound();
            if (m_record)
            {
                m_record->AddReward(before, after);
            }
            before = after;
        }
        NoteEnd(plan.size());
        return plan;
    }

  private:
    void NoteEnd(std::size_t nRounds)
    {
        if (m_record)
        {
            m_record->nRounds = nRounds;
            m_record->selectedShare = nRounds > 0 ? m_record->selectedShare / nRounds : 1;
        }
    }

    WorkloadList MakeRound()
    {
        m_environment.BeginRound();
        const std::size_t firstDecision = m_record ? m_record->decisions.size() : 0;
        const std::size_t nTreeDecisions = SelectTrees();
        if (m_record)
        {
            const std::vector<float> features = m_environment.MakeValueFeatures();
            auto& rows = m_record->rows[static_cast<std::size_t>(PolicyHead::VALUE)];
            rows.insert(rows.end(), features.begin(), features.end());
        }
        WorkloadList round;
        PickAll(round);
        while (m_environment.OfferMore())
        {
            PickAll(round);
        }
        if (nTreeDecisions > 0)
        {
            const std::vector<float> missed = m_environment.FindMissedByTree();
            for (std::size_t i = 0; i < nTreeDecisions; ++i)
            {
                Decision& decision = m_record->decisions[firstDecision + i];
                decision.reward = decision.choice == 1 ? 0 : -std::min(1.0F, missed[i]);
            }
        }
        return round;
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

    /// Ask the upper policy. @return how many of its decisions are to be rewarded
    std::size_t SelectTrees()
    {
        if (!m_options.usesUpper)
        {
            return 0;
        }
        const uint32_t nTrees = m_environment.GetSelectableTrees().size();
        if (nTrees == 0)
        {
            return 0;
        }
        m_environment.WriteTreeFeatures(m_rows);
        Score(PolicyHead::TREE, nTrees);
        std::vector<bool> selected(nTrees);
        uint32_t nSelected = 0;
        for (uint32_t i = 0; i < nTrees; ++i)
        {
            const float probability = 1 / (1 + std::exp(-m_scores[i] - m_options.treeShift));
            selected[i] = ChooseTree(i, probability);
            nSelected += selected[i];
            if (IsRecordingTrees())
            {
                const float chosen = selected[i] ? probability : 1 - probability;
                Record(PolicyHead::TREE, i, 1, selected[i], std::log(std::max(1e-9F, chosen)));
            }
        }
        m_environment.SelectTrees(selected);
        if (m_record)
        {
            m_record->selectedShare += static_cast<double>(nSelected) / nTrees;
        }
        return IsRecording() && IsRecordingTrees() ? nTrees : 0;
    }

    bool ChooseTree(uint32_t tree, float probability)
    {
        if (m_options.stagger)
        {
            return m_environment.IsDue(tree, *m_options.stagger);
        }
        switch (m_options.samplesTrees ? RolloutMode::SAMPLE : m_options.mode)
        {
        case RolloutMode::BEST:
            return probability >= 0.5F;
        case RolloutMode::SAMPLE:
            return DrawUnit() < probability;
        case RolloutMode::RANDOM:
            return DrawUnit() < 0.5F;
        }
        return true;
    }

    bool IsRecordingTrees() const
    {
        return m_record && (m_options.recordsTrees ||
                            (m_options.mode == RolloutMode::SAMPLE && !m_options.stagger));
    }

    bool IsRecording() const
    {
        return m_record && m_options.mode == RolloutMode::SAMPLE;
    }

    void ScoreChangedPorts()
    {
        if (m_options.mode == RolloutMode::RANDOM)
        {
            return;
        }
        for (const uint32_t port : m_environment.GetChangedPorts())
        {
            m_weights.Get(PolicyHead::PORT)
                .Score(m_environment.GetPortFeatures(port), 1, &m_portScores[port]);
        }
    }

    void PickOne(WorkloadList& round)
    {
        const uint32_t port = PickPort();
        const std::vector<PlanningEnvironment::Sender>& senders = m_environment.GetSenders(port);
        uint32_t choice = 0;
        if (senders.size() > 1)
        {
            m_environment.WriteSenderFeatures(port, m_rows);
            choice = ScoreAndChoose(PolicyHead::SENDER, senders.size());
        }
        const PlanningEnvironment::Sender sender = senders[choice];
        m_environment.FindItems(port, sender, MOST_ITEMS, m_items);
        choice = 0;
        if (m_items.size() > 1)
        {
            m_environment.WriteItemFeatures(port, sender, m_items, m_rows);
            choice = ScoreAndChoose(PolicyHead::CHUNK, m_items.size());
        }
        const uint32_t nLost = m_environment.Pick(port, sender, m_items[choice], round);
        if (IsRecording() && m_hasDecidedInPick)
        {
            m_record->decisions.back().reward -= LOST_OPTION * nLost;
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
            const std::size_t nFeatures = m_weights.Get(PolicyHead::PORT).nInputs;
            for (const uint32_t port : open)
            {
                const float* features = m_environment.GetPortFeatures(port);
                m_rows.insert(m_rows.end(), features, features + nFeatures);
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

    uint32_t ScoreAndChoose(PolicyHead head, uint32_t nRows)
    {
        Score(head, nRows);
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
            // Symmetric networks tie everywhere.
            for (float& score : m_scores)
            {
                score += 1e-4F * DrawUnit();
            }
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

    /// Write down a decision on the present rows.
    void Record(PolicyHead head, uint32_t firstRow, uint32_t nRows, uint32_t choice, float logP)
    {
        const std::size_t nFeatures = m_weights.Get(head).nInputs;
        m_record->Add({head, nRows, choice, m_environment.GetRound() - 1, 0, logP, 0},
                      m_rows.data() + firstRow * nFeatures,
                      nFeatures);
    }

    float DrawUnit()
    {
        return (m_random() >> 40) * (1.0F / (1 << 24));
    }

    PlanningEnvironment& m_environment; //!< what the policies see
    const PolicyWeights& m_weights;     //!< of the policies
    const RolloutOptions& m_options;    //!< how to choose
    EpisodeRecord* m_record;            //!< what training needs to know
    std::mt19937_64 m_random;           //!< where chance comes from
    std::vector<float> m_portScores;    //!< by port
    std::vector<float> m_rows;          //!< features of the present choice
    std::vector<float> m_scores;        //!< of the present choice
    std::vector<uint32_t> m_items;      //!< of the present choice
    bool m_hasDecidedInPick{false};     //!< the present pick was recorded
};

} // namespace

void
EpisodeRecord::Add(Decision decision, const float* features, std::size_t nFeatures)
{
    auto& all = rows[static_cast<std::size_t>(decision.head)];
    decision.firstRow = all.size() / nFeatures;
    decisions.push_back(decision);
    all.insert(all.end(), features, features + decision.nRows * nFeatures);
}

void
EpisodeRecord::AddReward(const PlanningEnvironment::RoundOutcome& before,
                         const PlanningEnvironment::RoundOutcome& after)
{
    const double lost = static_cast<double>(after.roundsNeeded) - before.roundsNeeded;
    const double lostMean = after.meanRoundsNeeded - before.meanRoundsNeeded;
    rewards.push_back(static_cast<float>(-LOST_ROUND * lost - LOST_MEAN_ROUND * lostMean -
                                         IDLE_PORTS * after.idleShare));
}

std::vector<WorkloadList>
RunRollout(PlanningEnvironment& environment,
           const PolicyWeights& weights,
           const RolloutOptions& options,
           EpisodeRecord* record)
{
    return Rollout(environment, weights, options, record).Run();
}

} // namespace ns3::allreduce
