/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "live-forest.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// So many chunks for each server are reduced at a time.
constexpr uint32_t WINDOW_OF_SERVER = 2;
/// Rounds for each level of a tree (see ForestTimetable).
constexpr double LAG_ROUNDS = 4;
/// Rates that differ by this factor need other trees.
constexpr double CHANGE_FACTOR = 1.25;

} // namespace

LiveForest::LiveForest(const LiveView& view)
    : m_topology(view.state.GetTopology()),
      m_nServers(m_topology.GetNServers()),
      m_nChunks(view.state.GetNChunks()),
      m_unitBps(FindUnitRate(view)),
      m_paths(m_topology),
      m_grower(m_topology, m_paths),
      m_tasks(m_topology, m_paths, m_nChunks),
      m_trees(m_nChunks),
      m_nPending(std::size_t{m_nChunks} * m_nServers, 0),
      m_nUp(m_nChunks, 0),
      m_bps(view.announcedBps),
      m_depth(m_nServers),
      m_isSlower(m_bps.size(), false)
{
    double rates = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        for (const Topology::Port& port : m_topology.GetPorts(server))
        {
            rates += m_bps[port.out] / m_unitBps;
        }
    }
    const double roundsOfChunk = 2.0 * (m_nServers - 1) / rates;
    m_lag = LAG_ROUNDS / roundsOfChunk;
    OrderChunks(view.state.GetRoots());
    SetCapacities();
    TakeOver(view);
}

double
LiveForest::FindUnitRate(const LiveView& view)
{
    const Topology& topology = view.state.GetTopology();
    std::vector<uint64_t> rates;
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            rates.push_back(view.announcedBps[port.out]);
        }
    }
    const auto middle = rates.begin() + rates.size() / 2;
    std::nth_element(rates.begin(), middle, rates.end());
    return *middle;
}

/// All servers' first chunks come before anybody's second one.
void
LiveForest::OrderChunks(const std::vector<NodeId>& roots)
{
    std::vector<uint32_t> nBefore(m_nServers, 0);
    std::vector<uint32_t> turn(roots.size());
    std::transform(roots.begin(), roots.end(), turn.begin(), [&](NodeId root) {
        return nBefore[root]++;
    });
    m_order.resize(m_nChunks);
    std::iota(m_order.begin(), m_order.end(), 0);
    std::sort(m_order.begin(), m_order.end(), [&](ChunkId x, ChunkId y) {
        return std::make_tuple(turn[x], roots[x], x) < std::make_tuple(turn[y], roots[y], y);
    });
}

void
LiveForest::SetCapacities()
{
    std::vector<double> capacities(m_bps.size());
    std::transform(m_bps.begin(), m_bps.end(), capacities.begin(), [this](uint64_t bps) {
        return bps / m_unitBps;
    });
    m_grower.SetCapacities(std::move(capacities));
}

/// What somebody else has begun is under way, or is left behind: chunks that were begun get trees.
void
LiveForest::TakeOver(const LiveView& view)
{
    for (const TransferUnderWay& transfer : view.underWay)
    {
        const LiveTasks::Id id = FindTask(transfer.workload);
        if (m_tasks.GetStatus(id) == LiveTasks::Status::NONE)
        {
            m_tasks.Add(id, m_paths.Add(FindLinks(m_topology, transfer.workload.path)), 0);
            m_tasks.SetReady(id);
            m_tasks.Begin(id);
        }
        m_underWay.push_back(id);
        ++m_trees[transfer.workload.chunk].nStarted;
    }
    const std::vector<bool> isTouched = FindTouched(view.state);
    for (const ChunkId chunk : m_order)
    {
        Trees& trees = m_trees[chunk];
        trees.nStarted += isTouched[chunk] ? 1 : 0;
        trees.hasBegun = trees.nStarted > 0;
        trees.hasLost = trees.hasBegun;
        if (trees.hasBegun)
        {
            trees.position = m_nBegun++;
        }
    }
}

