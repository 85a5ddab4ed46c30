/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forest-timetable.h"

#include "forest-matching.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-state.h"
#include "ns3/remainder-planner.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ns3::allreduce
{

namespace
{

constexpr uint32_t REDUCE = 0;         //!< the half in which partial sums go up
constexpr uint32_t BROADCAST = 1;      //!< the half in which final sums come down
constexpr uint32_t NEVER = UINT32_MAX; //!< a round that does not come

/// Workloads are placed again and again while that is quick: about a second.
constexpr std::size_t MOST_WORK = 4'000'000;
/// A timetable that did not get shorter so many times will not.
constexpr uint32_t MOST_FAILURES = 3;
/// With more workloads than this, servers keep to their trees.
constexpr std::size_t MOST_WORKLOADS_REROUTED = 1'000'000;

/// Matching links does not become better after so many passes from both ends.
constexpr uint32_t MOST_PASSES = 4;
/// A single pass over more workloads takes too long.
constexpr std::size_t MOST_WORKLOADS_MATCHED = 100'000;

/// Looking further for an earlier sender takes more time than it is worth.
constexpr uint32_t MOST_LINKS_TRIED = 1024;
/// Nor are workloads moved by more rounds than this at once.
constexpr uint32_t MOST_ROUNDS_MOVED = 512;

/// @return where to look for a round @param ready when the data is there @param before the round
/// that the workload has had, or 0
uint32_t
GetEarliest(uint32_t ready, uint32_t before)
{
    return std::max(ready, before - std::min(before, MOST_ROUNDS_MOVED));
}

/// @return those rounds of a word, as bits, that are not before a round
uint64_t
GetRoundsFrom(uint32_t round, uint32_t word)
{
    const uint32_t before = round - std::min(round, word * LinkSlots::WORD);
    return before < LinkSlots::WORD ? ~uint64_t{0} << before : 0;
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
      m_paths(std::move(forest.paths)),
      m_load(forest.load),
      m_slots(topology),
      m_reachedIn(topology.GetNNodes(), 0),
      m_reachable(topology.GetNNodes()),
      m_last(topology.GetNNodes())
{
    CheckSize();
    m_toParent[BROADCAST] = forest.toParent;
    m_toParent[REDUCE] = std::move(forest.toParent);
    m_round.fill(std::vector<uint32_t>(m_toParent[REDUCE].size()));
    MakeTasks(order, lag);
    PushToBeginning(Senders::PARENT);
}

ForestTimetable::ForestTimetable(const Topology& topology,
                                 Collective collective,
                                 const std::vector<WorkloadList>& rounds)
    : m_topology(topology),
      m_collective(std::move(collective)),
      m_nServers(topology.GetNServers()),
      m_paths(topology),
      m_load(0),
      m_nRounds(rounds.size()),
      m_slots(topology),
      m_reachedIn(topology.GetNNodes(), 0),
      m_reachable(topology.GetNNodes()),
      m_last(topology.GetNNodes())
{
    CheckSize();
    m_toParent.fill(std::vector<PathId>(m_collective.GetNChunks() * m_nServers, NO_PATH));
    m_round.fill(std::vector<uint32_t>(m_toParent[REDUCE].size()));
    std::map<std::vector<DirectedLinkId>, PathId> known;
    for (uint32_t round = 0; round < rounds.size(); ++round)
    {
        for (std::size_t i = 0; i < rounds[round].GetSize(); ++i)
        {
            const Workload workload = rounds[round].Get(i);
            const bool isReduce = workload.kind == WorkloadKind::REDUCE;
            const NodeId server = isReduce ? workload.GetSource() : workload.GetTarget();
            Path path(workload.path.begin(), workload.path.end());
            if (!isReduce)
            {
                std::reverse(path.begin(), path.end());
            }
            const std::vector<DirectedLinkId> links = FindLinks(topology, path);
            const auto [place, isNew] = known.emplace(links, 0);
            place->second = isNew ? m_paths.Add(links) : place->second;
            const uint32_t index = GetIndex(workload.chunk, server);
            const uint32_t half = isReduce ? REDUCE : BROADCAST;
            m_toParent[half][index] = place->second;
            m_round[half][index] = round;
            m_tasks.push_back(2 * index + half);
        }
    }
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
        m_tasks.size() <= MOST_WORKLOADS_REROUTED ? Senders::ANYBODY : Senders::PARENT;
    std::size_t work = 0;
    for (uint32_t nFailures = 0;
         nFailures < MOST_FAILURES && work <= MOST_WORK && m_nRounds > enough;)
    {
        const uint32_t nRounds = m_nRounds;
        PushTogether(senders);
        nFailures = m_nRounds < nRounds ? 0 : nFailures + 1;
        work += 2 * m_tasks.size();
    }
    return work;
}

void
ForestTimetable::PushTogether(Senders senders)
{
    for (uint32_t end = 0; end < 2; ++end)
    {
        Mirror();
        SortTasksByRound();
        PushToBeginning(senders);
    }
}

bool
ForestTimetable::IsQuickToMatch() const
{
    return m_tasks.size() <= MOST_WORKLOADS_MATCHED;
}

uint64_t
ForestTimetable::MatchLinks(uint64_t mostWork)
{
    auto best = m_round;
    uint32_t leastRounds = m_nRounds;
    uint64_t work = 0;
    for (uint32_t pass = 0; pass < MOST_PASSES && work < mostWork; ++pass)
    {
        for (uint32_t end = 0; end < 2; ++end)
        {
            Mirror();
            SortTasksByRound();
            work += PlaceByMatching({m_topology, m_collective.roots, m_paths, m_toParent, m_tasks},
                                    m_round);
            m_nRounds = FindLastRound() + 1;
        }
        if (m_nRounds < leastRounds)
        {
            best = m_round;
            leastRounds = m_nRounds;
        }
    }
    m_round = std::move(best);
    m_nRounds = leastRounds;
    return work;
}

uint32_t
ForestTimetable::FindLastRound() const
{
    uint32_t last = 0;
    for (const Task task : m_tasks)
    {
        last = std::max(last, m_round[task % 2][task / 2]);
    }
    return last;
}

uint32_t
ForestTimetable::GetNRounds() const
{
    return m_nRounds;
}

std::vector<WorkloadList>
ForestTimetable::MakeRounds() const
{
    std::vector<WorkloadList> rounds(m_nRounds);
    Path nodes;
    for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            const uint32_t index = GetIndex(chunk, server);
            if (m_toParent[REDUCE][index] != NO_PATH)
            {
                m_paths.GetNodes(m_toParent[REDUCE][index], nodes);
                rounds[m_round[REDUCE][index]].Add(chunk, WorkloadKind::REDUCE, nodes);
            }
            if (m_toParent[BROADCAST][index] != NO_PATH)
            {
                m_paths.GetNodes(Reverse(m_toParent[BROADCAST][index]), nodes);
                rounds[m_round[BROADCAST][index]].Add(chunk, WorkloadKind::BROADCAST, nodes);
            }
        }
    }
    for (WorkloadList& round : rounds)
    {
        round.ShrinkToFit();
    }
    if (!m_collective.IsOfAll())
    {
        // A server that takes a sum from elsewhere may leave a relay without a task.
        return DropEmptyReduces(AllReduceState(m_topology, m_collective), rounds);
    }
    return rounds;
}

void
ForestTimetable::MakeTasks(const std::vector<ChunkId>& order, uint32_t lag)
{
    const std::vector<uint32_t> depths = ComputeDepths();
    uint32_t depth = 0;
    for (const uint32_t other : depths)
    {
        depth = std::max(depth, other == NEVER ? 0 : other);
    }
    PruneTrees();
    const uint32_t nRounds = static_cast<uint32_t>(m_load) + 1;
    std::vector<uint32_t> finalIn(order.size()); // by chunk, with room for what comes before
    for (std::size_t i = 0; i < order.size(); ++i)
    {
        finalIn[order[i]] = depth * lag + static_cast<uint32_t>(i * m_load / order.size());
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            for (const uint32_t half : {REDUCE, BROADCAST})
            {
                const uint32_t index = GetIndex(order[i], server);
                if (m_toParent[half][index] != NO_PATH)
                {
                    m_tasks.push_back(2 * index + half);
                }
            }
        }
    }
    const auto getKey = [&](Task task) {
        const uint32_t index = task / 2;
        const uint32_t away = depths[index] * lag;
        const uint32_t middle = finalIn[index / m_nServers];
        return task % 2 == REDUCE ? middle - away : middle + away;
    };
    SortTasks(getKey, 2 * depth * lag + nRounds);
}

