/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "flow-tree.h"

#include "server-graph.h"

#include "ns3/allreduce-error.h"
#include "ns3/allreduce-schedule.h"
#include "ns3/server-hops.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <tuple>

namespace ns3::allreduce
{

namespace
{

/// Finds relays between servers that no path of switches joins.
class RelayedWays
{
  public:
    RelayedWays(const Topology& topology, const ServerGraph& graph)
        : m_topology(topology),
          m_graph(graph),
          m_hopsTo(topology.GetNServers()),
          m_nRelayed(topology.GetNServers(), 0)
    {
    }

    /// @return the servers on a shortest way, both ends included, the relays least used so far
    Path FindWay(NodeId from, NodeId to)
    {
        std::vector<uint32_t>& hops = m_hopsTo[to];
        if (hops.empty())
        {
            hops = ComputeServerHops(m_topology, {to});
        }
        if (hops[from] == UNREACHABLE)
        {
            FailInput("server ", from, " cannot reach server ", to);
        }
        Path way{from};
        while (way.back() != to)
        {
            NodeId best = to;
            for (const NodeId next : m_graph.GetNeighbors(way.back()))
            {
                if (hops[next] + 1 == hops[way.back()] &&
                    (best == to || next == to || m_nRelayed[next] < m_nRelayed[best]))
                {
                    best = next;
                }
            }
            way.push_back(best);
            m_nRelayed[best] += best != to;
        }
        return way;
    }

  private:
    const Topology& m_topology;                  //!< the network
    const ServerGraph& m_graph;                  //!< who can send to whom
    std::vector<std::vector<uint32_t>> m_hopsTo; //!< by target: hops from each server, when needed
    std::vector<uint32_t> m_nRelayed;            //!< by server: ways that it is a relay on
};

/// An edge of a flow-tree and how far its data has come on it.
struct Errand
{
    ChunkId chunk;        //!< the chunk
    WorkloadKind kind;    //!< up or down the tree
    NodeId contributor;   //!< whose data it is, in a tree that does not merge
    uint32_t firstServer; //!< index of the first server of the way in ErrandRunner::m_ways
    uint32_t nHops;       //!< workloads that the way takes
    uint32_t nLinks;      //!< links that the way takes at least
    uint32_t urgency;     //!< the least urgent has the largest number
    uint32_t nDone{0};    //!< hops done
    bool isMoving{false}; //!< a hop is in flight in this round
    bool isEnded{false};  //!< nothing more to do
};

/// What decides between errands that want the same links.
struct Order
{
    bool isBusiestFirst; //!< before all else: those whose ports have the most left to carry
    bool isLongestFirst; //!< the longest ways first, else the shortest
    uint32_t detour;     //!< links more than the shortest path that a path may have
    uint64_t seed;       //!< 0: by the distance of the server's number from the root's; else random
};

/// Carries out all errands, round by round.
class ErrandRunner
{
  public:
    ErrandRunner(const AllReduceState& state,
                 const std::vector<FlowTree>& trees,
                 const PreferredPaths& preferred)
        : m_start(state),
          m_state(state),
          m_trees(trees),
          m_preferred(preferred),
          m_nServers(state.GetTopology().GetNServers()),
          m_graph(state.GetTopology()),
          m_search(state.GetTopology())
    {
        MakeErrands();
    }

    /// @return the number of errands
    std::size_t GetNErrands() const
    {
        return m_errands.size();
    }

    /**
     * @param order which errands go first
     * @param mostRounds give up when there would be so many; 0: never
     * @return the rounds, or none if there were too many
     */
    std::vector<WorkloadList> Run(const Order& order, std::size_t mostRounds)
    {
        Begin(order);
        std::vector<WorkloadList> rounds;
        while (!m_state.IsDone())
        {
            if (mostRounds > 0 && rounds.size() + 1 >= mostRounds)
            {
                return {};
            }
            WorkloadList round = MakeRound();
            if (round.IsEmpty())
            {
                FailInput("flow-trees do not come to an end in ", m_state.GetTopology().GetName());
            }
            rounds.push_back(std::move(round));
        }
        return rounds;
    }

