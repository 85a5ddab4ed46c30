/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forest-timetable.h"

#include "forest-matching.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-state.h"
#include "ns3/flow-tree.h"
#include "ns3/round-compaction.h"

#include <algorithm>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Workloads are placed again and again while that is quick: about a second.
constexpr std::size_t MOST_WORK_OF_TRIES = 4'000'000;
/// A timetable that did not get shorter so many times will not.
constexpr uint32_t MOST_FAILURES = 3;
/// With more workloads than this, servers keep to their trees.
constexpr std::size_t MOST_WORKLOADS_REROUTED = 1'000'000;

/// Matching links does not become better after so many passes from both ends.
constexpr uint32_t MOST_PASSES = 4;
/// A single pass over more workloads takes too long.
constexpr std::size_t MOST_WORKLOADS_MATCHED = 100'000;

/// Workloads are not moved by more rounds than this at once: searching takes too long.
constexpr uint32_t MOST_ROUNDS_MOVED = 512;

/// @return where to look for a round @param ready when the data is there @param before the round
/// that the workload has had, or 0
uint32_t
GetEarliest(uint32_t ready, uint32_t before)
{
    return std::max(ready, before - std::min(before, MOST_ROUNDS_MOVED));
}

} // namespace

ForestTimetable::ForestTimetable(const Topology& topology,
                                 Collective collective,
                                 const std::vector<ChunkId>& order,
                                 Forest forest,
                                 uint32_t lag)
    : m_topology(topology),
      m_collective(std::move(collective)),
      m_nServers(topology.GetNServers()),
      m_holders(std::move(forest.holders)),
      m_load(forest.load),
      m_paths(std::move(forest.paths)),
      m_slots(topology.GetCapacities()),
      m_senderSearch(topology)
{
    CheckSize();
    for (std::vector<PathId>& tree : forest.toParent)
    {
        for (PathId& path : tree)
        {
            path = path == NO_PATH ? NO_PATH : Reverse(path);
        }
    }
    m_timetable.paths = std::move(forest.toParent);
    m_timetable.rounds.fill(std::vector<uint32_t>(m_timetable.paths[UP].size()));
    ListDeliveries(order, lag);
    PushToBeginning(Senders::PARENT);
}

ForestTimetable::ForestTimetable(const Topology& topology,
                                 Collective collective,
                                 const std::vector<WorkloadList>& rounds,
                                 PathIndex paths,
                                 std::vector<uint32_t> holders)
    : m_topology(topology),
      m_collective(std::move(collective)),
      m_nServers(topology.GetNServers()),
      m_holders(std::move(holders)),
      m_load(0),
      m_timetable(MakeTimetable(topology, m_collective.GetNChunks(), rounds, paths, m_deliveries)),
      m_paths(std::move(paths)),
      m_slots(topology.GetCapacities()),
      m_senderSearch(topology)
{
    CheckSize();
}

void
ForestTimetable::CheckSize() const
{
    if (m_collective.GetNChunks() * m_nServers > UINT32_MAX / 2)
    {
        FailInput(m_collective.GetNChunks(),
                  " chunks on ",
                  m_nServers,
                  " servers: too many for one timetable");
    }
}

std::size_t
ForestTimetable::Shorten(uint32_t enough)
{
    const Senders senders =
        m_deliveries.size() <= MOST_WORKLOADS_REROUTED ? Senders::ANYBODY : Senders::PARENT;
    std::size_t work = 0;
    for (uint32_t nFailures = 0;
         nFailures < MOST_FAILURES && work <= MOST_WORK_OF_TRIES && m_timetable.nRounds > enough;)
    {
        const uint32_t nRounds = m_timetable.nRounds;
        PushTogether(senders);
        nFailures = m_timetable.nRounds < nRounds ? 0 : nFailures + 1;
        work += 2 * m_deliveries.size();
    }
    return work;
}

void
ForestTimetable::PushTogether(Senders senders)
{
    for (uint32_t end = 0; end < 2; ++end)
    {
        Mirror();
        SortByRound();
        PushToBeginning(senders);
    }
}

bool
ForestTimetable::IsQuickToMatch() const
{
    return m_deliveries.size() <= MOST_WORKLOADS_MATCHED;
}

