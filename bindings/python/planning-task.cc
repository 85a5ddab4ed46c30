/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-task.h"

#include "ns3/allreduce-bounds.h"
#include "ns3/allreduce-state.h"
#include "ns3/forest-scheduler.h"
#include "ns3/plan-middle.h"
#include "ns3/plan-outline.h"
#include "ns3/round-steps.h"
#include "ns3/schedule-verifier.h"
#include "ns3/topology-builder.h"

#include <algorithm>
#include <stdexcept>

namespace ns3::allreduce::python
{

namespace
{

bool
ParseKind(const std::string& kind)
{
    if (kind != "forward" && kind != "mirrored")
    {
        FailInput("kind ", Quote(kind), ": expected forward or mirrored");
    }
    return kind == "mirrored";
}

/// Every server and every chunk have a place in several tables of a state.
std::vector<NodeId>
CheckSize(const Topology& topology, std::vector<NodeId> roots)
{
    if (roots.size() * topology.GetNServers() > TopologyBuilder::MAX_SIZE)
    {
        FailInput(topology.GetName(),
                  ": ",
                  topology.GetNServers(),
                  " servers and ",
                  roots.size(),
                  " chunks, expected a product of at most ",
                  TopologyBuilder::MAX_SIZE);
    }
    return roots;
}

} // namespace

PlanningTask::PlanningTask(TopologyPointer topology,
                           uint64_t chunksPerServer,
                           const std::string& kind,
                           uint64_t seed)
    : m_topology(std::move(topology)),
      m_roots(CheckSize(*m_topology, MakeRootsOf(*m_topology, chunksPerServer))),
      m_isMirrored(ParseKind(kind)),
      m_bound(ComputeLowerBounds(*m_topology, m_roots).GetBest().rounds),
      m_problem(MakeProblem(seed)),
      m_beginning(m_problem)
{
}

PlanningProblem
PlanningTask::MakeProblem(uint64_t seed) const
{
    if (m_isMirrored)
    {
        const PlanMiddle middle = MakeBareMiddle(*m_topology, m_roots);
        const uint32_t nRounds = (m_bound + 1) / 2;
        return MakeHalf(*m_topology, m_roots, middle, nRounds, FindLinkPrices(*m_topology));
    }
    const AllReduceState state(*m_topology, m_roots);
    return MakeForward(state, MakeOutline(state, PlanForest(*m_topology, m_roots, seed, 1)));
}

const PlanningEnvironment&
PlanningTask::GetBeginning() const
{
    return m_beginning;
}

const TopologyPointer&
PlanningTask::GetTopology() const
{
    return m_topology;
}

uint32_t
PlanningTask::GetNChunks() const
{
    return m_roots.size();
}

uint32_t
PlanningTask::GetBound() const
{
    return m_bound;
}

uint32_t
PlanningTask::GetMostChoices() const
{
    const std::size_t nPorts = m_beginning.GetState().network->ports.size();
    const std::size_t nItems = std::min(2 * m_roots.size(), std::size_t{RoundSteps::MOST_ITEMS});
    return std::max({nPorts, nItems, m_roots.size(), std::size_t{m_topology->GetNServers()}});
}

ScheduleObject
PlanningTask::Finish(const std::vector<WorkloadList>& rounds) const
{
    ScheduleObject plan{
        m_topology,
        {m_roots, m_isMirrored ? JoinHalves(rounds, rounds, m_problem.partners) : rounds},
    };
    const Verdict verdict = Verify(*m_topology, plan.schedule);
    if (!verdict.isCorrect)
    {
        throw std::logic_error(m_topology->GetName() +
                               ": the verifier refuses the plan: " + verdict.reason);
    }
    return plan;
}

} // namespace ns3::allreduce::python