/// @return by chunk: whether servers do not hold any more what they began with
std::vector<bool>
LiveForest::FindTouched(const AllReduceState& state) const
{
    const BitMatrix own = ChunkMembers(state.GetCollective(), m_nServers).contributors;
    std::vector<bool> isTouched(m_nChunks);
    for (ChunkId chunk = 0; chunk < m_nChunks; ++chunk)
    {
        isTouched[chunk] = state.IsFinal(chunk);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            isTouched[chunk] = isTouched[chunk] || (own.Test(server, chunk) &&
                                                    !state.GetPartials().Test(server, chunk));
        }
    }
    return isTouched;
}

LiveTasks::Id
LiveForest::FindTask(const Workload& workload) const
{
    const bool isUp = workload.kind == WorkloadKind::REDUCE;
    return m_tasks.GetId(isUp ? UP : DOWN,
                         workload.chunk,
                         isUp ? workload.GetSource() : workload.GetTarget());
}

void
LiveForest::Update(const LiveView& view)
{
    FindAborted(view);
    UpdateRates(view);
    for (const ChunkId chunk : m_order)
    {
        if (NeedsTrees(view, chunk))
        {
            Plant(view, chunk);
        }
    }
    while (BeginChunk(view))
    {
    }
}

void
LiveForest::FindAborted(const LiveView& view)
{
    std::vector<LiveTasks::Id> present;
    for (const TransferUnderWay& transfer : view.underWay)
    {
        present.push_back(FindTask(transfer.workload));
    }
    std::sort(present.begin(), present.end());
    for (const LiveTasks::Id id : std::exchange(m_underWay, present))
    {
        if (!std::binary_search(present.begin(), present.end(), id))
        {
            m_tasks.Remove(id);
            m_trees[m_tasks.GetChunk(id)].hasLost = true;
        }
    }
}

void
LiveForest::UpdateRates(const LiveView& view)
{
    bool hasChanged = false;
    m_hasNewLinks = false;
    for (DirectedLinkId link = 0; link < m_bps.size(); ++link)
    {
        const uint64_t before = m_bps[link];
        const uint64_t now = view.believedBps[link];
        m_isSlower[link] = now * CHANGE_FACTOR < before;
        m_hasNewLinks = m_hasNewLinks || (before == 0 && now > 0);
        if (m_isSlower[link] || now > before * CHANGE_FACTOR)
        {
            m_bps[link] = now;
            hasChanged = true;
        }
    }
    if (hasChanged)
    {
        SetCapacities();
    }
}

bool
LiveForest::NeedsTrees(const LiveView& view, ChunkId chunk) const
{
    const Trees& trees = m_trees[chunk];
    if (!trees.hasBegun || view.state.IsEverywhere(chunk))
    {
        return false;
    }
    if (trees.hasLost || (!trees.isWhole && m_hasNewLinks))
    {
        return true;
    }
    for (const uint32_t half : {UP, DOWN})
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            const LiveTasks::Id id = m_tasks.GetId(half, chunk, server);
            if (!m_tasks.IsAhead(id))
            {
                continue;
            }
            for (const DirectedLinkId link : m_paths.GetLinks(m_tasks.GetPath(id)))
            {
                if (m_isSlower[link])
                {
                    return true;
                }
            }
        }
    }
    return false;
}

bool
LiveForest::BeginChunk(const LiveView& view)
{
    while (m_next < m_order.size() && m_trees[m_order[m_next]].hasBegun)
    {
        ++m_next;
    }
    if (m_next == m_order.size() || m_nReducing >= WINDOW_OF_SERVER * m_nServers)
    {
        return false;
    }
    const ChunkId chunk = m_order[m_next++];
    m_trees[chunk].hasBegun = true;
    m_trees[chunk].position = m_nBegun++;
    Plant(view, chunk);
    return true;
}

void
LiveForest::Begin(LiveTasks::Id id)
{
    m_tasks.Begin(id);
    for (const DirectedLinkId link : m_paths.GetLinks(m_tasks.GetPath(id)))
    {
        m_grower.Unload(link);
    }
    m_underWay.push_back(id);
    ++m_trees[m_tasks.GetChunk(id)].nStarted;
}

