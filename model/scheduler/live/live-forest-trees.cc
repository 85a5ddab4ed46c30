/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

/**
 * @file
 * @ingroup allreduce
 * How a LiveForest grows its trees.
 */

#include "live-forest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace ns3::allreduce
{

void
LiveForest::Plant(const LiveView& view, ChunkId chunk)
{
    Uproot(chunk);
    m_trees[chunk].hasLost = false;
    m_trees[chunk].isWhole = true;
    m_trees[chunk].isBlocked = false;
    const NodeId hub = FindHub(view, chunk);
    const AllReduceState& state = view.state;
    const bool isUntouched = m_trees[chunk].nStarted == 0 && !state.IsFinal(chunk) &&
                             state.GetCollective().IsOfAll() && hub == state.GetRoots()[chunk];
    if (!isUntouched || !GrowWhole(chunk, hub))
    {
        GrowRemainder(view, chunk, hub);
    }
    FindReady(view, chunk);
}

void
LiveForest::Uproot(ChunkId chunk)
{
    for (const uint32_t half : {UP, DOWN})
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            const LiveTasks::Id id = m_tasks.GetId(half, chunk, server);
            if (m_tasks.IsAhead(id))
            {
                for (const DirectedLinkId link : m_paths.GetLinks(m_tasks.GetPath(id)))
                {
                    m_grower.Unload(link);
                }
                m_tasks.Remove(id);
            }
        }
    }
}

/// @return whether all servers are joined
bool
LiveForest::GrowWhole(ChunkId chunk, NodeId hub)
{
    std::vector<NodeId> all(m_nServers);
    std::iota(all.begin(), all.end(), 0);
    m_grower.SetMembers(all, std::vector<bool>(m_nServers, true));
    m_grower.SetUse(true, true);
    Grow({hub});
    AddTasks(chunk, UP);
    AddTasks(chunk, DOWN);
    const bool isWhole = std::count(m_toParent.begin(), m_toParent.end(), NO_PATH) == 1;
    if (!isWhole)
    {
        Uproot(chunk);
    }
    return isWhole;
}

void
LiveForest::GrowRemainder(const LiveView& view, ChunkId chunk, NodeId hub)
{
    const AllReduceState& state = view.state;
    const NodeId root = state.GetRoots()[chunk];
    const std::vector<bool> receivesPart = ListUnderWay(chunk, true);
    const std::vector<bool> sendsPart = ListUnderWay(chunk, false);
    std::vector<bool> mayRelay(m_nServers);
    bool isBlocked = SendsTwice(chunk);
    std::vector<NodeId> givers;
    std::vector<NodeId> holders;
    std::vector<NodeId> lacking;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        mayRelay[server] = state.MayHold(server, chunk) && !sendsPart[server];
        const bool hasPart = state.GetPartials().Test(server, chunk) || receivesPart[server];
        if (hasPart && server != root && !state.IsFinal(chunk))
        {
            sendsPart[server] ? void(isBlocked = true) : givers.push_back(server);
        }
        if (state.GetExpected().Test(server, chunk) || server == root)
        {
            holders.push_back(server);
        }
        else if (state.IsReceiver(server, chunk))
        {
            lacking.push_back(server);
        }
    }
    Trees& trees = m_trees[chunk];
    if (!givers.empty())
    {
        m_grower.SetMembers(givers, mayRelay);
        m_grower.SetUse(true, false);
        Grow({hub});
        AddTasks(chunk, UP);
        const bool areJoined = AreJoined(givers);
        trees.isWhole = hub == root && areJoined;
        isBlocked =
            isBlocked || (!areJoined && std::count(sendsPart.begin(), sendsPart.end(), true) > 0);
    }
    trees.isBlocked = isBlocked;
    trees.isWhole = trees.isWhole && !isBlocked;
    if (trees.isWhole && !lacking.empty())
    {
        mayRelay = std::vector<bool>(m_nServers);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            mayRelay[server] = state.MayHold(server, chunk);
        }
        m_grower.SetMembers(lacking, std::move(mayRelay));
        m_grower.SetUse(false, true);
        Grow(holders);
        AddTasks(chunk, DOWN);
        trees.isWhole = AreJoined(lacking);
    }
}

