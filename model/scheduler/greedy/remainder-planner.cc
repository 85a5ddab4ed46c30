/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "remainder-planner.h"

#include "greedy-planner.h"

#include "ns3/allreduce-schedule.h"
#include "ns3/chunk-needs.h"

#include <algorithm>
#include <limits>

namespace ns3::allreduce
{

namespace
{

/// @return the network of a state, without chunks
BroadcastProblem
MakeEmptyProblem(const AllReduceState& state)
{
    const Topology& topology = state.GetTopology();
    BroadcastProblem problem;
    problem.topology = &topology;
    problem.nChunks = state.GetNChunks();
    problem.capacity = state.GetCapacities();
    problem.mayHold = state.GetMayHold();
    return problem;
}

/// @return the reduce that is left, read backwards: from the roots to all partial sums
BroadcastProblem
MakeMirroredReduce(const AllReduceState& state, const ChunkNeeds& needs)
{
    BroadcastProblem problem = MakeEmptyProblem(state);
    // Mirrored, what a link carries in one direction it carries in the other.
    for (std::size_t link = 0; link + 1 < problem.capacity.size(); link += 2)
    {
        std::swap(problem.capacity[link], problem.capacity[link + 1]);
    }
    problem.holders = needs.collects;
    problem.wants = needs.gives;
    return problem;
}

/// @return the broadcast that is left when all chunks are final
BroadcastProblem
MakeBroadcast(const AllReduceState& state, const ChunkNeeds& needs)
{
    BroadcastProblem problem = MakeEmptyProblem(state);
    problem.holders = needs.hasSum;
    problem.wants = needs.lacksSum;
    return problem;
}

/// @return whether the two broadcasts are one and the same, as they are from the beginning
bool
AreSame(const BroadcastProblem& x, const BroadcastProblem& y, uint32_t nServers)
{
    for (NodeId server = 0; server < nServers; ++server)
    {
        const std::size_t words = x.wants.GetRowWords();
        if (!std::equal(x.wants.GetRow(server),
                        x.wants.GetRow(server) + words,
                        y.wants.GetRow(server)) ||
            !std::equal(x.holders.GetRow(server),
                        x.holders.GetRow(server) + words,
                        y.holders.GetRow(server)))
        {
            return false;
        }
    }
    return x.capacity == y.capacity;
}

} // namespace

std::vector<WorkloadList>
DropEmptyReduces(const AllReduceState& state, const std::vector<WorkloadList>& rounds)
{
    BitMatrix partials = state.GetPartials();
    std::vector<WorkloadList> kept;
    for (const WorkloadList& round : rounds)
    {
        WorkloadList list;
        for (std::size_t i = 0; i < round.GetSize(); ++i)
        {
            const Workload workload = round.Get(i);
            if (workload.kind == WorkloadKind::BROADCAST ||
                partials.Test(workload.GetSource(), workload.chunk))
            {
                list.Add(workload);
            }
        }
        const auto forEachReduce = [&list](auto call) {
            for (std::size_t i = 0; i < list.GetSize(); ++i)
            {
                if (list.Get(i).kind == WorkloadKind::REDUCE)
                {
                    call(list.Get(i));
                }
            }
        };
        forEachReduce([&](const Workload& w) { partials.Clear(w.GetSource(), w.chunk); });
        forEachReduce([&](const Workload& w) { partials.Set(w.GetTarget(), w.chunk); });
        if (!list.IsEmpty())
        {
            kept.push_back(std::move(list));
        }
    }
    return kept;
}

namespace
{

/// Moves workloads of a plan to the earliest round in which data and links allow them.
class Compactor
{
  public:
    explicit Compactor(const AllReduceState& state)
        : m_state(state),
          m_topology(state.GetTopology()),
          m_partialFrom(std::size_t{m_topology.GetNServers()} * state.GetNChunks(), 0),
          m_finalFrom(m_partialFrom.size(), NEVER)
    {
        for (NodeId server = 0; server < m_topology.GetNServers(); ++server)
        {
            for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
            {
                if (state.GetFinals().Test(server, chunk))
                {
                    m_finalFrom[GetIndex(server, chunk)] = 0;
                }
            }
        }
    }

