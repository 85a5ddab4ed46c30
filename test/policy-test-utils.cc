/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-test-utils.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/hrl-planner.h"
#include "ns3/plan-middle.h"
#include "ns3/plan-outline.h"
#include "ns3/policy-rollout.h"
#include "ns3/remainder-planner.h"

#include <vector>

namespace ns3::allreduce
{

PlanningProblem
MakeSomeHalf(const Topology& topology, uint32_t chunksPerServer, uint64_t seed)
{
    const std::vector<NodeId> roots = MakeRoots(topology.GetNServers(), chunksPerServer);
    const LowerBounds bounds = ComputeLowerBounds(topology, roots);
    const uint32_t bound = bounds.GetBest().rounds;
    const PlanMiddle middle = ChooseMiddle(topology, roots, bound, seed);
    return MakeHalf(topology, roots, middle, (bound + 1) / 2, bounds.prices);
}

AllReduceState
DrawState(const Topology& topology, TestRandom& random)
{
    AllReduceState state(topology, MakeRoots(topology.GetNServers(), 1 + Draw(random, 2)));
    RolloutOptions options;
    options.mode = RolloutMode::RANDOM;
    options.seed = random();
    const auto plan = PlanFromMiddle(topology, state.GetRoots(), PolicyWeights(), options, 1);
    for (uint32_t round = 0; round < Draw(random, plan.size()); ++round)
    {
        for (std::size_t i = 0; i < plan[round].GetSize(); ++i)
        {
            if (Draw(random, 5) > 0 && state.IsLegal(plan[round].Get(i)))
            {
                state.Start(plan[round].Get(i));
            }
        }
        state.EndRound();
    }
    for (uint32_t i = Draw(random, 5); i > 0; --i)
    {
        const LinkId link = Draw(random, topology.GetNLinks());
        state.SetLinkUp(link, false);
        state.SetLinkUp(link, !AreServersConnected(state));
    }
    return state;
}

PlanningProblem
MakeRest(const AllReduceState& state, uint64_t seed)
{
    return MakeForward(state, MakeOutline(state, PlanRemainderGreedily(state, seed, 1)));
}

} // namespace ns3::allreduce
