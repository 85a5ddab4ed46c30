/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "round-builder.h"

#include "server-graph.h"

#include "ns3/server-hops.h"

namespace ns3::allreduce
{

namespace
{

/// Longer detours take more room from others than they are worth.
constexpr uint32_t MOST_LINKS_MORE = 2;

} // namespace

RoundBuilder::RoundBuilder(const AllReduceState& state)
    : m_state(state),
      m_up(MakeNetworkThatIsUp(state)),
      m_servers(std::make_unique<ServerGraph>(m_up)),
      m_search(std::make_unique<SwitchPathSearch>(state.GetTopology())),
      m_hops(m_up.GetNServers())
{
}

RoundBuilder::~RoundBuilder() = default;

uint32_t
RoundBuilder::GetNServers() const
{
    return m_up.GetNServers();
}

const std::vector<NodeId>&
RoundBuilder::GetNeighbors(NodeId server) const
{
    return m_servers->GetNeighbors(server);
}

uint32_t
RoundBuilder::GetHopsToRoot(NodeId server, ChunkId chunk)
{
    const NodeId root = m_state.GetRoots()[chunk];
    if (m_hops[root].empty())
    {
        m_hops[root] = ComputeServerHops(m_up, {root});
    }
    return m_hops[root][server];
}

bool
RoundBuilder::TryReduce(ChunkId chunk, NodeId from, NodeId to)
{
    return m_state.GetPartials().Test(from, chunk) && TryAdd(chunk, WorkloadKind::REDUCE, from, to);
}

bool
RoundBuilder::TryBroadcast(ChunkId chunk, NodeId from, NodeId to)
{
    return m_state.GetFinals().Test(from, chunk) && !m_state.GetExpected().Test(to, chunk) &&
           TryAdd(chunk, WorkloadKind::BROADCAST, from, to);
}

const WorkloadList&
RoundBuilder::GetWorkloads() const
{
    return m_round;
}

bool
RoundBuilder::TryAdd(ChunkId chunk, WorkloadKind kind, NodeId from, NodeId to)
{
    const uint32_t nLinks = m_servers->GetNLinks(from, to);
    if (nLinks == UNREACHABLE ||
        !FindFreePath(*m_search, m_state, from, to, nLinks + MOST_LINKS_MORE, m_path))
    {
        return false;
    }
    const Workload workload{chunk, kind, {m_path.data(), m_path.data() + m_path.size()}, {}};
    if (!m_state.IsLegal(workload))
    {
        return false;
    }
    m_state.Start(workload);
    m_round.Add(workload);
    return true;
}

} // namespace ns3::allreduce