void
LiveForest::Grow(const std::vector<NodeId>& roots)
{
    m_toParent.assign(m_nServers, NO_PATH);
    m_grower.Grow(roots, m_toParent.data());
    FindDepths();
}

/// @return whether the tree that was grown last joins some servers that are no roots of it
bool
LiveForest::AreJoined(const std::vector<NodeId>& servers) const
{
    return std::none_of(servers.begin(), servers.end(), [this](NodeId server) {
        return m_toParent[server] == NO_PATH;
    });
}

/// @return where partial sums are collected: at the root, unless nothing can be sent to it yet
NodeId
LiveForest::FindHub(const LiveView& view, ChunkId chunk) const
{
    const NodeId root = view.state.GetRoots()[chunk];
    if (IsUsable(root) || view.state.IsFinal(chunk))
    {
        return root;
    }
    const std::vector<bool> sendsPart = ListUnderWay(chunk, false);
    for (NodeId i = 1; i < m_nServers; ++i)
    {
        const NodeId server = (root + i) % m_nServers;
        if (view.state.GetPartials().Test(server, chunk) && IsUsable(server) && !sendsPart[server])
        {
            return server;
        }
    }
    return root;
}

bool
LiveForest::IsUsable(NodeId server) const
{
    const Topology::Ports ports = m_topology.GetPorts(server);
    return std::any_of(ports.begin(), ports.end(), [this](const Topology::Port& port) {
        return m_bps[port.out] > 0 && m_bps[Reverse(port.out)] > 0;
    });
}

std::vector<bool>
LiveForest::ListUnderWay(ChunkId chunk, bool isTo) const
{
    std::vector<bool> isIn(m_nServers, false);
    for (const LiveTasks::Id id : m_underWay)
    {
        if (m_tasks.GetChunk(id) == chunk && m_tasks.GetHalf(id) == UP)
        {
            const PathId path = m_tasks.GetPath(id);
            isIn[isTo ? m_paths.GetTarget(path) : m_paths.GetSource(path)] = true;
        }
    }
    return isIn;
}

/// @return whether a server sends two parts at a time, as those who follow plans may
bool
LiveForest::SendsTwice(ChunkId chunk) const
{
    std::vector<LiveTasks::Id> sent;
    std::copy_if(m_underWay.begin(),
                 m_underWay.end(),
                 std::back_inserter(sent),
                 [&](LiveTasks::Id id) { return m_tasks.GetChunk(id) == chunk; });
    std::sort(sent.begin(), sent.end());
    return std::adjacent_find(sent.begin(), sent.end()) != sent.end();
}

void
LiveForest::FindDepths()
{
    constexpr uint32_t UNKNOWN = std::numeric_limits<uint32_t>::max();
    m_depth.assign(m_nServers, UNKNOWN);
    std::vector<NodeId> way;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        NodeId node = server;
        for (; m_depth[node] == UNKNOWN && m_toParent[node] != NO_PATH;
             node = m_paths.GetTarget(m_toParent[node]))
        {
            way.push_back(node);
        }
        uint32_t depth = m_toParent[node] == NO_PATH ? 0 : m_depth[node];
        for (; !way.empty(); way.pop_back())
        {
            m_depth[way.back()] = ++depth;
        }
    }
}

void
LiveForest::AddTasks(ChunkId chunk, uint32_t half)
{
    const float position = m_trees[chunk].position;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const PathId up = m_toParent[server];
        if (up != NO_PATH)
        {
            const float urgency = half == UP ? position - m_lag * m_depth[server]
                                             : position + m_lag * (m_depth[server] - 1);
            m_tasks.Add(m_tasks.GetId(half, chunk, server), half == UP ? up : Reverse(up), urgency);
        }
    }
}

} // namespace ns3::allreduce
