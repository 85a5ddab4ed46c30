/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "contenders.h"

#include "ns3/allreduce-scheduler.h"
#include "ns3/boolean.h"
#include "ns3/hrl-planner.h"
#include "ns3/plan-search.h"
#include "ns3/policy-checkpoint.h"
#include "ns3/scheduler-factory.h"
#include "ns3/string.h"
#include "ns3/uinteger.h"

#include <mutex>

namespace ns3::allreduce
{

namespace
{

/// ns-3 counts references to attributes without a lock: objects come and go one at a time.
std::mutex g_objectsMutex;

/// A scheduler that any thread can make and destroy.
class OwnScheduler
{
  public:
    explicit OwnScheduler(const std::string& name,
                          const std::string& checkpoint = "",
                          bool isOnline = false)
    {
        const std::lock_guard<std::mutex> lock(g_objectsMutex);
        m_scheduler = CreateScheduler(name);
        if (!checkpoint.empty())
        {
            m_scheduler->SetAttribute("Checkpoint", StringValue(checkpoint));
            m_scheduler->SetAttribute("Online", BooleanValue(isOnline));
        }
    }

    ~OwnScheduler()
    {
        const std::lock_guard<std::mutex> lock(g_objectsMutex);
        m_scheduler = nullptr;
    }

    std::vector<WorkloadList> MakePlan(const AllReduceState& state)
    {
        return Plan(*m_scheduler, state).rounds;
    }

  private:
    Ptr<AllReduceScheduler> m_scheduler; //!< the scheduler
};

/// @return how many middles hrl tries
uint32_t
GetDefaultMiddles()
{
    UintegerValue middles;
    CreateScheduler("hrl")->GetAttribute("Middles", middles);
    return middles.Get();
}

/// @return the best choices of the lower policy @param upper in place of the upper one
RolloutOptions
Replace(UpperMode upper)
{
    RolloutOptions options;
    options.upper = upper;
    return options;
}

/// @return chance in place of both policies
RolloutOptions
PickAtRandom()
{
    RolloutOptions options;
    options.mode = RolloutMode::RANDOM;
    return options;
}

} // namespace

Contender
MakeScheduled(const std::string& name)
{
    return {name, [=](const AllReduceState& state) { return OwnScheduler(name).MakePlan(state); }};
}

Contender
MakeHrl(const std::string& checkpoint)
{
    return {"hrl", [=](const AllReduceState& state) {
                return OwnScheduler("hrl", checkpoint).MakePlan(state);
            }};
}

Contender
MakeRollouts(const std::string& name, const PolicyWeights& weights, const RolloutOptions& options)
{
    const uint32_t nMiddles = GetDefaultMiddles();
    return {name, [=](const AllReduceState& state) {
                return state.IsFresh() ? PlanFromMiddle(state.GetTopology(),
                                                        state.GetRoots(),
                                                        weights,
                                                        options,
                                                        nMiddles,
                                                        DEFAULT_SEARCH_EFFORT)
                                       : PlanRemainderByPolicies(state, weights, options);
            }};
}

std::vector<Contender>
MakeOnline(const std::string& checkpoint)
{
    const PolicyWeights weights = ReadCheckpoint(checkpoint);
    const uint32_t nMiddles = GetDefaultMiddles();
    const auto make = [=](const std::string& name, const RolloutOptions& options) {
        return Contender{
            name,
            [=](const AllReduceState& start) {
                const std::vector<WorkloadList> plan =
                    PlanFromMiddle(start.GetTopology(), start.GetRoots(), weights, {}, nMiddles);
                return ChooseAllRounds(start, MakeOutline(start, plan), weights, options);
            }};
    };
    return {{"online",
             [=](const AllReduceState& start) {
                 return OwnScheduler("hrl", checkpoint, true).MakePlan(start);
             }},
            make("not rehearsed", {}),
            make("online, upper off", Replace(UpperMode::ALL)),
            make("online, fixed rule", Replace(UpperMode::RULE)),
            make("online, random picks", PickAtRandom())};
}

std::vector<Contender>
MakeControls(const std::string& checkpoint)
{
    const PolicyWeights weights = ReadCheckpoint(checkpoint);
    return {MakeRollouts("upper off", weights, Replace(UpperMode::ALL)),
            MakeRollouts("fixed rule", weights, Replace(UpperMode::RULE)),
            MakeRollouts("untrained", PolicyWeights::MakeInitial(1), {}),
            MakeRollouts("random picks", PolicyWeights(), PickAtRandom())};
}

std::vector<Contender>
MakeOthers()
{
    std::vector<Contender> others;
    for (const std::string& name : GetSchedulerNames())
    {
        if (name != "hrl")
        {
            others.push_back(MakeScheduled(name));
        }
    }
    return others;
}

} // namespace ns3::allreduce