uint64_t
ForestTimetable::MatchLinks(uint64_t mostWork)
{
    auto best = m_timetable.rounds;
    uint32_t leastRounds = m_timetable.nRounds;
    uint64_t work = 0;
    for (uint32_t pass = 0; pass < MOST_PASSES && work < mostWork; ++pass)
    {
        for (uint32_t end = 0; end < 2; ++end)
        {
            Mirror();
            SortByRound();
            work += PlaceByMatching({m_topology, m_paths, m_timetable.paths, m_deliveries},
                                    m_timetable.rounds);
            m_timetable.nRounds = CountRounds();
        }
        if (m_timetable.nRounds < leastRounds)
        {
            best = m_timetable.rounds;
            leastRounds = m_timetable.nRounds;
        }
    }
    m_timetable.rounds = std::move(best);
    m_timetable.nRounds = leastRounds;
    return work;
}

uint32_t
ForestTimetable::CountRounds() const
{
    uint32_t nRounds = 0;
    for (const DeliveryId delivery : m_deliveries)
    {
        nRounds = std::max(nRounds, m_timetable.rounds[delivery % 2][delivery / 2] + 1);
    }
    return nRounds;
}

uint32_t
ForestTimetable::GetNRounds() const
{
    return m_timetable.nRounds;
}

std::vector<WorkloadList>
ForestTimetable::MakeRounds() const
{
    std::vector<WorkloadList> rounds = allreduce::MakeRounds(m_timetable, m_nServers, m_paths);
    if (!m_collective.IsOfAll())
    {
        // A server that takes a sum from elsewhere may leave a relay without a task.
        return DropEmptyReduces(AllReduceState(m_topology, m_collective), rounds);
    }
    return rounds;
}

void
ForestTimetable::ListDeliveries(const std::vector<ChunkId>& order, uint32_t lag)
{
    const bool areTreesSame = m_timetable.paths[UP] == m_timetable.paths[DOWN];
    std::array<std::vector<uint32_t>, 2> depths{ComputeDepths(UP), {}};
    depths[DOWN] = areTreesSame ? depths[UP] : ComputeDepths(DOWN);
    uint32_t depth = 0;
    for (const auto& ofHalf : depths)
    {
        for (const uint32_t other : ofHalf)
        {
            depth = std::max(depth, other == UNREACHABLE ? 0 : other);
        }
    }
    PruneTrees();
    const uint32_t nRounds = static_cast<uint32_t>(m_load) + 1;
    std::vector<uint32_t> finalIn(order.size()); // by chunk, with room for what comes before
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        finalIn[order[i]] = depth * lag + static_cast<uint32_t>(i * m_load / order.size());
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            for (const uint32_t half : {UP, DOWN})
            {
                const uint32_t index = GetIndex(order[i], server);
                if (m_timetable.paths[half][index] != NO_PATH)
                {
                    m_deliveries.push_back(2 * index + half);
                }
            }
        }
    }
    const auto getKey = [&](DeliveryId delivery) {
        const uint32_t index = delivery / 2;
        const uint32_t away = depths[delivery % 2][index] * lag;
        const uint32_t middle = finalIn[index / m_nServers];
        return delivery % 2 == UP ? middle - away : middle + away;
    };
    DeliverySorter().Sort(m_deliveries, 2 * depth * lag + nRounds, getKey);
}

std::vector<uint32_t>
ForestTimetable::ComputeDepths(uint32_t half) const
{
    std::vector<uint32_t> depths(m_timetable.paths[half].size(), UNREACHABLE);
    for (const uint32_t holder : m_holders)
    {
        depths[holder] = 0;
    }
    for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
    {
        const PathId* const paths = &m_timetable.paths[half][GetIndex(chunk, 0)];
        const auto getParent = [&](NodeId server) {
            return paths[server] == NO_PATH ? server : m_paths.GetSource(paths[server]);
        };
        CountDepths(m_collective.roots[chunk], m_nServers, getParent, &depths[GetIndex(chunk, 0)]);
    }
    return depths;
}

void
ForestTimetable::PruneTrees()
{
    if (m_collective.IsOfAll())
    {
        return;
    }
    const ChunkMembers members(m_collective, m_nServers);
    for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
    {
        std::vector<bool> contributes(m_nServers);
        std::vector<bool> receives(m_nServers);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            contributes[server] = members.contributors.Test(server, chunk);
            receives[server] = members.receivers.Test(server, chunk);
        }
        PruneTree(UP, chunk, std::move(contributes));
        PruneTree(DOWN, chunk, std::move(receives));
    }
}

