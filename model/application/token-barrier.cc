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

constexpr NodeId ROOT = 0;

} // namespace

TokenBarrier::TokenBarrier(Owner owner)
    : m_owner(std::move(owner))
{
}

void
TokenBarrier::PlanTree(const Topology& topology, const std::vector<bool>& isUp)
{
    ++m_epoch;
    m_members.assign(topology.GetNServers(), {});
    const auto mayPass = [&](NodeId, const Topology::Port& port) {
        return isUp[GetLinkId(port.out)];
    };
    const std::vector<NodeId> before = SearchBreadthFirst(topology, ROOT, mayPass).before;
    for (NodeId server = ROOT + 1; server < m_members.size(); ++server)
    {
        Path& up = m_members[server].up;
        up = {server};
        do
        {
            up.push_back(before[up.back()]);
        } while (!topology.IsServer(up.back()));
        m_members[server].parent = up.back();
        m_members[up.back()].children.push_back(server);
    }
}

std::vector<Path>
TokenBarrier::GetPaths() const
{
    std::vector<Path> paths;
    for (NodeId server = ROOT + 1; server < m_members.size(); ++server)
    {
        const Path& up = m_members[server].up;
        paths.push_back(up);
        paths.emplace_back(up.rbegin(), up.rend());
    }
    return paths;
}

void
TokenBarrier::Expect(const WorkloadList& round)
{
    ++m_epoch;
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
    Release(ROOT);
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
        m_owner.release(server);
        FinishIfDone(server);
    }
}

void
TokenBarrier::NoteArrival(NodeId server)
{
    Receive(server);
}

void
TokenBarrier::Release(NodeId server)
{
    NS_LOG_LOGIC("server " << server << " goes on");
    m_members[server].isReleased = true;
    for (const NodeId child : m_members[server].children)
    {
        const Path& up = m_members[child].up;
        Send(Path(up.rbegin(), up.rend()), [this, child] { Release(child); });
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
    if (!member.isReleased || member.isDone || member.nAwaited > 0)
    {
        return;
    }
    member.isDone = true;
    if (server == ROOT)
    {
        m_owner.end();
    }
    else
    {
        Send(member.up, [this, parent = member.parent] { Receive(parent); });
    }
}

void
TokenBarrier::Send(const Path& path, std::function<void()> arrive)
{
    m_owner.send(path, [this, epoch = m_epoch, arrive = std::move(arrive)] {
        if (epoch == m_epoch)
        {
            arrive();
        }
    });
}

} // namespace ns3::allreduce