  private:
    std::size_t GetIndex(NodeId server, ChunkId chunk) const
    {
        return std::size_t{server} * m_trees.size() + chunk;
    }

    NodeId GetHere(const Errand& errand) const
    {
        return m_ways[errand.firstServer + errand.nDone];
    }

    NodeId GetNext(const Errand& errand) const
    {
        return m_ways[errand.firstServer + errand.nDone + 1];
    }

    NodeId GetEnd(const Errand& errand) const
    {
        return m_ways[errand.firstServer + errand.nHops];
    }

    void MakeErrands()
    {
        RelayedWays relays(m_state.GetTopology(), m_graph);
        for (ChunkId chunk = 0; chunk < m_trees.size(); ++chunk)
        {
            const FlowTree& tree = m_trees[chunk];
            const NodeId root = m_state.GetRoots()[chunk];
            const std::vector<uint32_t> up = ComputeDepths(tree.reduceTo, root);
            const std::vector<uint32_t> down = ComputeDepths(tree.broadcastFrom, root);
            for (NodeId server = 0; server < m_nServers; ++server)
            {
                if (server != root)
                {
                    // First what is deep in its tree on the way up and what is high on the way
                    // down: most others wait for it.
                    AddErrand(relays,
                              chunk,
                              WorkloadKind::REDUCE,
                              server,
                              tree.reduceTo[server],
                              m_nServers - up[server]);
                    AddErrand(relays,
                              chunk,
                              WorkloadKind::BROADCAST,
                              tree.broadcastFrom[server],
                              server,
                              m_nServers + down[server]);
                }
            }
        }
    }

    void AddErrand(RelayedWays& relays,
                   ChunkId chunk,
                   WorkloadKind kind,
                   NodeId from,
                   NodeId to,
                   uint32_t urgency)
    {
        const Path way = relays.FindWay(from, to);
        Errand errand{};
        errand.chunk = chunk;
        errand.kind = kind;
        errand.contributor = from;
        errand.firstServer = m_ways.size();
        errand.nHops = way.size() - 1;
        errand.urgency = urgency;
        for (std::size_t i = 0; i + 1 < way.size(); ++i)
        {
            const uint32_t nLinks = m_graph.GetNLinks(way[i], way[i + 1]);
            errand.nLinks += nLinks;
            FindFreePath(m_search, m_state, way[i], way[i + 1], nLinks, m_path);
            AddPorts(m_path);
        }
        m_firstLinks.push_back(0);
        m_lastLinks.push_back(0);
        m_ways.insert(m_ways.end(), way.begin(), way.end());
        m_errands.push_back(errand);
    }

    /// Note the links on which a hop leaves its sender and reaches its receiver.
    void AddPorts(const Path& path)
    {
        const Topology& topology = m_state.GetTopology();
        m_firstLinks.push_back(*topology.FindDirectedLink(path[0], path[1]));
        m_lastLinks.push_back(
            *topology.FindDirectedLink(path[path.size() - 2], path[path.size() - 1]));
    }

    /// @return by server: edges between it and the root @param next towards the root, by server
    std::vector<uint32_t> ComputeDepths(const std::vector<NodeId>& next, NodeId root) const
    {
        std::vector<uint32_t> depth(m_nServers, UNREACHABLE);
        depth[root] = 0;
        Path way;
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            way.clear();
            NodeId node = server;
            for (; depth[node] == UNREACHABLE; node = next[node])
            {
                way.push_back(node);
            }
            for (; !way.empty(); way.pop_back())
            {
                depth[way.back()] = depth[node] + 1;
                node = way.back();
            }
        }
        return depth;
    }

