/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "episode-batch.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace ns3::allreduce
{

namespace
{

constexpr float LATER_PICKS = 0.9;  //!< a pick shares what the next one in its round earned
constexpr float MOST_ADVANTAGE = 4; //!< normalized ones beyond are cut
constexpr uint32_t MANY_PORTS = 8;  //!< choices among more are thinned out

/// Collects numbers for their mean and deviation.
struct Moments
{
    double sum{0};     //!< of the numbers
    double squares{0}; //!< of their squares
    uint64_t count{0}; //!< of the numbers

    void Add(double x)
    {
        sum += x;
        squares += x * x;
        ++count;
    }

    double GetMean() const
    {
        return count > 0 ? sum / count : 0;
    }

    double GetDeviation() const
    {
        const double mean = GetMean();
        return count > 0 ? std::sqrt(std::max(1e-8, squares / count - mean * mean)) + 1e-4 : 1;
    }
};

torch::Tensor
ToTensor(const std::vector<float>& values)
{
    return torch::tensor(values, torch::kFloat32);
}

} // namespace

EpisodeBatch::EpisodeBatch(std::vector<EpisodeRecord> records,
                           const PolicyWeights& weights,
                           const TrainingConfig& config,
                           bool isLowerImitated,
                           bool isUpperImitated)
    : m_config(config),
      m_isLowerImitated(isLowerImitated),
      m_isUpperImitated(isUpperImitated),
      m_records(std::move(records)),
      m_roundAdvantages(m_records.size()),
      m_advantages(m_records.size())
{
    for (const PerceptronWeights& head : weights.heads)
    {
        m_nFeatures.push_back(head.nInputs);
    }
    for (uint32_t i = 0; i < m_records.size(); ++i)
    {
        EstimateRounds(i, weights);
        EstimateDecisions(i);
    }
    Normalize();
}

void
EpisodeBatch::EstimateRounds(uint32_t index, const PolicyWeights& weights)
{
    const EpisodeRecord& record = m_records[index];
    const std::size_t nRounds = record.rewards.size();
    std::vector<float> values(nRounds + 1, 0);
    weights.Get(PolicyHead::VALUE)
        .Score(record.rows[static_cast<std::size_t>(PolicyHead::VALUE)].data(),
               nRounds,
               values.data());
    values[nRounds] = 0;
    std::vector<float> returns(nRounds);
    m_roundAdvantages[index].resize(nRounds);
    double advantage = 0;
    for (std::size_t round = nRounds; round-- > 0;)
    {
        const double surprise = record.rewards[round] + values[round + 1] - values[round];
        advantage = surprise + m_config.lambda * advantage;
        returns[round] = advantage + values[round];
        m_roundAdvantages[index][round] = advantage + m_config.group_weight * record.lead;
    }
    m_returns.insert(m_returns.end(), returns.begin(), returns.end());
}

void
EpisodeBatch::EstimateDecisions(uint32_t index)
{
    const EpisodeRecord& record = m_records[index];
    m_advantages[index].resize(record.decisions.size());
    if (record.rewards.empty() && m_isUpperImitated)
    {
        WeighSelections(index);
        return;
    }
    if (m_isLowerImitated)
    {
        std::fill(m_advantages[index].begin(), m_advantages[index].end(), 1);
        return;
    }
    float later = 0;
    uint32_t laterRound = ~0U;
    for (std::size_t i = record.decisions.size(); i-- > 0;)
    {
        const Decision& decision = record.decisions[i];
        if (record.rewards.empty())
        {
            m_advantages[index][i] = record.lead / record.nRounds;
            continue;
        }
        const float round = m_roundAdvantages[index][decision.round];
        if (decision.head == PolicyHead::TREE)
        {
            m_advantages[index][i] = m_config.upper_weight * round + decision.reward;
            continue;
        }
        later = decision.round == laterRound ? LATER_PICKS * later : 0;
        laterRound = decision.round;
        later += decision.reward;
        m_advantages[index][i] = round + later;
    }
}

void
EpisodeBatch::WeighSelections(uint32_t index)
{
    const std::vector<Decision>& decisions = m_records[index].decisions;
    const auto nSelected = std::count_if(decisions.begin(), decisions.end(), [](const Decision& d) {
        return d.choice == 1;
    });
    const float nOthers = decisions.size() - nSelected;
    for (std::size_t i = 0; i < decisions.size(); ++i)
    {
        const bool isRare = decisions[i].choice == 1 && nOthers > nSelected;
        m_advantages[index][i] = isRare ? nOthers / nSelected : 1;
    }
}

void
EpisodeBatch::Normalize()
{
    // Halves of plans that overlap lose rounds that nobody could save: with one measure for all,
    // what the others lose would hardly count.
    Moments upper;
    Moments lower;
    Moments lowerOfHalves;
    const auto find = [&](std::size_t record, std::size_t decision) -> Moments& {
        if (m_records[record].decisions[decision].head == PolicyHead::TREE)
        {
            return upper;
        }
        return m_records[record].isHalf ? lowerOfHalves : lower;
    };
    for (std::size_t i = 0; i < m_records.size(); ++i)
    {
        for (std::size_t k = 0; k < m_advantages[i].size(); ++k)
        {
            find(i, k).Add(m_advantages[i][k]);
        }
    }
    for (std::size_t i = 0; i < m_records.size(); ++i)
    {
        for (std::size_t k = 0; k < m_advantages[i].size(); ++k)
        {
            const bool isUpper = m_records[i].decisions[k].head == PolicyHead::TREE;
            if (isUpper ? m_isUpperImitated : m_isLowerImitated)
            {
                continue;
            }
            const Moments& moments = find(i, k);
            const double normalized =
                (m_advantages[i][k] - moments.GetMean()) / moments.GetDeviation();
            m_advantages[i][k] = std::clamp<double>(normalized, -MOST_ADVANTAGE, MOST_ADVANTAGE);
        }
    }
}

void
EpisodeBatch::Shuffle(PolicyHead head, uint64_t seed)
{
    std::mt19937_64 random(seed + static_cast<uint64_t>(head));
    auto& order = m_order[static_cast<std::size_t>(head)];
    order.clear();
    for (uint32_t i = 0; i < m_records.size(); ++i)
    {
        for (uint32_t k = 0; k < m_records[i].decisions.size(); ++k)
        {
            const Decision& decision = m_records[i].decisions[k];
            const bool isThinned = head == PolicyHead::PORT && decision.nRows > MANY_PORTS &&
                                   (random() >> 11) * 0x1p-53 >= m_config.port_share;
            if (decision.head == head && !isThinned)
            {
                order.push_back({i, k});
            }
        }
    }
    for (std::size_t i = order.size(); i > 1; --i)
    {
        std::swap(order[i - 1], order[random() % i]);
    }
}

DecisionBatch
EpisodeBatch::MakeMinibatch(PolicyHead head, uint32_t index, uint32_t count) const
{
    const auto& order = m_order[static_cast<std::size_t>(head)];
    const std::size_t begin = order.size() * index / count;
    const std::size_t end = order.size() * (index + 1) / count;
    const std::size_t nFeatures = m_nFeatures[static_cast<std::size_t>(head)];
    std::vector<float> rows;
    std::vector<int64_t> decisionOfRow;
    std::vector<int64_t> chosenRow;
    std::vector<float> choice;
    std::vector<float> logProbability;
    std::vector<float> advantage;
    for (std::size_t i = begin; i < end; ++i)
    {
        const EpisodeRecord& record = m_records[order[i].record];
        const Decision& decision = record.decisions[order[i].decision];
        const float* first =
            record.rows[static_cast<std::size_t>(head)].data() + decision.firstRow * nFeatures;
        chosenRow.push_back(decisionOfRow.size() + decision.choice);
        decisionOfRow.insert(decisionOfRow.end(), decision.nRows, i - begin);
        rows.insert(rows.end(), first, first + decision.nRows * nFeatures);
        choice.push_back(decision.choice);
        logProbability.push_back(decision.logProbability);
        advantage.push_back(m_advantages[order[i].record][order[i].decision]);
    }
    DecisionBatch batch;
    batch.isImitated = head == PolicyHead::TREE ? m_isUpperImitated : m_isLowerImitated;
    batch.nDecisions = end - begin;
    batch.rows = ToTensor(rows).view({-1, static_cast<int64_t>(nFeatures)});
    batch.decisionOfRow = torch::tensor(decisionOfRow, torch::kInt64);
    batch.chosenRow = torch::tensor(chosenRow, torch::kInt64);
    batch.choice = ToTensor(choice);
    batch.logProbability = ToTensor(logProbability);
    batch.advantage = ToTensor(advantage);
    return batch;
}

torch::Tensor
EpisodeBatch::GetValueRows() const
{
    std::vector<float> all;
    for (const EpisodeRecord& record : m_records)
    {
        const auto& rows = record.rows[static_cast<std::size_t>(PolicyHead::VALUE)];
        all.insert(all.end(), rows.begin(), rows.end());
    }
    const int64_t nFeatures = m_nFeatures[static_cast<std::size_t>(PolicyHead::VALUE)];
    return ToTensor(all).view({-1, nFeatures});
}

torch::Tensor
EpisodeBatch::GetReturns() const
{
    return ToTensor(m_returns);
}

} // namespace ns3::allreduce