std::vector<uint32_t>
ForestTimetable::ComputeDepths() const
{
    std::vector<uint32_t> depths(m_toParent[REDUCE].size(), NEVER);
    std::vector<uint32_t> way;
    for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
    {
        depths[GetIndex(chunk, m_collective.roots[chunk])] = 0;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            uint32_t index = GetIndex(chunk, server);
            for (; depths[index] == NEVER && m_toParent[REDUCE][index] != NO_PATH;
                 index = GetIndex(chunk, m_paths.GetTarget(m_toParent[REDUCE][index])))
            {
                way.push_back(index);
            }
            for (uint32_t depth = depths[index]; !way.empty(); way.pop_back())
            {
                depths[way.back()] = ++depth;
            }
        }
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
        PruneTree(REDUCE, chunk, std::move(contributes));
        PruneTree(BROADCAST, chunk, std::move(receives));
    }
}

void
ForestTimetable::PruneTree(uint32_t half, ChunkId chunk, std::vector<bool> isNeeded)
{
    PathId* const toParent = &m_toParent[half][GetIndex(chunk, 0)];
    for (NodeId member = 0; member < m_nServers; ++member)
    {
        NodeId server = member;
        while (isNeeded[server] && toParent[server] != NO_PATH &&
               !isNeeded[m_paths.GetTarget(toParent[server])])
        {
            server = m_paths.GetTarget(toParent[server]);
            isNeeded[server] = true;
        }
    }
    for (NodeId server = 0; server < m_nServers; ++server)
    {
        toParent[server] = isNeeded[server] ? toParent[server] : NO_PATH;
    }
}

