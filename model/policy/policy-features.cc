/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "policy-features.h"

#include "feature-table.h"

#include <algorithm>

namespace ns3::allreduce
{

const char*
GetPolicyHeadName(PolicyHead head)
{
    static const char* const names[N_POLICY_HEADS] = {"port", "sender", "item", "tree", "value"};
    return names[static_cast<std::size_t>(head)];
}

const std::vector<std::vector<std::string>>&
GetAllPolicyFeatures()
{
    static const std::vector<std::vector<std::string>> names = [] {
        std::vector<std::vector<std::string>> all = ListPickFeatures();
        const std::vector<std::vector<std::string>> ofRounds = ListRoundFeatures();
        all.insert(all.end(), ofRounds.begin(), ofRounds.end());
        return all;
    }();
    return names;
}

const std::vector<std::string>&
GetPolicyFeatures(PolicyHead head)
{
    return GetAllPolicyFeatures()[static_cast<std::size_t>(head)];
}

PolicyView::PolicyView(const PlanningEnvironment& environment)
    : m_environment(environment),
      m_state(environment.GetState())
{
}

bool
PolicyView::IsLeaving() const
{
    return m_environment.GetOffered().GetPhase() == OfferPhase::LEAVING;
}

float
PolicyView::GetTime() const
{
    return Share(m_state.round, m_state.target);
}

float
PolicyView::GetUrgency(ChunkId chunk, uint32_t nHops) const
{
    if (m_state.problem.due.empty())
    {
        return 0;
    }
    const uint32_t first = m_state.round + nHops;
    const uint32_t due = m_state.problem.due[chunk] + 1;
    return 1 - Cap(due - std::min(due, first), 20);
}

float
PolicyView::GetSlack(NodeId server) const
{
    return ScaleSlack(m_state.CountSlack(server));
}

float
PolicyView::GetOutSlack(NodeId server) const
{
    return ScaleSlack(m_state.CountRoundsAfter() * m_state.network->outCapacity[server] +
                      CountFreeOut(server) - m_state.trees.CountPending(server));
}

uint32_t
PolicyView::CountFreeOut(NodeId server) const
{
    uint32_t count = 0;
    for (const Topology::Port& port : m_state.topology.GetPorts(server))
    {
        count += m_state.free[port.out];
    }
    return count;
}

RegionSupply::RoomLeft
PolicyView::GetRoomLeft() const
{
    return {m_state.free, m_state.CountRoundsAfter()};
}

} // namespace ns3::allreduce
