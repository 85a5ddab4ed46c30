/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "plan-imitation.h"

#include <algorithm>
#include <limits>
#include <random>
#include <set>

namespace ns3::allreduce
{

namespace
{

/// Follows a plan.
class Imitation
{
  public:
    Imitation(PlanningEnvironment& environment, const PolicyWeights& weights, uint64_t seed)
        : m_environment(environment),
          m_weights(weights),
          m_random(seed)
    {
    }

    EpisodeRecord Run(const std::vector<WorkloadList>& plan)
    {
        const uint32_t needed = m_environment.GetRoundsNeeded();
        PlanningEnvironment::RoundOutcome before{needed, static_cast<double>(needed), 0};
        m_record.nRoundsNeeded = needed;
        m_record.selectedShare = 1;
        for (const WorkloadList& round : plan)
        {
            Follow(round);
            const auto after = m_environment.EndRound();
            m_record.AddReward(before, after);
            before = after;
            ++m_record.nRounds;
            if (m_environment.GetNTransfersLeft() == 0)
            {
                break;
            }
        }
        return std::move(m_record);
    }

  private:
    void Follow(const WorkloadList& round)
    {
        m_environment.BeginRound();
        RecordTrees(round);
        const std::vector<float> features = m_environment.MakeValueFeatures();
        auto& rows = m_record.rows[static_cast<std::size_t>(PolicyHead::VALUE)];
        rows.insert(rows.end(), features.begin(), features.end());

        std::vector<std::size_t> order(round.GetSize());
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            const std::size_t k = m_random() % (i + 1);
            order[i] = order[k];
            order[k] = i;
        }
        WorkloadList done;
        do
        {
            // What is not offered yet may be so later.
            order.erase(std::remove_if(order.begin(),
                                       order.end(),
                                       [&](std::size_t i) { return Pick(round.Get(i), done); }),
                        order.end());
        } while (!order.empty() && m_environment.OfferMore());
    }

    void RecordTrees(const WorkloadList& round)
    {
        std::set<ChunkId> workedOn;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            workedOn.insert(round.Get(i).chunk);
        }
        const std::vector<ChunkId>& trees = m_environment.GetSelectableTrees();
        m_environment.WriteTreeFeatures(m_rows);
        for (std::size_t i = 0; i < trees.size(); ++i)
        {
            Record(PolicyHead::TREE, i, 1, workedOn.count(trees[i]));
        }
    }

    /// @return whether the workload was on offer
    bool Pick(const Workload& workload, WorkloadList& done)
    {
        const Path path(workload.path.begin(), workload.path.end());
        const uint32_t port = m_environment.FindPort(path);
        const std::vector<uint32_t>& open = m_environment.GetOpenPorts();
        const auto place = std::lower_bound(open.begin(), open.end(), port);
        if (place == open.end() || *place != port)
        {
            return false;
        }
        const auto& senders = m_environment.GetSenders(port);
        const auto sender = std::find_if(senders.begin(), senders.end(), [&](const auto& s) {
            return s.server == workload.GetSource();
        });
        if (sender == senders.end())
        {
            return false;
        }
        m_environment.FindItems(port, *sender, std::numeric_limits<uint32_t>::max(), m_items);
        const auto item =
            std::find(m_items.begin(), m_items.end(), m_environment.GetItem(workload));
        if (item == m_items.end())
        {
            return false;
        }
        RecordPort(place - open.begin());
        m_environment.WriteSenderFeatures(port, m_rows);
        Record(PolicyHead::SENDER, 0, senders.size(), sender - senders.begin());
        m_environment.WriteItemFeatures(port, *sender, m_items, m_rows);
        Record(PolicyHead::CHUNK, 0, m_items.size(), item - m_items.begin());
        m_environment.PickAlong(port, *item, path, done);
        return true;
    }

    void RecordPort(uint32_t choice)
    {
        const std::size_t nFeatures = m_weights.Get(PolicyHead::PORT).nInputs;
        m_rows.clear();
        for (const uint32_t port : m_environment.GetOpenPorts())
        {
            const float* features = m_environment.GetPortFeatures(port);
            m_rows.insert(m_rows.end(), features, features + nFeatures);
        }
        Record(PolicyHead::PORT, 0, m_environment.GetOpenPorts().size(), choice);
    }

    void Record(PolicyHead head, std::size_t firstRow, uint32_t nRows, uint32_t choice)
    {
        const std::size_t nFeatures = m_weights.Get(head).nInputs;
        m_record.Add({head, nRows, choice, m_environment.GetRound() - 1, 0, 0, 0},
                     m_rows.data() + firstRow * nFeatures,
                     nFeatures);
    }

    PlanningEnvironment& m_environment; //!< what the policies see
    const PolicyWeights& m_weights;     //!< for the layout
    std::mt19937_64 m_random;           //!< where chance comes from
    EpisodeRecord m_record;             //!< what was decided
    std::vector<float> m_rows;          //!< features of the present decision
    std::vector<uint32_t> m_items;      //!< of the present decision
};

} // namespace

EpisodeRecord
RecordPlan(PlanningEnvironment& environment,
           const std::vector<WorkloadList>& plan,
           const PolicyWeights& weights,
           uint64_t seed)
{
    return Imitation(environment, weights, seed).Run(plan);
}

} // namespace ns3::allreduce
