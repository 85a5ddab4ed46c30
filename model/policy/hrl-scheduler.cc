/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "hrl-scheduler.h"

#include "group-planner.h"
#include "hrl-planner.h"
#include "plan-outline.h"
#include "policy-checkpoint.h"
#include "policy-rollout.h"

#include "ns3/allreduce-error.h"
#include "ns3/boolean.h"
#include "ns3/log.h"
#include "ns3/parallel-for.h"
#include "ns3/plan-key.h"
#include "ns3/plan-search.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceHrlScheduler");
NS_OBJECT_ENSURE_REGISTERED(HrlScheduler);

struct HrlScheduler::OnlineSetup
{
    PlanOutline outline;    //!< of a plan
    RolloutOptions options; //!< how to choose
};

TypeId
HrlScheduler::GetTypeId()
{
    static TypeId tid =
        TypeId("ns3::allreduce::HrlScheduler")
            .SetParent<PlannedScheduler>()
            .SetGroupName("AllReduce")
            .AddConstructor<HrlScheduler>()
            .AddAttribute("Checkpoint",
                          "The file with the policies' weights; empty: the one that is shipped.",
                          StringValue(""),
                          MakeStringAccessor(&HrlScheduler::m_checkpoint),
                          MakeStringChecker())
            .AddAttribute("Samples",
                          "Of so many plans the shortest is taken.",
                          UintegerValue(1),
                          MakeUintegerAccessor(&HrlScheduler::m_samples),
                          MakeUintegerChecker<uint32_t>(1))
            .AddAttribute("Middles",
                          "Plans are made from so many middles, where that is quick, and the "
                          "shortest is taken; 0: only from the middle whose cores are roots. "
                          "For groups: the number of tries.",
                          UintegerValue(48),
                          MakeUintegerAccessor(&HrlScheduler::m_middles),
                          MakeUintegerChecker<uint32_t>())
            .AddAttribute("SearchEffort",
                          "A search that looks at so many places for workloads, fewer if the plan "
                          "is large, shortens the plan; 0: no search.",
                          UintegerValue(DEFAULT_SEARCH_EFFORT),
                          MakeUintegerAccessor(&HrlScheduler::m_searchEffort),
                          MakeUintegerChecker<uint64_t>(0, MOST_SEARCH_EFFORT))
            .AddAttribute("Upper",
                          "Whether the upper policy selects the flow-trees that are worked on "
                          "first; else all are worked on at once.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&HrlScheduler::m_usesUpper),
                          MakeBooleanChecker())
            .AddAttribute("Online",
                          "Whether the policies are asked in every round about the state that is "
                          "then there, instead of making a plan beforehand.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&HrlScheduler::m_isOnline),
                          MakeBooleanChecker());
    return tid;
}

void
HrlScheduler::SetScorer(Scorer scorer)
{
    m_scorer = std::move(scorer);
    m_firstKey.reset();
}

void
HrlScheduler::LoadWeights()
{
    const std::string path = m_checkpoint.empty() ? FindShippedCheckpoint() : m_checkpoint;
    if (!m_weights || m_loaded != path)
    {
        NS_LOG_INFO("policies of " << path);
        m_weights = std::make_shared<const PolicyWeights>(ReadCheckpoint(path));
        m_loaded = path;
    }
}

WorkloadList
HrlScheduler::NextRound(const AllReduceState& state)
{
    if (!m_isOnline || state.IsDone())
    {
        return PlannedScheduler::NextRound(state);
    }
    if (!state.GetCollective().IsOfAll())
    {
        FailInput("hrl chooses rounds one by one for AllReduces of all servers, expected no other "
                  "collective and no groups with Online");
    }
    UpdateOnlineSetup(state);
    return ChooseRound(state, m_setup->outline, *m_weights, m_setup->options);
}

