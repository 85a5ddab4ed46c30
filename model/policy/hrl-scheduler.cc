/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "hrl-scheduler.h"

#include "parallel-for.h"
#include "policy-checkpoint.h"
#include "policy-rollout.h"

#include "ns3/boolean.h"
#include "ns3/rest-planner.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <mutex>

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
                          MakeBooleanChecker());
    return tid;
}

void
HrlScheduler::LoadWeights()
{
    const std::string path = m_checkpoint.empty() ? FindShippedCheckpoint() : m_checkpoint;
    if (!m_weights || m_loaded != path)
    {
        m_weights = std::make_shared<const PolicyWeights>(ReadCheckpoint(path));
        m_loaded = path;
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
    return PlanByMirroring(state, [this](const BroadcastProblem& problem) {
        return PlanBroadcast(problem);
    });
}

BroadcastPlan
HrlScheduler::PlanBroadcast(const BroadcastProblem& problem) const
{
    constexpr float TEMPERATURE = 0.5;
    std::mutex mutex;
    BroadcastPlan best;
    uint32_t bestSample = m_samples;
    RunParallel(m_samples, [&](uint32_t sample) {
        // Deterministic choices first and in turn: other seeds break their ties in other ways.
        RolloutOptions options;
        options.mode = sample % 2 == 0 ? RolloutMode::BEST : RolloutMode::SAMPLE;
        options.temperature = TEMPERATURE;
        options.usesUpper = m_usesUpper;
        options.seed = GetSeed() + sample;
        BroadcastPlan plan = RunRollout(problem, *m_weights, options);
        const std::lock_guard lock(mutex);
        // Of equal plans the first sample's, whichever was ready first.
        if (bestSample == m_samples || plan.size() < best.size() ||
            (plan.size() == best.size() && sample < bestSample))
        {
            best = std::move(plan);
            bestSample = sample;
        }
    });
    return best;
}

} // namespace ns3::allreduce
