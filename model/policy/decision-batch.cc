/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "decision-batch.h"

#include <algorithm>
#include <random>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t MANY_PORTS = 8; //!< choices among more are thinned out

torch::Tensor
ToTensor(const std::vector<float>& values)
{
    return torch::tensor(values, torch::kFloat32);
}

} // namespace

DecisionShuffle::DecisionShuffle(const std::vector<Episode>& episodes,
                                 const AdvantageEstimate& advantages,
                                 PolicyHead head,
                                 double portShare,
                                 uint64_t seed)
    : m_episodes(episodes),
      m_advantages(advantages),
      m_head(head)
{
    std::mt19937_64 random(seed + static_cast<uint64_t>(head));
    for (uint32_t i = 0; i < episodes.size(); ++i)
    {
        for (uint32_t k = 0; k < episodes[i].decisions.size(); ++k)
        {
            const Decision& decision = episodes[i].decisions[k];
            const bool isThinned = head == PolicyHead::PORT && decision.nRows > MANY_PORTS &&
                                   (random() >> 11) * 0x1p-53 >= portShare;
            if (decision.head == head && !isThinned)
            {
                m_order.push_back({i, k});
            }
        }
    }
    std::shuffle(m_order.begin(), m_order.end(), random);
}

DecisionBatch
DecisionShuffle::MakeMinibatch(uint32_t index, uint32_t count) const
{
    const std::size_t begin = m_order.size() * index / count;
    const std::size_t end = m_order.size() * (index + 1) / count;
    const std::size_t nFeatures = GetPolicyFeatures(m_head).size();
    std::vector<float> rows;
    std::vector<int64_t> decisionOfRow;
    std::vector<int64_t> chosenRow;
    std::vector<float> choice;
    std::vector<float> logProbability;
    std::vector<float> advantage;
    for (std::size_t i = begin; i < end; ++i)
    {
        const Episode& episode = m_episodes[m_order[i].episode];
        const Decision& decision = episode.decisions[m_order[i].decision];
        const float* first =
            episode.rows[static_cast<std::size_t>(m_head)].data() + decision.firstRow * nFeatures;
        chosenRow.push_back(decisionOfRow.size() + decision.choice);
        decisionOfRow.insert(decisionOfRow.end(), decision.nRows, i - begin);
        rows.insert(rows.end(), first, first + decision.nRows * nFeatures);
        choice.push_back(decision.choice);
        logProbability.push_back(decision.logProbability);
        advantage.push_back(m_advantages.ofDecisions[m_order[i].episode][m_order[i].decision]);
    }
    DecisionBatch batch;
    batch.nDecisions = end - begin;
    batch.rows = ToTensor(rows).view({-1, static_cast<int64_t>(nFeatures)});
    batch.decisionOfRow = torch::tensor(decisionOfRow, torch::kInt64);
    batch.chosenRow = torch::tensor(chosenRow, torch::kInt64);
    batch.choice = ToTensor(choice);
    batch.logProbability = ToTensor(logProbability);
    batch.advantage = ToTensor(advantage);
    return batch;
}

} // namespace ns3::allreduce
