/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "forward-planner.h"

#include "residual-router.h"
#include "server-graph.h"

#include "ns3/allreduce-error.h"
#include "ns3/topology-metrics.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>
#include <limits>
#include <numeric>
#include <random>

namespace ns3::allreduce
{

namespace
{

/// Chooses one round after another.
class ForwardPlanner
{
  public:
    ForwardPlanner(const AllReduceState& state, uint64_t seed)
        : m_state(state),
          m_nServers(state.GetTopology().GetNServers()),
          m_up(MakeNetworkThatIsUp(state)),
          m_graph(m_up),
          m_router(state.GetTopology()),
          m_random(seed)
    {
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            m_hops.push_back(m_graph.ComputeHops(server));
        }
    }

    std::vector<WorkloadList> Run()
    {
        std::vector<WorkloadList> rounds;
        while (!m_state.IsDone())
        {
            rounds.push_back(MakeRound());
            if (rounds.back().IsEmpty())
            {
                FailInput(m_state.GetTopology().GetName(),
                          ": ",
                          m_state.GetNMissing(),
                          " sums cannot reach their servers over the links that are up");
            }
        }
        return rounds;
    }

  private:
    /// A workload that could be sent.
    struct Option
    {
        double cost{std::numeric_limits<double>::infinity()}; //!< the least is taken
        ChunkId chunk{0};                                     //!< the chunk
        WorkloadKind kind{WorkloadKind::REDUCE};              //!< merged or copied
        NodeId target{0};                                     //!< the receiver
    };

    WorkloadList MakeRound()
    {
        CountPartials();
        WorkloadList round;
        std::vector<NodeId> senders(m_nServers);
        std::iota(senders.begin(), senders.end(), 0);
        while (!senders.empty())
        {
            // Take the servers in random order, one workload each, as long as any can send.
            for (std::size_t i = senders.size(); i > 1; --i)
            {
                boost::random::uniform_int_distribution<std::size_t> draw(0, i - 1);
                std::swap(senders[i - 1], senders[draw(m_random)]);
            }
            senders.erase(std::remove_if(senders.begin(),
                                         senders.end(),
                                         [&](NodeId sender) { return !SendOne(sender, round); }),
                          senders.end());
        }
        m_state.EndRound();
        return round;
    }

    void CountPartials()
    {
        m_nPartials.assign(m_state.GetNChunks(), 0);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            for (ChunkId chunk = 0; chunk < m_state.GetNChunks(); ++chunk)
            {
                m_nPartials[chunk] += m_state.GetPartials().Test(server, chunk);
            }
        }
        m_isGathering.assign(std::size_t{m_nServers} * m_state.GetNChunks(), false);
    }

    bool HasRoomOut(NodeId server) const
    {
        const auto ports = m_state.GetTopology().GetPorts(server);
        return std::any_of(ports.begin(), ports.end(), [&](const Topology::Port& port) {
            return m_state.GetFreeCapacity(port.out) > 0;
        });
    }

    bool HasRoomIn(NodeId server) const
    {
        const auto ports = m_state.GetTopology().GetPorts(server);
        return std::any_of(ports.begin(), ports.end(), [&](const Topology::Port& port) {
            return m_state.GetFreeCapacity(Reverse(port.out)) > 0;
        });
    }

    /// Send the best workload of a server. @return whether there was one
    bool SendOne(NodeId sender, WorkloadList& round)
    {
        if (!HasRoomOut(sender))
        {
            return false;
        }
        m_options.clear();
        for (const NodeId target : m_graph.GetNeighbors(sender))
        {
            if (HasRoomIn(target))
            {
                AddOptions(sender, target);
            }
        }
        std::sort(m_options.begin(), m_options.end(), [](const Option& x, const Option& y) {
            return x.cost < y.cost;
        });
        for (const Option& option : m_options)
        {
            if (m_router.FindPath(m_state,
                                  sender,
                                  option.target,
                                  m_graph.GetNLinks(sender, option.target) + DETOUR,
                                  m_path))
            {
                Send(option, round);
                return true;
            }
        }
        return false;
    }