void
ForestTimetable::SortTasksByRound()
{
    SortTasks([this](Task task) { return m_round[task % 2][task / 2]; }, m_nRounds);
}

template <typename GetKey>
void
ForestTimetable::SortTasks(GetKey getKey, uint32_t nKeys)
{
    std::vector<uint32_t> first(nKeys + 1, 0); // by key: where its tasks begin
    for (const Task task : m_tasks)
    {
        ++first[getKey(task) + 1];
    }
    for (uint32_t key = 0; key < nKeys; ++key)
    {
        first[key + 1] += first[key];
    }
    std::vector<Task> sorted(m_tasks.size());
    for (const Task task : m_tasks)
    {
        sorted[first[getKey(task)]++] = task;
    }
    m_tasks = std::move(sorted);
}

void
ForestTimetable::PushToBeginning(Senders senders)
{
    m_slots.Clear();
    MarkReady();
    m_nRounds = 0;
    for (const Task task : m_tasks)
    {
        const uint32_t round =
            task % 2 == REDUCE ? PlaceReduce(task / 2) : PlaceBroadcast(task / 2, senders);
        m_nRounds = std::max(m_nRounds, round + 1);
    }
}

void
ForestTimetable::MarkReady()
{
    if (m_collective.IsOfAll())
    {
        m_ready.assign(m_round[REDUCE].size(), 0);
        return;
    }
    m_ready.assign(m_round[REDUCE].size(), NEVER); // who has nothing cannot send
    for (ChunkId chunk = 0; chunk < m_collective.GetNChunks(); ++chunk)
    {
        m_ready[GetIndex(chunk, m_collective.roots[chunk])] = 0;
    }
    for (const Task task : m_tasks)
    {
        if (task % 2 == REDUCE)
        {
            m_ready[task / 2] = 0;
        }
    }
}

uint32_t
ForestTimetable::PlaceReduce(uint32_t index)
{
    const ChunkId chunk = index / m_nServers;
    const PathId path = m_toParent[REDUCE][index];
    const uint32_t earliest = GetEarliest(m_ready[index], m_round[REDUCE][index]);
    const uint32_t round = m_slots.FindRound(m_paths.GetLinks(path), earliest);
    m_slots.Take(m_paths.GetLinks(path), round);
    m_round[REDUCE][index] = round;
    m_ready[index] = NEVER; // until the final sum comes
    uint32_t& parent = m_ready[GetIndex(chunk, m_paths.GetTarget(path))];
    parent = std::max(parent, round + 1);
    return round;
}

uint32_t
ForestTimetable::PlaceBroadcast(uint32_t index, Senders senders)
{
    const ChunkId chunk = index / m_nServers;
    PathId& toParent = m_toParent[BROADCAST][index];
    const uint32_t parent = GetIndex(chunk, m_paths.GetTarget(toParent));
    const uint32_t earliest = GetEarliest(m_ready[parent], m_round[BROADCAST][index]);
    uint32_t round = m_slots.FindRound(m_paths.GetLinks(Reverse(toParent)), earliest);
    if (senders == Senders::ANYBODY)
    {
        const uint32_t earlier = FindEarlierSender(index, round);
        if (earlier < round)
        {
            round = earlier;
            toParent = m_paths.Add(m_detour);
        }
    }
    m_slots.Take(m_paths.GetLinks(Reverse(toParent)), round);
    m_round[BROADCAST][index] = round;
    m_ready[index] = round + 1;
    return round;
}

