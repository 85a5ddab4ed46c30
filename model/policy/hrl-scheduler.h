/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#ifndef ALLREDUCE_HRL_SCHEDULER_H
#define ALLREDUCE_HRL_SCHEDULER_H

#include "ns3/planned-scheduler.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace ns3::allreduce
{

struct PlanKey;
struct PolicyWeights;
struct RolloutOptions;
enum class PolicyHead : uint8_t;

/**
 * @ingroup allreduce
 * @brief Plans with the two learned policies: in each round the upper one selects flow-trees, the
 * lower one schedules their workloads.
 *
 * An AllReduce that has not begun is planned from its middle outwards (see PlanMiddle), a remainder
 * forwards. With the attribute Online there is no plan: both policies are asked in every round
 * about the present state. Only the outline of a first plan is kept (see PlanOutline), until links
 * change or a partial sum is on none of its trees.
 */
class HrlScheduler : public PlannedScheduler
{
  public:
    /// @return the type
    static TypeId GetTypeId();

    WorkloadList NextRound(const AllReduceState& state) override;
    std::vector<WorkloadList> PlanRounds(const AllReduceState& start) override;
    bool ChoosesByRound() const override;

    /// Scores the rows of features that a policy sees (see RowScorer).
    using Scorer =
        std::function<void(PolicyHead head, const float* rows, uint32_t nRows, float* scores)>;

    /// Let any model decide in the place of the policies' networks.
    /// @param scorer scores the choices; called from several threads at once if Samples is above 1
    void SetScorer(Scorer scorer);

  private:
    /// What rounds are chosen by, online.
    struct OnlineSetup;

    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override;
    std::vector<WorkloadList> PlanRest(const AllReduceState& state) override;
    bool PlansGroups() const override;
    /// Makes the plan of a sample.
    using RolloutPlanner = std::function<std::vector<WorkloadList>(const RolloutOptions&)>;

    /// @return the shortest of the sampled plans
    std::vector<WorkloadList> FindShortest(const RolloutPlanner& makePlan) const;
    /// @return how a sample chooses @param sample its number
    RolloutOptions MakeRolloutOptions(uint32_t sample) const;
    /// @return what to go by @param state where to begin @param plan of what is left from there
    std::shared_ptr<const OnlineSetup> MakeOnlineSetup(const AllReduceState& state,
                                                       const std::vector<WorkloadList>& plan) const;
    /// Outline what is left, if the present outline does not fit. @param state where to go on
    void UpdateOnlineSetup(const AllReduceState& state);
    /// Reads the checkpoint, unless that has been done.
    void LoadWeights();

    std::string m_checkpoint;
    uint32_t m_samples{1};
    uint32_t m_middles{1};
    uint64_t m_searchEffort{0};
    bool m_usesUpper{true};
    bool m_isOnline{false};
    std::shared_ptr<const PlanKey> m_firstKey;       //!< what m_firstSetup was made for
    std::shared_ptr<const OnlineSetup> m_firstSetup; //!< online: from an AllReduce's beginning
    std::shared_ptr<const OnlineSetup> m_setup;      //!< online: of the present AllReduce
    Scorer m_scorer;
    std::string m_loaded; //!< where m_weights are from
    std::shared_ptr<const PolicyWeights> m_weights;
};

} // namespace ns3::allreduce

#endif /* ALLREDUCE_HRL_SCHEDULER_H */
