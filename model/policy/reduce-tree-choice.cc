/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "reduce-tree-choice.h"

#include "ns3/allreduce-error.h"
#include "ns3/tree-grower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace ns3::allreduce
{

namespace
{

constexpr double STEEPNESS = 8;      //!< how prices grow with load
constexpr uint32_t N_SWEEPS = 3;     //!< how often every chunk chooses its tree
constexpr double LEAST_PRICE = 1e-4; //!< of ways that cost nothing the shorter one is better

/// Chooses the trees of a state's open chunks.
class ReduceTreeChooser
{
  public:
    ReduceTreeChooser(const AllReduceState& state, PlanningProblem& problem, uint64_t seed)
        : m_state(state),
          m_problem(problem),
          m_grower(state.GetTopology()),
          m_tree(state.GetTopology().GetNServers()),
          m_load(problem.capacity.size(), 0),
          m_use(problem.GetNChunks()),
          m_random(seed)
    {
    }

    void Choose()
    {
        std::vector<ChunkId> open;
        for (ChunkId chunk = 0; chunk < m_problem.GetNChunks(); ++chunk)
        {
            if (m_problem.isOpen[chunk])
            {
                open.push_back(chunk);
            }
        }
        for (uint32_t sweep = 0; sweep < N_SWEEPS; ++sweep)
        {
            std::shuffle(open.begin(), open.end(), m_random);
            for (const ChunkId chunk : open)
            {
                Choose(chunk);
            }
        }
    }

  private:
    /// @return what a link costs on the way up, by the link in the opposite direction
    double GetPrice(DirectedLinkId down) const
    {
        const DirectedLinkId up = Reverse(down);
        const double capacity = m_problem.capacity[up];
        if (capacity == 0)
        {
            return std::numeric_limits<double>::infinity();
        }
        return std::exp(STEEPNESS * (m_load[up] / capacity / m_most - 1)) / capacity + LEAST_PRICE;
    }

    void Choose(ChunkId chunk)
    {
        for (const DirectedLinkId link : m_use[chunk])
        {
            --m_load[link];
        }
        m_use[chunk].clear();
        m_grower.Grow(
            m_problem.roots[chunk],
            [this](DirectedLinkId link) { return GetPrice(link); },
            m_tree);
        FollowTree(chunk);
    }

    /// Keep of the tree what leads from partial sums to the root.
    void FollowTree(ChunkId chunk)
    {
        std::vector<NodeId>& parents = m_problem.parents[chunk];
        std::fill(parents.begin(), parents.end(), NO_SERVER);
        for (std::size_t i = m_tree.order.size(); i-- > 1;)
        {
            const NodeId server = m_tree.order[i];
            const bool hasPartial = m_state.GetPartials().Test(server, chunk);
            if (!hasPartial && parents[server] == NO_SERVER)
            {
                continue;
            }
            const NodeId parent = m_tree.parent[server];
            parents[server] = parent;
            if (parents[parent] == NO_SERVER)
            {
                parents[parent] = parent; // it is on the way; its own parent comes later
            }
            for (const DirectedLinkId down : m_tree.comeBy[server])
            {
                const DirectedLinkId up = Reverse(down);
                m_use[chunk].push_back(up);
                m_most = std::max(m_most, ++m_load[up] / double(m_problem.capacity[up]));
            }
        }
        const NodeId root = m_problem.roots[chunk];
        parents[root] = root;
        CheckAllFound(chunk);
    }

    void CheckAllFound(ChunkId chunk) const
    {
        for (NodeId server = 0; server < m_tree.parent.size(); ++server)
        {
            if (m_state.GetPartials().Test(server, chunk) && server != m_problem.roots[chunk] &&
                m_problem.parents[chunk][server] == NO_SERVER)
            {
                FailInput("chunk ",
                          chunk,
                          ": the partial sum of server ",
                          server,
                          " cannot reach root ",
                          m_problem.roots[chunk],
                          " over the links that are up");
            }
        }
    }

    const AllReduceState& m_state;                  //!< what has been done
    PlanningProblem& m_problem;                     //!< what is left
    TreeGrower m_grower;                            //!< finds trees
    RootedTree m_tree;                              //!< the one found last
    std::vector<double> m_load;                     //!< by directed link
    double m_most{1};                               //!< the largest load by capacity so far
    std::vector<std::vector<DirectedLinkId>> m_use; //!< by chunk: links of its tree
    std::mt19937_64 m_random;                       //!< where chance comes from
};

/// @return by node: the same number for those that links which are up join
std::vector<uint32_t>
FindParts(const AllReduceState& state)
{
    constexpr uint32_t NONE = std::numeric_limits<uint32_t>::max();
    const Topology& topology = state.GetTopology();
    std::vector<uint32_t> parts(topology.GetNNodes(), NONE);
    for (NodeId first = 0; first < topology.GetNNodes(); ++first)
    {
        std::vector<NodeId> stack;
        if (parts[first] == NONE)
        {
            parts[first] = first;
            stack.push_back(first);
        }
        while (!stack.empty())
        {
            const NodeId node = stack.back();
            stack.pop_back();
            for (const Topology::Port& port : topology.GetPorts(node))
            {
                if (state.GetCapacity(port.out) > 0 && parts[port.neighbor] == NONE)
                {
                    parts[port.neighbor] = first;
                    stack.push_back(port.neighbor);
                }
            }
        }
    }
    return parts;
}

/// Every server must be joined with one that has the final sum, or will have it.
void
CheckAllReached(const AllReduceState& state)
{
    const std::vector<uint32_t> parts = FindParts(state);
    const uint32_t nServers = state.GetTopology().GetNServers();
    std::vector<bool> hasSum(parts.size());
    for (ChunkId chunk = 0; chunk < state.GetNChunks(); ++chunk)
    {
        std::fill(hasSum.begin(), hasSum.end(), false);
        hasSum[parts[state.GetRoots()[chunk]]] = true;
        for (NodeId server = 0; server < nServers; ++server)
        {
            hasSum[parts[server]] = hasSum[parts[server]] || state.GetFinals().Test(server, chunk);
        }
        for (NodeId server = 0; server < nServers; ++server)
        {
            if (!hasSum[parts[server]])
            {
                FailInput("chunk ",
                          chunk,
                          ": its final sum cannot reach server ",
                          server,
                          " over the links that are up");
            }
        }
    }
}

} // namespace

PlanningProblem
MakeRest(const AllReduceState& state, uint64_t seed)
{
    const Topology& topology = state.GetTopology();
    PlanningProblem problem;
    problem.topology = &topology;
    for (DirectedLinkId link = 0; link < topology.GetNDirectedLinks(); ++link)
    {
        problem.capacity.push_back(state.GetCapacity(link));
    }
    problem.roots = state.GetRoots();
    problem.partners.assign(problem.GetNChunks(), NO_CHUNK);
    problem.parents.assign(problem.GetNChunks(),
                           std::vector<NodeId>(topology.GetNServers(), NO_SERVER));
    for (ChunkId chunk = 0; chunk < problem.GetNChunks(); ++chunk)
    {
        problem.isOpen.push_back(!state.IsFinal(chunk));
        for (NodeId server = 0; state.IsFinal(chunk) && server < topology.GetNServers(); ++server)
        {
            if (state.GetFinals().Test(server, chunk))
            {
                problem.parents[chunk][server] = server;
            }
        }
    }
    ReduceTreeChooser(state, problem, seed).Choose();
    CheckAllReached(state);
    SetPrices(problem, FindLinkPrices(*problem.topology));
    return problem;
}

} // namespace ns3::allreduce