void
ForestTimetable::PruneTree(uint32_t half, ChunkId chunk, std::vector<bool> isNeeded)
{
    PathId* const paths = &m_timetable.paths[half][GetIndex(chunk, 0)];
    for (NodeId member = 0; member < m_nServers; ++member)
    {
        NodeId server = member;
        while (isNeeded[server] && paths[server] != NO_PATH &&
               !isNeeded[m_paths.GetSource(paths[server])])
        {
            server = m_paths.GetSource(paths[server]);
            isNeeded[server] = true;
        }
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        paths[server] = isNeeded[server] ? paths[server] : NO_PATH;
    }
}

void
ForestTimetable::SortByRound()
{
    DeliverySorter().Sort(m_deliveries, m_timetable.nRounds, [this](DeliveryId delivery) {
        return m_timetable.rounds[delivery % 2][delivery / 2];
    });
}

void
ForestTimetable::PushToBeginning(Senders senders)
{
    m_slots.Clear();
    MarkReady();
    m_timetable.nRounds = 0;
    for (const DeliveryId delivery : m_deliveries)
    {
        const uint32_t round =
            delivery % 2 == UP ? PlaceReduce(delivery / 2) : PlaceBroadcast(delivery / 2, senders);
        m_timetable.nRounds = std::max(m_timetable.nRounds, round + 1);
    }
}

void
ForestTimetable::MarkReady()
{
    if (m_collective.IsOfAll())
    {
        m_ready.assign(m_timetable.rounds[UP].size(), 0);
        return;
    }
    m_ready.assign(m_timetable.rounds[UP].size(), NEVER); // who has nothing cannot send
    for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
    {
        m_ready[GetIndex(chunk, m_collective.roots[chunk])] = 0;
    }
    for (const uint32_t holder : m_holders)
    {
        m_ready[holder] = 0;
    }
    for (const DeliveryId delivery : m_deliveries)
    {
        if (delivery % 2 == UP)
        {
            m_ready[delivery / 2] = 0;
        }
    }
}

uint32_t
ForestTimetable::PlaceReduce(uint32_t index)
{
    const ChunkId chunk = index / m_nServers;
    const PathId path = Reverse(m_timetable.paths[UP][index]);
    const uint32_t earliest = GetEarliest(m_ready[index], m_timetable.rounds[UP][index]);
    const uint32_t round = m_slots.FindRound(m_paths.GetLinks(path), earliest);
    m_slots.Take(m_paths.GetLinks(path), round);
    m_timetable.rounds[UP][index] = round;
    m_ready[index] = NEVER; // until the final sum comes
    uint32_t& parent = m_ready[GetIndex(chunk, m_paths.GetTarget(path))];
    parent = std::max(parent, round + 1);
    return round;
}

uint32_t
ForestTimetable::PlaceBroadcast(uint32_t index, Senders senders)
{
    const ChunkId chunk = index / m_nServers;
    PathId& path = m_timetable.paths[DOWN][index];
    const uint32_t parent = GetIndex(chunk, m_paths.GetSource(path));
    const uint32_t earliest = GetEarliest(m_ready[parent], m_timetable.rounds[DOWN][index]);
    uint32_t round = m_slots.FindRound(m_paths.GetLinks(path), earliest);
    if (senders == Senders::ANYBODY)
    {
        const uint32_t first = m_ready[GetIndex(chunk, m_collective.roots[chunk])];
        const uint32_t earlier = m_senderSearch.Find(m_slots,
                                                     &m_ready[GetIndex(chunk, 0)],
                                                     index % m_nServers,
                                                     first,
                                                     round,
                                                     m_paths.GetLinks(path).size());
        if (earlier < round)
        {
            round = earlier;
            path = Reverse(m_paths.Add(m_senderSearch.GetPath()));
        }
    }
    m_slots.Take(m_paths.GetLinks(path), round);
    m_timetable.rounds[DOWN][index] = round;
    m_ready[index] = round + 1;
    return round;
}

void
ForestTimetable::Mirror()
{
    allreduce::Mirror(m_timetable);
    if (!m_collective.IsOfAll()) // else each workload has its mirror image
    {
        for (DeliveryId& delivery : m_deliveries)
        {
            delivery ^= UP ^ DOWN;
        }
    }
}

} // namespace ns3::allreduce
