/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "planning-state.h"

#include "feature-table.h"

#include <algorithm>
#include <numeric>

namespace ns3::allreduce
{

PlanningState::PlanningState(const PlanningProblem& planned)
    : problem(planned),
      topology(*planned.topology),
      network(std::make_shared<const PortNeighborhoods>(topology, planned.capacity)),
      nServers(topology.GetNServers()),
      nChunks(planned.GetNChunks()),
      round(planned.nRoundsDone),
      nMissing(nServers, 0),
      nFreeIn(nServers, 0),
      trees(planned),
      spread(*network, nChunks),
      regions(topology, planned.capacity, nChunks),
      isInPart(planned.nParts, nChunks),
      sendable(nServers, nChunks),
      refused(nServers, nChunks),
      mayLeave(nServers, nChunks),
      m_held(nServers, nChunks),
      m_hasSent(nServers, nChunks)
{
    for (const uint32_t inCapacity : network->inCapacity)
    {
        totalInCapacity += inCapacity;
        largestInCapacity = std::max(largestInCapacity, inCapacity);
    }
    if (problem.mayCoresShrink)
    {
        CountCoreChildren();
    }
    for (ChunkId chunk = 0; chunk < nChunks; ++chunk)
    {
        TakeChunk(chunk);
    }
    nTransfersLeft = std::accumulate(nMissing.begin(), nMissing.end(), uint64_t{0});
    firstTarget = std::max(problem.nRounds, CountRoundsNeeded());
    target = firstTarget;
}

void
PlanningState::CountCoreChildren()
{
    m_nChildren.assign(std::size_t{nChunks} * nServers, 0);
    for (ChunkId chunk = 0; chunk < nChunks; ++chunk)
    {
        for (NodeId server = 0; server < nServers; ++server)
        {
            const NodeId parent = problem.parents[chunk][server];
            if (parent != NO_SERVER && parent != server)
            {
                ++m_nChildren[std::size_t{chunk} * nServers + parent];
            }
        }
    }
}

void
PlanningState::TakeChunk(ChunkId chunk)
{
    const bool isOpen = trees.CountLeft(chunk) > 0;
    for (NodeId server = 0; server < nServers; ++server)
    {
        const bool isAtRoot = server == problem.roots[chunk];
        const bool isInside = problem.parents[chunk][server] != NO_SERVER;
        if (isAtRoot || (!problem.isOpen[chunk] && isInside))
        {
            AddHolder(server, chunk);
            if (!isOpen)
            {
                m_held.Set(server, chunk);
                spread.Cover(server, chunk);
            }
        }
        else if (problem.wants.GetNColumns() == 0 || problem.wants.Test(server, chunk))
        {
            ++nMissing[server];
        }
        else
        {
            AddHolder(server, chunk); // as if it had it, but it cannot send it
        }
        nMissing[server] += trees.CountAwaited(server, chunk);
        UpdateMayLeave(server, chunk);
    }
    for (NodeId server = 0; server < nServers; ++server)
    {
        if (!refused.Test(server, chunk))
        {
            regions.Want(server, chunk);
        }
    }
}

void
PlanningState::AddHolder(NodeId server, ChunkId chunk)
{
    refused.Set(server, chunk);
    spread.AddHolder(server, chunk);
    regions.Bring(server, chunk);
    isInPart.Set(problem.partOf[server], chunk);
}

void
PlanningState::ReceiveOne(NodeId server)
{
    --nMissing[server];
    --nTransfersLeft;
}

/// @return whether nobody else in the core depends on what the server has
bool
PlanningState::IsLeafOfCore(NodeId server, ChunkId chunk) const
{
    const ChunkId open = problem.partners[chunk];
    if (open != NO_CHUNK)
    {
        return problem.isOpen[open] && trees.IsPending(server, open) &&
               trees.CountAwaited(server, open) == 0 && !trees.HasMerged(server, open);
    }
    return problem.mayCoresShrink && !problem.isOpen[chunk] && server != problem.roots[chunk] &&
           problem.parents[chunk][server] != NO_SERVER &&
           m_nChildren[std::size_t{chunk} * nServers + server] == 0;
}

void
PlanningState::UpdateMayLeave(NodeId server, ChunkId chunk)
{
    if (IsLeafOfCore(server, chunk) && !m_hasSent.Test(server, chunk))
    {
        mayLeave.Set(server, chunk);
        canAnyLeave = true;
    }
}

uint32_t
PlanningState::CountRoundsToReceive(NodeId server) const
{
    const uint32_t capacity = network->inCapacity[server];
    return (nMissing[server] + capacity - 1) / std::max(1U, capacity);
}

uint32_t
PlanningState::CountRoundsNeeded() const
{
    uint32_t most = 0;
    for (NodeId server = 0; server < nServers; ++server)
    {
        most = std::max(most, CountRoundsToReceive(server));
    }
    for (ChunkId chunk = 0; chunk < nChunks; ++chunk)
    {
        if (trees.CountLeft(chunk) > 0)
        {
            most = std::max(most, trees.GetHeight(chunk) + 1);
        }
    }
    return round + most;
}

void
PlanningState::BeginRound()
{
    ++round;
    free = problem.capacity;
    nFreeIn = network->inCapacity;
    sendable = m_held;
    nHoldersBefore = spread.GetCounts();
    meanHolders = std::accumulate(nHoldersBefore.begin(), nHoldersBefore.end(), 0.0) / nChunks;
}

void
PlanningState::SendPartial(NodeId sender, ChunkId chunk)
{
    const NodeId receiver = problem.parents[chunk][sender];
    trees.Send(sender, chunk);
    m_arriving.emplace_back(sender, chunk);
    const ChunkId partner = problem.partners[chunk];
    if (partner != NO_CHUNK)
    {
        mayLeave.Clear(sender, partner);
    }
    ReceiveOne(receiver);
    --nFreeIn[receiver];
}

void
PlanningState::SendFinal(NodeId sender, NodeId receiver, ChunkId chunk)
{
    m_hasSent.Set(sender, chunk);
    mayLeave.Clear(sender, chunk);
    m_held.Set(receiver, chunk);
    AddHolder(receiver, chunk);
    spread.Cover(receiver, chunk);
    ReceiveOne(receiver);
    --nFreeIn[receiver];
}

void
PlanningState::SendFinalToLeaver(NodeId sender, NodeId receiver, ChunkId chunk)
{
    m_hasSent.Set(sender, chunk);
    mayLeave.Clear(sender, chunk);
    sendable.Clear(receiver, chunk);
    LeaveCore(receiver, chunk);
    --nFreeIn[receiver];
}

void
PlanningState::LeaveCore(NodeId server, ChunkId chunk)
{
    const ChunkId open = problem.partners[chunk];
    const NodeId parent = problem.parents[chunk][server];
    mayLeave.Clear(server, chunk);
    if (open == NO_CHUNK)
    {
        --m_nChildren[std::size_t{chunk} * nServers + parent];
        departures.emplace_back(server, chunk);
    }
    else
    {
        ReceiveOne(parent); // nothing comes from this child
        if (trees.Leave(server, open))
        {
            m_completed.push_back(open);
        }
    }
    UpdateMayLeave(parent, chunk);
}

RoundOutcome
PlanningState::EndRound()
{
    for (const auto& [sender, chunk] : m_arriving)
    {
        if (trees.Arrive(sender, chunk))
        {
            m_completed.push_back(chunk);
        }
    }
    m_arriving.clear();
    for (const ChunkId chunk : m_completed)
    {
        const NodeId root = problem.roots[chunk];
        m_held.Set(root, chunk);
        spread.Cover(root, chunk);
    }
    m_completed.clear();
    uint32_t nIdle = 0;
    double sum = 0;
    for (NodeId server = 0; server < nServers; ++server)
    {
        nIdle += std::min(nFreeIn[server], nMissing[server]);
        const uint32_t needed = nMissing[server] > 0 ? round + CountRoundsToReceive(server) : 0;
        sum += std::max(needed, firstTarget);
    }
    const uint32_t needed = std::max(CountRoundsNeeded(), firstTarget);
    target = std::max(target, needed);
    return {needed, sum / nServers, Share(nIdle, totalInCapacity)};
}

} // namespace ns3::allreduce