    /// @return the rounds, moved together @param plans rounds in the order they were planned
    std::vector<WorkloadList> Compact(const std::vector<const std::vector<WorkloadList>*>& plans)
    {
        for (const auto* plan : plans)
        {
            for (const WorkloadList& round : *plan)
            {
                for (std::size_t i = 0; i < round.GetSize(); ++i)
                {
                    Add(round.Get(i));
                }
            }
        }
        return std::move(m_rounds);
    }

  private:
    static constexpr uint32_t NEVER = std::numeric_limits<uint32_t>::max();

    std::size_t GetIndex(NodeId server, ChunkId chunk) const
    {
        return std::size_t{server} * m_state.GetNChunks() + chunk;
    }

    void Add(const Workload& workload)
    {
        const bool isReduce = workload.kind == WorkloadKind::REDUCE;
        const NodeId root = m_state.GetRoots()[workload.chunk];
        const std::size_t source = GetIndex(workload.GetSource(), workload.chunk);
        uint32_t& finalAtSource = m_finalFrom[source];
        if (!isReduce && finalAtSource == NEVER && workload.GetSource() == root)
        {
            finalAtSource = m_partialFrom[source]; // the last contribution has been planned
        }
        const uint32_t round =
            FindRound(workload, isReduce ? m_partialFrom[source] : finalAtSource);
        m_rounds[round].Add(workload);
        const std::size_t target = GetIndex(workload.GetTarget(), workload.chunk);
        if (isReduce)
        {
            m_partialFrom[target] = std::max(m_partialFrom[target], round + 1);
        }
        else
        {
            m_finalFrom[target] = round + 1;
        }
    }

    /// @return the first round from which on the workload's links have room, and takes it
    uint32_t FindRound(const Workload& workload, uint32_t earliest)
    {
        m_links = FindLinks(m_topology, workload.path);
        uint32_t round = earliest;
        while (round < m_used.size() && !HasRoom(round))
        {
            ++round;
        }
        while (m_used.size() <= round)
        {
            m_used.emplace_back(m_topology.GetNDirectedLinks(), 0);
            m_rounds.emplace_back();
        }
        for (const DirectedLinkId link : m_links)
        {
            ++m_used[round][link];
        }
        return round;
    }

    bool HasRoom(uint32_t round) const
    {
        return std::all_of(m_links.begin(), m_links.end(), [&](DirectedLinkId link) {
            return m_used[round][link] < m_state.GetCapacity(link);
        });
    }

    const AllReduceState& m_state;             //!< where the plan begins
    const Topology& m_topology;                //!< the network
    std::vector<uint32_t> m_partialFrom;       //!< [server][chunk]: round with all contributions
    std::vector<uint32_t> m_finalFrom;         //!< [server][chunk]: first round to send the sum
    std::vector<std::vector<uint16_t>> m_used; //!< [round][directed link]: workloads
    std::vector<WorkloadList> m_rounds;        //!< the rounds so far
    std::vector<DirectedLinkId> m_links;       //!< of the present workload
};

} // namespace

std::vector<WorkloadList>
Compact(const AllReduceState& state, const std::vector<WorkloadList>& rounds)
{
    return Compactor(state).Compact({&rounds});
}

std::vector<WorkloadList>
PlanByMirroring(const AllReduceState& state, const BroadcastPlanner& planner)
{
    const ChunkNeeds needs(state);
    const BroadcastProblem reduce = MakeMirroredReduce(state, needs);
    const BroadcastProblem broadcast = MakeBroadcast(state, needs);
    std::vector<WorkloadList> broadcastRounds = planner(broadcast);
    const bool areSame = AreSame(reduce, broadcast, state.GetTopology().GetNServers());
    std::vector<WorkloadList> reduceRounds = Mirror(areSame ? broadcastRounds : planner(reduce));
    if (areSame && state.GetCollective().IsOfAll())
    {
        std::move(broadcastRounds.begin(), broadcastRounds.end(), std::back_inserter(reduceRounds));
        return reduceRounds;
    }
    reduceRounds = DropEmptyReduces(state, reduceRounds);
    return Compactor(state).Compact({&reduceRounds, &broadcastRounds});
}

std::vector<WorkloadList>
PlanRemainderGreedily(const AllReduceState& state,
                      uint64_t seed,
                      uint32_t samples,
                      const PlanningProgress& progress)
{
    return PlanByMirroring(state, [&](const BroadcastProblem& problem) {
        return PlanGreedyBroadcast(problem, seed, samples, progress);
    });
}

} // namespace ns3::allreduce
