/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "remainder-planner.h"

#include "ns3/planned-scheduler.h"
#include "ns3/uinteger.h"

namespace ns3::allreduce
{

/// @ingroup allreduce
/// Plans the broadcast greedily and the reduce as its mirror image.
class GreedyScheduler : public PlannedScheduler
{
  public:
    static TypeId GetTypeId()
    {
        static TypeId tid = TypeId("ns3::allreduce::GreedyScheduler")
                                .SetParent<PlannedScheduler>()
                                .SetGroupName("AllReduce")
                                .AddConstructor<GreedyScheduler>()
                                .AddAttribute("Samples",
                                              "Of so many plans the shortest is taken.",
                                              UintegerValue(1),
                                              MakeUintegerAccessor(&GreedyScheduler::m_samples),
                                              MakeUintegerChecker<uint32_t>(1));
        return tid;
    }

  private:
    std::vector<WorkloadList> PlanAll(const AllReduceState& state) override
    {
        return PlanRest(state);
    }

    bool PlansGroups() const override
    {
        return true;
    }

    std::vector<WorkloadList> PlanRest(const AllReduceState& state) override
    {
        return PlanRemainderGreedily(state, GetSeed(), m_samples, GetProgress());
    }

    uint32_t m_samples{1}; //!< the attribute Samples
};

NS_OBJECT_ENSURE_REGISTERED(GreedyScheduler);

} // namespace ns3::allreduce