std::shared_ptr<const HrlScheduler::OnlineSetup>
HrlScheduler::MakeOnlineSetup(const AllReduceState& state,
                              const std::vector<WorkloadList>& plan) const
{
    PlanOutline outline = MakeOutline(state, plan);
    RolloutOptions options = Rehearse(state, outline, *m_weights, MakeRolloutOptions(0));
    return std::make_shared<const OnlineSetup>(OnlineSetup{std::move(outline), std::move(options)});
}

void
HrlScheduler::UpdateOnlineSetup(const AllReduceState& state)
{
    LoadWeights();
    if (!state.IsFresh())
    {
        if (!m_setup || !IsUsable(m_setup->outline, state))
        {
            NS_LOG_INFO("online: the flow-trees cannot be used any more, others are made");
            m_setup = MakeOnlineSetup(state, PlanRest(state));
        }
        return;
    }
    PlanKey key = MakePlanKey(*this, state);
    if (!m_firstKey || !(*m_firstKey == key))
    {
        m_firstSetup = MakeOnlineSetup(state, PlanAll(state));
        m_firstKey = std::make_shared<const PlanKey>(std::move(key));
    }
    m_setup = m_firstSetup;
}

std::vector<WorkloadList>
HrlScheduler::PlanRounds(const AllReduceState& start)
{
    return m_isOnline ? AllReduceScheduler::PlanRounds(start) : PlannedScheduler::PlanRounds(start);
}

bool
HrlScheduler::ChoosesByRound() const
{
    return m_isOnline;
}

std::vector<WorkloadList>
HrlScheduler::PlanAll(const AllReduceState& state)
{
    LoadWeights();
    if (state.IsDone())
    {
        return {};
    }
    if (!state.IsFresh())
    {
        return PlanRest(state);
    }
    if (!state.GetCollective().IsOfAll())
    {
        return FindShortest([&](const RolloutOptions& options) {
            return PlanGroupsByPolicies(state, *m_weights, options, m_middles);
        });
    }
    return FindShortest([&](const RolloutOptions& options) {
        return PlanFromMiddle(state.GetTopology(),
                              state.GetRoots(),
                              *m_weights,
                              options,
                              m_middles,
                              m_searchEffort);
    });
}

bool
HrlScheduler::PlansGroups() const
{
    return true;
}

std::vector<WorkloadList>
HrlScheduler::PlanRest(const AllReduceState& state)
{
    LoadWeights();
    if (state.IsDone())
    {
        return {};
    }
    return FindShortest([&](const RolloutOptions& options) {
        return PlanRemainderByPolicies(state, *m_weights, options);
    });
}

RolloutOptions
HrlScheduler::MakeRolloutOptions(uint32_t sample) const
{
    constexpr float TEMPERATURE = 0.5;
    RolloutOptions options;
    // Deterministic choices first and in turn: other seeds break their ties in other ways.
    options.mode = sample % 2 == 0 ? RolloutMode::BEST : RolloutMode::SAMPLE;
    options.temperature = TEMPERATURE;
    options.upper = m_usesUpper ? UpperMode::POLICY : UpperMode::ALL;
    options.seed = GetSeed() + sample;
    options.scorer = m_scorer;
    return options;
}

std::vector<WorkloadList>
HrlScheduler::FindShortest(const RolloutPlanner& makePlan) const
{
    std::vector<std::vector<WorkloadList>> plans(m_samples);
    std::atomic<uint32_t> nReady{0};
    RunParallel(m_samples, [&](uint32_t sample) {
        RolloutOptions options = MakeRolloutOptions(sample);
        options.progress = m_samples == 1 ? GetProgress() : PlanningProgress();
        plans[sample] = makePlan(options);
        GetProgress().GetPart("sample", nReady++, m_samples).Show("", 1);
    });
    // Of equal plans the first sample's, whichever was ready first.
    return *std::min_element(plans.begin(), plans.end(), [](const auto& x, const auto& y) {
        return x.size() < y.size();
    });
}

} // namespace ns3::allreduce
