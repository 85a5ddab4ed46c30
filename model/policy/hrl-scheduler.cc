/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "hrl-scheduler.h"

#include "broadcast-environment.h"
#include "forward-environment.h"
#include "parallel-for.h"
#include "policy-checkpoint.h"
#include "policy-rollout.h"

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
            .AddAttribute("Upper",
                          "Whether the upper policy selects flow-trees; else all are worked on.",
                          BooleanValue(true),
                          MakeBooleanAccessor(&HrlScheduler::m_usesUpper),
                          MakeBooleanChecker())
            .AddAttribute("Forward",
                          "Choose reduces and broadcasts forwards in time, round by round, instead "
                          "of mirroring the broadcast; needs a checkpoint trained for it.",
                          BooleanValue(false),
                          MakeBooleanAccessor(&HrlScheduler::m_isForward),
                          MakeBooleanChecker());
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
    return PlanRest(state);
}

std::vector<WorkloadList>
HrlScheduler::PlanRest(const AllReduceState& state)
{
    LoadWeights();
    if (!m_isForward)
    {
        return PlanByMirroring(state, [this](const BroadcastProblem& problem) {
            return FindShortest([&] { return std::make_unique<BroadcastEnvironment>(problem); });
        });
    }
    if (state.IsDone())
    {
        return {};
    }
    std::vector<WorkloadList> plan =
        FindShortest([&] { return std::make_unique<ForwardEnvironment>(state); });
    // Weights that never learned may send partial sums to and fro.
    return plan.empty() ? PlanForwards(state, GetSeed(), 1) : plan;
}

std::vector<WorkloadList>
HrlScheduler::FindShortest(const EnvironmentMaker& make) const
{
    constexpr float TEMPERATURE = 0.5;
    std::vector<std::vector<WorkloadList>> plans(m_samples);
    RunParallel(m_samples, [&](uint32_t sample) {
        const std::unique_ptr<PlanningEnvironment> environment = make();
        // Deterministic choices first and in turn: other seeds break their ties in other ways.
        RolloutOptions options;
        options.mode = sample % 2 == 0 ? RolloutMode::BEST : RolloutMode::SAMPLE;
        options.temperature = TEMPERATURE;
        options.usesUpper = m_usesUpper;
        options.seed = GetSeed() + sample;
        options.mostRounds = m_isForward ? 8 * environment->GetRoundsNeeded() + 100 : 0;
        plans[sample] = RunRollout(*environment, *m_weights, options);
    });
    // Of equal plans the first sample's, whichever was ready first.
    return *std::min_element(plans.begin(), plans.end(), [](const auto& x, const auto& y) {
        return !x.empty() && (y.empty() || x.size() < y.size());
    });
}

} // namespace ns3::allreduce