    void AddOptions(NodeId sender, NodeId target)
    {
        Option best;
        for (const WorkloadKind kind : {WorkloadKind::REDUCE, WorkloadKind::BROADCAST})
        {
            m_state.FindLegalChunks(sender, target, kind, m_chunks);
            for (const ChunkId chunk : m_chunks)
            {
                const double cost = kind == WorkloadKind::REDUCE
                                        ? GetReduceCost(sender, target, chunk)
                                        : GetBroadcastCost(sender, target, chunk);
                if (cost < best.cost)
                {
                    best = {cost, chunk, kind, target};
                }
            }
        }
        if (best.cost < std::numeric_limits<double>::infinity())
        {
            m_options.push_back(best);
        }
    }

    /**
     * A partial sum goes to the root or is merged with another one that is not farther from it; a
     * move that merges nothing is only made towards the root. Chunks with many partial sums left
     * go first, so that all chunks become final at the same pace, and far ones before near ones.
     */
    double GetReduceCost(NodeId sender, NodeId target, ChunkId chunk)
    {
        const NodeId root = m_state.GetRoots()[chunk];
        const uint32_t before = m_hops[root][sender];
        const uint32_t after = m_hops[root][target];
        const bool isMerging = m_state.GetPartials().Test(target, chunk);
        const bool isFarther = after > before || (after == before && !isMerging);
        // A server that gathers in this round must not send on what it had before.
        if (isFarther || m_isGathering[std::size_t{sender} * m_state.GetNChunks() + chunk])
        {
            return std::numeric_limits<double>::infinity();
        }
        return -2.0 * m_nPartials[chunk] / m_nServers - 0.5 * before + (isMerging ? 0.0 : 3.0) +
               (after == before ? 1.0 : 0.0) + Noise();
    }

    /// The rarest chunk goes first, in the shortest way.
    double GetBroadcastCost(NodeId sender, NodeId target, ChunkId chunk)
    {
        return 2.0 * m_state.GetNHolders(chunk) / m_nServers +
               0.25 * m_graph.GetNLinks(sender, target) - 1.0 + Noise();
    }

    double Noise()
    {
        return boost::random::uniform_real_distribution<double>(0, 0.05)(m_random);
    }

    void Send(const Option& option, WorkloadList& round)
    {
        Workload workload;
        workload.chunk = option.chunk;
        workload.kind = option.kind;
        workload.path = {m_path.data(), m_path.data() + m_path.size()};
        m_state.Start(workload);
        round.Add(workload);
        if (option.kind == WorkloadKind::REDUCE)
        {
            m_isGathering[std::size_t{option.target} * m_state.GetNChunks() + option.chunk] = true;
            --m_nPartials[option.chunk];
        }
    }

    static constexpr uint32_t DETOUR = 2; //!< links more than the shortest path that are allowed

    AllReduceState m_state;                    //!< how far all has come
    uint32_t m_nServers;                       //!< number of servers
    Topology m_up;                             //!< the network without links that are down
    ServerGraph m_graph;                       //!< who can send to whom
    ResidualRouter m_router;                   //!< finds paths
    std::mt19937_64 m_random;                  //!< where chance comes from
    std::vector<std::vector<uint32_t>> m_hops; //!< [from][to]: workloads between servers
    std::vector<uint32_t> m_nPartials;         //!< by chunk: partial sums there are
    std::vector<bool> m_isGathering;           //!< [server][chunk]: gets a partial sum this round
    std::vector<Option> m_options;             //!< of the present sender
    std::vector<ChunkId> m_chunks;             //!< that could go to the present receiver
    Path m_path;                               //!< the present path
};

} // namespace

std::vector<WorkloadList>
PlanForwards(const AllReduceState& state, uint64_t seed, uint32_t samples)
{
    std::vector<WorkloadList> best;
    for (uint32_t i = 0; i < samples; ++i)
    {
        std::vector<WorkloadList> plan = ForwardPlanner(state, seed + i).Run();
        if (i == 0 || plan.size() < best.size())
        {
            best = std::move(plan);
        }
    }
    return best;
}

} // namespace ns3::allreduce