uint32_t
ForestTimetable::FindEarlierSender(uint32_t index, uint32_t round)
{
    const ChunkId chunk = index / m_nServers;
    const NodeId receiver = index % m_nServers;
    const std::size_t mostLinks = m_paths.GetLinks(m_toParent[BROADCAST][index]).size();
    const uint32_t first = m_ready[GetIndex(chunk, m_collective.roots[chunk])];
    m_nLinksTried = 0;
    for (uint32_t word = first / LinkSlots::WORD;
         word <= round / LinkSlots::WORD && m_nLinksTried <= MOST_LINKS_TRIED;
         ++word)
    {
        const uint64_t rounds = GetRoundsFrom(first, word) & ~GetRoundsFrom(round, word);
        for (uint64_t bits = FindRoundsWithSender(chunk, receiver, word, rounds, mostLinks);
             bits != 0;
             bits &= bits - 1)
        {
            const uint32_t earlier = word * LinkSlots::WORD + __builtin_ctzll(bits);
            if (FindSender(chunk, receiver, earlier, mostLinks))
            {
                return earlier;
            }
        }
    }
    return round;
}

uint64_t
ForestTimetable::FindRoundsWithSender(ChunkId chunk,
                                      NodeId receiver,
                                      uint32_t word,
                                      uint64_t rounds,
                                      std::size_t mostLinks)
{
    uint64_t found = 0;
    ++m_search;
    m_queue.assign(1, receiver);
    m_reachedIn[receiver] = m_search;
    m_reachable[receiver] = rounds;
    std::size_t next = 0;
    for (std::size_t nLinks = 1; nLinks <= mostLinks; ++nLinks)
    {
        for (const std::size_t end = m_queue.size(); next < end; ++next)
        {
            const NodeId node = m_queue[next];
            for (const Topology::Port& port : m_topology.GetPorts(node))
            {
                ++m_nLinksTried;
                const uint64_t there = m_reachable[node] & m_slots.GetRoom(Reverse(port.out), word);
                if (there == 0)
                {
                    continue;
                }
                if (m_topology.IsServer(port.neighbor))
                {
                    const uint32_t ready = m_ready[GetIndex(chunk, port.neighbor)];
                    found |= there & GetRoundsFrom(ready, word);
                    continue;
                }
                uint64_t& reachable = m_reachable[port.neighbor];
                reachable = m_reachedIn[port.neighbor] == m_search ? reachable : 0;
                m_reachedIn[port.neighbor] = m_search;
                if ((there & ~reachable) != 0)
                {
                    reachable |= there;
                    m_queue.push_back(port.neighbor);
                }
            }
        }
    }
    return found;
}

bool
ForestTimetable::FindSender(ChunkId chunk, NodeId receiver, uint32_t round, std::size_t mostLinks)
{
    ++m_search;
    m_queue.assign(1, receiver);
    std::size_t next = 0;
    for (std::size_t nLinks = 1; nLinks <= mostLinks; ++nLinks)
    {
        for (const std::size_t end = m_queue.size(); next < end; ++next)
        {
            for (const Topology::Port& port : m_topology.GetPorts(m_queue[next]))
            {
                if (m_reachedIn[port.neighbor] == m_search ||
                    !m_slots.HasRoom(Reverse(port.out), round))
                {
                    continue;
                }
                if (!m_topology.IsServer(port.neighbor))
                {
                    m_reachedIn[port.neighbor] = m_search;
                    m_last[port.neighbor] = port.out;
                    m_queue.push_back(port.neighbor);
                }
                else if (m_ready[GetIndex(chunk, port.neighbor)] <= round)
                {
                    TraceDetour(receiver, port.out);
                    return true;
                }
            }
        }
    }
    return false;
}

void
ForestTimetable::TraceDetour(NodeId receiver, DirectedLinkId last)
{
    m_detour.assign(1, last);
    while (m_topology.GetSource(m_detour.back()) != receiver)
    {
        m_detour.push_back(m_last[m_topology.GetSource(m_detour.back())]);
    }
    std::reverse(m_detour.begin(), m_detour.end());
}

void
ForestTimetable::Mirror()
{
    std::swap(m_toParent[REDUCE], m_toParent[BROADCAST]);
    std::swap(m_round[REDUCE], m_round[BROADCAST]);
    if (!m_collective.IsOfAll()) // else each workload has its mirror image
    {
        for (Task& task : m_tasks)
        {
            task ^= REDUCE ^ BROADCAST;
        }
    }
    for (std::vector<uint32_t>& rounds : m_round)
    {
        for (uint32_t& round : rounds)
        {
            round = m_nRounds - 1 - round;
        }
    }
}

} // namespace ns3::allreduce
