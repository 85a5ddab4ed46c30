/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "token-barrier.h"

#include "ns3/breadth-first-search.h"
#include "ns3/log.h"

#include <algorithm>

namespace ns3::allreduce
{

NS_LOG_COMPONENT_DEFINE("AllReduceTokenBarrier");

namespace
{

/// Servers below another, for each of its ports: their tokens come at once and wait in one queue,
/// which may be short.
constexpr std::size_t MOST_PER_PORT = 4;

/// @return the way up in a search's tree to the next server
Path
FindWayUp(const Topology& topology, const BreadthFirstTree& tree, NodeId server)
{
    Path up{server};
    do
    {
        up.push_back(tree.before[up.back()]);
    } while (!topology.IsServer(up.back()));
    return up;
}

/// @return a shortest path @param tree of a search from its end
Path
FindWay(const BreadthFirstTree& tree, NodeId from)
{
    Path path{from};
    while (tree.distance[path.back()] > 0)
    {
        path.push_back(tree.before[path.back()]);
    }
    return path;
}

} // namespace

TokenBarrier::TokenBarrier(Owner owner)
    : m_owner(std::move(owner))
{
}

void
TokenBarrier::PlanTree(const Topology& topology, const std::vector<bool>& isUp, NodeId server)
{
    ++m_phase;
    m_isOver = false;
    m_members.assign(topology.GetNServers(), {});
    const auto mayPass = [&](NodeId, const Topology::Port& port) {
        return isUp[GetLinkId(port.out)];
    };
    const std::vector<NodeId> reached = SearchBreadthFirst(topology, server, mayPass).order;
    m_root = *std::min_element(reached.begin(), reached.end()); // servers come before switches
    m_members[m_root].takesPart = true;
    const BreadthFirstTree tree = SearchBreadthFirst(topology, m_root, mayPass);
    for (const NodeId node : tree.order)
    {
        if (!topology.IsServer(node) || node == m_root)
        {
            continue;
        }
        Member& member = m_members[node];
        member.takesPart = true;
        member.up = FindWayUp(topology, tree, node);
        member.parent = FindRoom(topology, member.up.back());
        if (member.parent != member.up.back())
        {
            member.up = FindWay(SearchBreadthFirst(topology, member.parent, mayPass), node);
        }
        m_members[member.parent].children.push_back(node);
    }
}

NodeId
TokenBarrier::FindRoom(const Topology& topology, NodeId top) const
{
    std::vector<NodeId> hosts{top};
    std::size_t i = 0;
    while (m_members[hosts[i]].children.size() >=
           MOST_PER_PORT * topology.GetPorts(hosts[i]).size())
    {
        const std::vector<NodeId>& below = m_members[hosts[i]].children;
        hosts.insert(hosts.end(), below.begin(), below.end());
        ++i;
    }
    return hosts[i];
}

bool
TokenBarrier::HasEverybody() const
{
    return std::all_of(m_members.begin(), m_members.end(), [](const Member& member) {
        return member.takesPart;
    });
}

NodeId
TokenBarrier::GetRoot() const
{
    return m_root;
}

std::vector<Path>
TokenBarrier::GetPaths() const
{
    std::vector<Path> paths;
    for (const Member& member : m_members)
    {
        if (!member.up.empty())
        {
            paths.push_back(member.up);
            paths.emplace_back(member.up.rbegin(), member.up.rend());
        }
    }
    return paths;
}

void
TokenBarrier::Expect(const WorkloadList& round)
{
    ++m_phase;
    for (Member& member : m_members)
    {
        member.isReleased = false;
        member.isDone = false;
        member.nAwaited = member.children.size();
    }
    for (std::size_t i = 0; i < round.GetSize(); ++i)
    {
        ++m_members[round.Get(i).GetTarget()].nAwaited;
    }
}

void
TokenBarrier::BeginRound(const WorkloadList& round)
{
    Expect(round);
    if (m_owner.isHere(m_root))
    {
        Release(m_root);
    }
}

void
TokenBarrier::BeginTogether(const WorkloadList& round)
{
    Expect(round);
    for (Member& member : m_members)
    {
        member.isReleased = true;
    }
    for (NodeId server = 0; server < m_members.size(); ++server)
    {
        if (m_owner.isHere(server) && m_members[server].takesPart)
        {
            m_owner.release(server);
            FinishIfDone(server);
        }
    }
}

void
TokenBarrier::BeginGathering()
{
    Expect({});
    for (Member& member : m_members)
    {
        member.isReleased = true;
        ++member.nAwaited;
    }
}

void
TokenBarrier::ReleaseAll()
{
    m_isOver = true;
    BeginRound({});
}

void
TokenBarrier::NotifyArrival(NodeId server)
{
    Receive(server);
}

void
TokenBarrier::Arrive(const Message& message)
{
    if (message.phase != m_phase)
    {
        return; // A link has broken since it was sent.
    }
    if (message.isRelease)
    {
        Release(message.child);
    }
    else
    {
        Receive(m_members[message.child].parent);
    }
}

uint32_t
TokenBarrier::GetPhase() const
{
    return m_phase;
}

Path
TokenBarrier::GetPath(const Message& message) const
{
    const Path& up = m_members[message.child].up;
    return message.isRelease ? Path(up.rbegin(), up.rend()) : up;
}

std::vector<Path>
TokenBarrier::GetPathsTo(NodeId server) const
{
    std::vector<Path> paths;
    for (; server != m_root; server = m_members[server].parent)
    {
        paths.push_back(GetPath({m_phase, server, true}));
    }
    return paths;
}

void
TokenBarrier::Release(NodeId server)
{
    NS_LOG_LOGIC("server " << server << " goes on");
    m_members[server].isReleased = true;
    for (const NodeId child : m_members[server].children)
    {
        Send(child, true);
    }
    m_owner.release(server);
    FinishIfDone(server);
}

void
TokenBarrier::Receive(NodeId server)
{
    --m_members[server].nAwaited;
    FinishIfDone(server);
}

void
TokenBarrier::FinishIfDone(NodeId server)
{
    Member& member = m_members[server];
    if (!member.takesPart || !member.isReleased || member.isDone || member.nAwaited > 0 || m_isOver)
    {
        return;
    }
    member.isDone = true;
    if (server == m_root)
    {
        m_owner.end();
    }
    else
    {
        Send(server, false);
    }
}

void
TokenBarrier::Send(NodeId child, bool isRelease)
{
    const Message message{m_phase, child, isRelease};
    m_owner.send(GetPath(message), message);
}

} // namespace ns3::allreduce