    /// Put everything back to the start.
    void Begin(const Order& order)
    {
        m_state = m_start;
        m_detour = order.detour;
        m_isBusiestFirst = order.isBusiestFirst;
        m_nPendingChildren.assign(std::size_t{m_nServers} * m_trees.size(), 0);
        for (Errand& errand : m_errands)
        {
            errand.nDone = 0;
            errand.isMoving = false;
            errand.isEnded = errand.kind == WorkloadKind::REDUCE && m_state.IsFinal(errand.chunk);
            if (errand.kind == WorkloadKind::REDUCE)
            {
                ++m_nPendingChildren[GetIndex(GetEnd(errand), errand.chunk)];
            }
        }
        SortErrands(order);
    }

    void SortErrands(const Order& order)
    {
        struct Key
        {
            uint32_t urgency; //!< see Errand
            uint32_t length;  //!< of the way
            uint64_t tie;     //!< decides when all else is equal
            uint32_t errand;  //!< the errand

            bool operator<(const Key& other) const
            {
                return std::tie(urgency, length, tie, errand) <
                       std::tie(other.urgency, other.length, other.tie, other.errand);
            }
        };

        std::mt19937_64 random(order.seed);
        std::vector<Key> keys;
        keys.reserve(m_errands.size());
        for (uint32_t i = 0; i < m_errands.size(); ++i)
        {
            const Errand& errand = m_errands[i];
            const NodeId root = m_state.GetRoots()[errand.chunk];
            keys.push_back(
                {errand.urgency,
                 order.isLongestFirst ? ~errand.nLinks : errand.nLinks,
                 order.seed == 0 ? (GetHere(errand) + m_nServers - root) % m_nServers : random(),
                 i});
        }
        std::sort(keys.begin(), keys.end());
        m_active.clear();
        for (const Key& key : keys)
        {
            if (!m_errands[key.errand].isEnded)
            {
                m_active.push_back(key.errand);
            }
        }
    }

    WorkloadList MakeRound()
    {
        WorkloadList round;
        CountFreePorts();
        if (m_isBusiestFirst)
        {
            SortByLoad();
        }
        for (const uint32_t index : m_active)
        {
            Errand& errand = m_errands[index];
            if (IsReady(errand))
            {
                Move(errand, round);
            }
        }
        m_state.EndRound();
        for (const uint32_t index : m_active)
        {
            Errand& errand = m_errands[index];
            if (errand.isMoving)
            {
                errand.isMoving = false;
                ++errand.nDone;
            }
            EndIfDone(errand);
        }
        m_active.erase(std::remove_if(m_active.begin(),
                                      m_active.end(),
                                      [this](uint32_t i) { return m_errands[i].isEnded; }),
                       m_active.end());
        return round;
    }

    /// Of the errands, take those first whose ports have the most left to carry.
    void SortByLoad()
    {
        m_load.assign(m_state.GetTopology().GetNDirectedLinks(), 0);
        for (const uint32_t index : m_active)
        {
            const Errand& errand = m_errands[index];
            for (uint32_t hop = errand.nDone; hop < errand.nHops; ++hop)
            {
                ++m_load[m_firstLinks[errand.firstServer + hop]];
                ++m_load[m_lastLinks[errand.firstServer + hop]];
            }
        }
        auto getLoad = [this](uint32_t index) {
            const Errand& errand = m_errands[index];
            const uint32_t hop = errand.firstServer + errand.nDone;
            return m_load[m_firstLinks[hop]] + m_load[m_lastLinks[hop]];
        };
        std::stable_sort(m_active.begin(), m_active.end(), [&](uint32_t x, uint32_t y) {
            return getLoad(x) > getLoad(y);
        });
    }

    void CountFreePorts()
    {
        const Topology& topology = m_state.GetTopology();
        m_freeOut.assign(m_nServers, 0);
        m_freeIn.assign(m_nServers, 0);
        for (NodeId server = 0; server < m_nServers; ++server)
        {
            for (const Topology::Port& port : topology.GetPorts(server))
            {
                m_freeOut[server] += m_state.GetCapacity(port.out);
                m_freeIn[server] += m_state.GetCapacity(Reverse(port.out));
            }
        }
    }

