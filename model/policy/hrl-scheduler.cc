/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "hrl-scheduler.h"

#include "broadcast-environment.h"
#include "forward-environment.h"
#include "parallel-for.h"
#include "policy-checkpoint.h"
#include "staggered-plan.h"

#include "ns3/allreduce-error.h"
#include "ns3/boolean.h"
#include "ns3/forward-planner.h"
#include "ns3/rest-planner.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_OBJECT_ENSURE_REGISTERED(HrlScheduler);

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
            .AddAttribute(
                "Upper",
                "Whether the upper policy selects flow-trees; else all are worked on from "
                "the first round, and a mirrored plan does not overlap its halves.",
                BooleanValue(true),
                MakeBooleanAccessor(&HrlScheduler::m_usesUpper),
                MakeBooleanChecker())
            .AddAttribute("Forward",
                          "Choose reduces and broadcasts forwards in time, round by round, instead "
                          "of mirroring the broadcast; needs a checkpoint trained for it.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&HrlScheduler::m_isForward),
                          MakeBooleanChecker())
            .AddAttribute("MostRounds",
                          "A forward plan is given up when it has so many rounds; 0: eight times "
                          "what it takes at least, and 100.",
                          UintegerValue(0),
                          MakeUintegerAccessor(&HrlScheduler::m_mostRounds),
                          MakeUintegerChecker<uint32_t>());
    return tid;
}

void
HrlScheduler::LoadWeights()
{
    const PlanMode mode = m_isForward ? PlanMode::FORWARD : PlanMode::MIRRORED;
    const std::string path = m_checkpoint.empty() ? FindShippedCheckpoint(mode) : m_checkpoint;
    if (!m_weights || m_loaded != path || m_weights->mode != mode)
    {
        m_weights = std::make_shared<const PolicyWeights>(ReadCheckpoint(path));
        m_loaded = path;
    }
    if (m_weights->mode != mode)
    {
        FailInput("policy ",
                  path,
                  ": made for ",
                  GetPlanModeName(m_weights->mode),
                  " plans, expected one for ",
                  GetPlanModeName(mode),
                  " plans");
    }
}

std::vector<WorkloadList>
HrlScheduler::PlanAll(const AllReduceState& state)
{
    std::vector<WorkloadList> plan = PlanWithPolicies(state);
    if (plan.empty() && !state.IsDone())
    {
        FailInput("policy ",
                  m_loaded,
                  ": on ",
                  state.GetTopology().GetName(),
                  " none of ",
                  m_samples,
                  " forward plans came to an end within ",
                  GetMostRounds(state),
                  " rounds");
    }
    return plan;
}

std::vector<WorkloadList>
HrlScheduler::PlanRest(const AllReduceState& state)
{
    std::vector<WorkloadList> plan = PlanWithPolicies(state);
    if (plan.empty() && !state.IsDone())
    {
        HandOver("forward greedy");
        plan = PlanForwards(state, GetSeed(), 1);
    }
    return plan;
}

std::vector<WorkloadList>
HrlScheduler::PlanWithPolicies(const AllReduceState& state)
{
    LoadWeights();
    if (state.IsDone())
    {
        return {};
    }
    return m_isForward ? PlanForward(state) : PlanMirrored(state);
}

std::vector<WorkloadList>
HrlScheduler::PlanMirrored(const AllReduceState& state) const
{
    std::vector<WorkloadList> plan =
        PlanByMirroring(state, [this](const BroadcastProblem& problem) {
            return FindShortest([&](const RolloutOptions& options) {
                BroadcastEnvironment environment(problem);
                return RunRollout(environment, *m_weights, options);
            });
        });
    if (m_usesUpper && plan.size() > ForwardEnvironment(state).GetRoundsNeeded())
    {
        std::vector<WorkloadList> staggered = FindShortest([&](const RolloutOptions& options) {
            return PlanStaggered(state, *m_weights, options);
        });
        if (staggered.size() < plan.size())
        {
            plan = std::move(staggered);
        }
    }
    return plan;
}

std::vector<WorkloadList>
HrlScheduler::PlanForward(const AllReduceState& state) const
{
    const uint32_t mostRounds = GetMostRounds(state);
    return FindShortest([&](RolloutOptions options) {
        ForwardEnvironment environment(state);
        options.mostRounds = mostRounds;
        return RunRollout(environment, *m_weights, options);
    });
}

uint32_t
HrlScheduler::GetMostRounds(const AllReduceState& state) const
{
    return m_mostRounds > 0 ? m_mostRounds : 8 * ForwardEnvironment(state).GetRoundsNeeded() + 100;
}

std::vector<WorkloadList>
HrlScheduler::FindShortest(const RolloutPlanner& makePlan) const
{
    constexpr float TEMPERATURE = 0.5;
    std::vector<std::vector<WorkloadList>> plans(m_samples);
    RunParallel(m_samples, [&](uint32_t sample) {
        // Deterministic choices first and in turn: other seeds break their ties in other ways.
        RolloutOptions options;
        options.mode = sample % 2 == 0 ? RolloutMode::BEST : RolloutMode::SAMPLE;
        options.temperature = TEMPERATURE;
        options.usesUpper = m_usesUpper;
        options.seed = GetSeed() + sample;
        plans[sample] = makePlan(options);
    });
    // Of equal plans the first sample's, whichever was ready first.
    return *std::min_element(plans.begin(), plans.end(), [](const auto& x, const auto& y) {
        return !x.empty() && (y.empty() || x.size() < y.size());
    });
}

} // namespace ns3::allreduce