void
LiveForest::NotifyArrived(const LiveView& view, const Workload& transfer)
{
    const ChunkId chunk = transfer.chunk;
    const NodeId target = transfer.GetTarget();
    const bool isUp = transfer.kind == WorkloadKind::REDUCE;
    const LiveTasks::Id id = FindTask(transfer);
    const bool wasKnown = m_tasks.GetStatus(id) == LiveTasks::Status::UNDER_WAY;
    m_tasks.Remove(id);
    *std::find(m_underWay.begin(), m_underWay.end(), id) = m_underWay.back();
    m_underWay.pop_back();
    if (!isUp)
    {
        SetReadyDown(chunk, target);
        return;
    }
    if (m_trees[chunk].isBlocked || !wasKnown)
    {
        Plant(view, chunk);
        return;
    }
    --m_nUp[chunk];
    UpdateReducing(chunk);
    const LiveTasks::Id next = m_tasks.GetId(UP, chunk, target);
    if (--GetNPending(chunk, target) == 0 && m_tasks.GetStatus(next) == LiveTasks::Status::WAITING)
    {
        m_tasks.SetReady(next);
    }
    if (view.state.IsFinal(chunk))
    {
        SetReadyDown(chunk, target);
    }
}

void
LiveForest::FindReady(const LiveView& view, ChunkId chunk)
{
    uint32_t* const nPending = &GetNPending(chunk, 0);
    std::fill_n(nPending, m_nServers, 0);
    m_nUp[chunk] = 0;
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const LiveTasks::Id id = m_tasks.GetId(UP, chunk, server);
        if (m_tasks.GetStatus(id) != LiveTasks::Status::NONE)
        {
            ++nPending[m_paths.GetTarget(m_tasks.GetPath(id))];
            ++m_nUp[chunk];
        }
    }
    std::vector<LiveTasks::Id>& down = m_trees[chunk].down;
    down.clear();
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        const LiveTasks::Id up = m_tasks.GetId(UP, chunk, server);
        if (m_tasks.IsAhead(up) && nPending[server] == 0)
        {
            m_tasks.SetReady(up);
        }
        const LiveTasks::Id id = m_tasks.GetId(DOWN, chunk, server);
        if (m_tasks.IsAhead(id))
        {
            down.push_back(id);
        }
    }
    std::sort(down.begin(), down.end(), [this](LiveTasks::Id x, LiveTasks::Id y) {
        return GetSender(x) < GetSender(y);
    });
    for (const LiveTasks::Id id : down)
    {
        if (view.state.GetFinals().Test(GetSender(id), chunk))
        {
            m_tasks.SetReady(id);
        }
    }
    UpdateReducing(chunk);
}

NodeId
LiveForest::GetSender(LiveTasks::Id id) const
{
    return m_paths.GetSource(m_tasks.GetPath(id));
}

/// A server has the final sum.
void
LiveForest::SetReadyDown(ChunkId chunk, NodeId holder)
{
    const std::vector<LiveTasks::Id>& down = m_trees[chunk].down;
    auto id = std::lower_bound(down.begin(), down.end(), holder, [this](LiveTasks::Id x, NodeId y) {
        return GetSender(x) < y;
    });
    for (; id != down.end() && GetSender(*id) == holder; ++id)
    {
        if (m_tasks.GetStatus(*id) == LiveTasks::Status::WAITING)
        {
            m_tasks.SetReady(*id);
        }
    }
}

uint32_t&
LiveForest::GetNPending(ChunkId chunk, NodeId server)
{
    return m_nPending[std::size_t{chunk} * m_nServers + server];
}

void
LiveForest::UpdateReducing(ChunkId chunk)
{
    Trees& trees = m_trees[chunk];
    const bool isReducing = trees.hasBegun && m_nUp[chunk] > 0;
    if (isReducing != trees.isReducing)
    {
        trees.isReducing = isReducing;
        m_nReducing += isReducing ? 1 : -1;
    }
}

} // namespace ns3::allreduce