    bool IsReady(const Errand& errand) const
    {
        const NodeId here = GetHere(errand);
        const NodeId next = GetNext(errand);
        if (m_freeOut[here] == 0 || m_freeIn[next] == 0)
        {
            return false;
        }
        if (errand.kind == WorkloadKind::BROADCAST)
        {
            return m_state.GetFinals().Test(here, errand.chunk) &&
                   !m_state.GetExpected().Test(next, errand.chunk);
        }
        return (errand.nDone > 0 || !m_trees[errand.chunk].isMerging ||
                m_nPendingChildren[GetIndex(here, errand.chunk)] == 0) &&
               m_state.GetPartials().Test(here, errand.chunk);
    }

    void Move(Errand& errand, WorkloadList& round)
    {
        const NodeId here = GetHere(errand);
        const NodeId next = GetNext(errand);
        if (!FindPath(here, next))
        {
            return;
        }
        const bool isAlone =
            errand.kind == WorkloadKind::REDUCE && !m_trees[errand.chunk].isMerging;
        Workload workload;
        workload.chunk = errand.chunk;
        workload.kind = errand.kind;
        workload.path = {m_path.data(), m_path.data() + m_path.size()};
        if (isAlone)
        {
            workload.contributors = {&errand.contributor, &errand.contributor + 1};
        }
        m_state.Start(workload);
        round.Add(workload);
        errand.isMoving = true;
        --m_freeOut[here];
        --m_freeIn[next];
    }

    /// @return whether m_path could be set to a path with room
    bool FindPath(NodeId from, NodeId to)
    {
        const auto preferred = m_preferred.find({from, to});
        if (preferred != m_preferred.end() && HasRoom(preferred->second))
        {
            m_path = preferred->second;
            return true;
        }
        const uint32_t mostLinks = m_graph.GetNLinks(from, to) + m_detour;
        return FindFreePath(m_search, m_state, from, to, mostLinks, m_path);
    }

    bool HasRoom(const Path& path) const
    {
        bool hasRoom = true;
        ForEachLink(m_state.GetTopology(), path, [&](DirectedLinkId link) {
            hasRoom &= m_state.GetFreeCapacity(link) > 0;
        });
        return hasRoom;
    }

    void EndIfDone(Errand& errand)
    {
        if (errand.kind == WorkloadKind::BROADCAST)
        {
            SkipHopsOfOthers(errand);
            errand.isEnded = errand.nDone == errand.nHops;
            return;
        }
        const bool isMerging = m_trees[errand.chunk].isMerging;
        const NodeId here = GetHere(errand);
        // What a relay merged into its own partial sum may have gone on with that; and what passed
        // the root has been collected there.
        const bool wasTaken =
            isMerging && errand.nDone > 0 && !m_state.GetPartials().Test(here, errand.chunk);
        const bool isAtRoot = here == m_state.GetRoots()[errand.chunk];
        const bool hadNothing = isMerging && errand.nDone == 0 &&
                                m_nPendingChildren[GetIndex(here, errand.chunk)] == 0 &&
                                !m_state.GetPartials().Test(here, errand.chunk);
        if (errand.nDone == errand.nHops || wasTaken || isAtRoot || hadNothing)
        {
            errand.isEnded = true;
            --m_nPendingChildren[GetIndex(GetEnd(errand), errand.chunk)];
        }
    }

    /// A relay that has the sum from elsewhere need not be sent it again.
    void SkipHopsOfOthers(Errand& errand)
    {
        while (errand.nDone < errand.nHops &&
               m_state.GetFinals().Test(GetNext(errand), errand.chunk))
        {
            ++errand.nDone;
        }
    }

    const AllReduceState& m_start;            //!< the beginning
    uint32_t m_detour{0};                     //!< see Order
    bool m_isBusiestFirst{false};             //!< see Order
    AllReduceState m_state;                   //!< how far all has come
    const std::vector<FlowTree>& m_trees;     //!< by chunk
    const PreferredPaths& m_preferred;        //!< paths to be tried first
    uint32_t m_nServers;                      //!< number of servers
    ServerGraph m_graph;                      //!< who can send to whom
    SwitchPathSearch m_search;                //!< finds paths
    std::vector<uint32_t> m_nPendingChildren; //!< [server][chunk]: children yet to send
    std::vector<NodeId> m_ways;               //!< servers on the errands' ways
    std::vector<DirectedLinkId> m_firstLinks; //!< as m_ways: the port to the next server
    std::vector<DirectedLinkId> m_lastLinks;  //!< as m_ways: the port at the next server
    std::vector<uint32_t> m_load;             //!< by directed link: hops left over it
    std::vector<Errand> m_errands;            //!< by priority
    std::vector<uint32_t> m_active;           //!< errands that have not ended
    std::vector<uint32_t> m_freeOut;          //!< by server: workloads it can still send
    std::vector<uint32_t> m_freeIn;           //!< by server: workloads it can still receive
    Path m_path;                              //!< the present path
};

/**
 * @param state where to begin
 * @param trees a tree for each chunk
 * @param preferred paths to be tried first
 * @param mostRounds give up when there are so many; 0: never
 * @return the shortest of several schedules, or none if all have too many rounds
 */
std::vector<WorkloadList>
TryOrders(const AllReduceState& state,
          const std::vector<FlowTree>& trees,
          const PreferredPaths& preferred,
          std::size_t mostRounds)
{
    constexpr std::size_t MOST_WORK = 200'000; // errands times orders: about a second
    const Order orders[] = {
        {false, true, 2, 0},
        {true, true, 2, 0},
        {false, false, 2, 0},
        {true, true, 0, 1},
        {false, true, 0, 1},
        {true, true, 2, 2},
        {false, true, 2, 3},
        {true, false, 2, 3},
        {true, true, 1, 4},
        {true, true, 2, 5},
        {true, true, 2, 6},
        {true, true, 2, 7},
    };
    ErrandRunner scheduler(state, trees, preferred);
    std::vector<WorkloadList> best;
    std::size_t work = 0;
    for (const Order& order : orders)
    {
        std::vector<WorkloadList> rounds = scheduler.Run(order, mostRounds);
        if (!rounds.empty())
        {
            best = std::move(rounds);
            mostRounds = best.size();
        }
        work += scheduler.GetNErrands();
        if (work > MOST_WORK)
        {
            break;
        }
    }
    return best;
}

} // namespace

std::vector<WorkloadList>
ScheduleFlowTrees(const AllReduceState& state,
                  const std::vector<FlowTree>& trees,
                  const PreferredPaths& preferred)
{
    std::vector<WorkloadList> forwards = TryOrders(state, trees, preferred, 0);
    const bool isSymmetric = std::all_of(trees.begin(), trees.end(), [](const FlowTree& tree) {
        return tree.isMerging && tree.reduceTo == tree.broadcastFrom;
    });
    if (!isSymmetric)
    {
        return forwards;
    }
    // The broadcast along the same trees, mirrored, is a reduce along them.
    const auto reduced = AllReduceState::MakeReduced(state.GetTopology(), state.GetRoots());
    std::vector<WorkloadList> broadcast =
        TryOrders(reduced, trees, preferred, (forwards.size() + 1) / 2);
    if (broadcast.empty())
    {
        return forwards;
    }
    std::vector<WorkloadList> rounds = Mirror(broadcast);
    std::move(broadcast.begin(), broadcast.end(), std::back_inserter(rounds));
    return rounds;
}

} // namespace ns3::allreduce
