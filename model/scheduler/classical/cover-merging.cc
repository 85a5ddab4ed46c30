/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "cover-merging.h"

#include "ns3/server-graph.h"
#include "ns3/switch-path-search.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Covers while their cycles are merged.
class CoverMerging
{
  public:
    CoverMerging(const Topology& topology,
                 std::vector<CycleCover>& covers,
                 uint32_t nRings,
                 const MergingEffort& effort,
                 PlannerRandom& random)
        : m_topology(topology),
          m_covers(covers),
          m_effort(effort),
          m_random(random),
          m_graph(topology),
          m_search(topology),
          m_used(topology.GetNDirectedLinks(), 0),
          m_previous(covers.size(), std::vector<NodeId>(topology.GetNServers())),
          m_cycleOf(covers.size()),
          m_nCycles(nRings)
    {
        for (uint32_t cover = 0; cover < covers.size(); ++cover)
        {
            Update(cover);
            for (const Path& path : covers[cover])
            {
                Use(path, 1);
            }
        }
    }

    bool Run()
    {
        constexpr uint32_t EXCHANGES = 4;
        const uint32_t nCovers = m_covers.size();
        for (uint32_t sweep = 0; sweep < m_effort.nSweeps && !IsDone(); ++sweep)
        {
            for (NodeId i = 0; i < m_topology.GetNServers() / 4; ++i)
            {
                const uint32_t cover = m_random.Modulo(m_nCycles.size());
                TryReconnect(cover, cover, m_random.Modulo(m_topology.GetNServers()));
            }
            for (uint32_t i = 0; i < EXCHANGES && !IsDone(); ++i)
            {
                const uint32_t cover = DrawUnfinished();
                TryReconnect(cover, m_random.Modulo(nCovers), DrawServer(cover));
                TryExchange(cover, m_random.Modulo(nCovers), DrawServer(cover));
            }
        }
        return IsDone();
    }

  private:
    bool IsDone() const
    {
        return std::all_of(m_nCycles.begin(), m_nCycles.end(), [](uint32_t n) { return n == 1; });
    }

    void Use(const Path& path, int32_t workloads)
    {
        ForEachLink(m_topology, path, [&](DirectedLinkId link) { m_used[link] += workloads; });
    }

    /// Look at all paths of a cover anew.
    void Update(uint32_t cover)
    {
        for (NodeId server = 0; server < m_covers[cover].size(); ++server)
        {
            m_previous[cover][m_covers[cover][server].back()] = server;
        }
        if (cover < m_nCycles.size())
        {
            m_nCycles[cover] = CountCycles(m_covers[cover], m_cycleOf[cover]);
        }
    }

    /// @return whether there is a path with room, which is in use then
    bool FindPath(NodeId from, NodeId to, Path& path)
    {
        const auto hasRoom = [&](DirectedLinkId link) {
            return m_used[link] < m_topology.GetCapacity(link);
        };
        if (!m_search.Find(from, to, SwitchPathSearch::ANY_LENGTH, hasRoom, path))
        {
            return false;
        }
        Use(path, 1);
        return true;
    }

    /// @return a cover with several cycles, or any if there is none
    uint32_t DrawUnfinished()
    {
        const uint32_t start = m_random.Modulo(m_nCycles.size());
        for (uint32_t i = 0; i < m_nCycles.size(); ++i)
        {
            const uint32_t cover = (start + i) % m_nCycles.size();
            if (m_nCycles[cover] > 1)
            {
                return cover;
            }
        }
        return start;
    }

    /// @return a server of a cover, from small cycles as often as from large ones
    NodeId DrawServer(uint32_t cover)
    {
        constexpr uint32_t MOST_STEPS = 16;
        const std::vector<uint32_t>& cycleOf = m_cycleOf[cover];
        NodeId server =
            std::find(cycleOf.begin(), cycleOf.end(), m_random.Modulo(m_nCycles[cover])) -
            cycleOf.begin();
        for (uint32_t steps = m_random.Modulo(MOST_STEPS); steps > 0; --steps)
        {
            server = m_covers[cover][server].back();
        }
        return server;
    }

    /// @return the cycles of two covers, as far as they should be rings
    int32_t CountAll(uint32_t i, uint32_t j) const
    {
        const uint32_t nRings = m_nCycles.size();
        return (i < nRings ? m_nCycles[i] : 0) + (j < nRings ? m_nCycles[j] : 0);
    }

    /// @return whether a change that makes so many cycles more is kept
    bool IsKept(int32_t nMore)
    {
        constexpr uint32_t FINENESS = 1 << 20;
        return nMore <= 0 ||
               m_random.Modulo(FINENESS) < FINENESS * std::exp(-m_effort.dearness * nMore);
    }

    /// @return whether a change that splits a cycle of one cover should be tried: now and then
    bool IsSplitTried()
    {
        constexpr uint32_t SPLITS = 4; // for each sweep, about
        return m_random.Modulo(m_topology.GetNServers()) < SPLITS;
    }

    /**
     * Let a server send in one cover to a neighbor, and who sends to that one in the other cover to
     * who is left over. Where these covers differ, others exchange what they send in the two.
     */
    void TryReconnect(uint32_t i, uint32_t j, NodeId x)
    {
        const std::vector<NodeId>& neighbors = m_graph.GetNeighbors(x);
        const NodeId next = neighbors[m_random.Modulo(neighbors.size())];
        const NodeId leftOver = m_covers[i][x].back();
        const NodeId y = m_previous[j][next];
        if (next == leftOver || x == y ||
            (i == j && m_cycleOf[i][x] == m_cycleOf[i][y] && !IsSplitTried()))
        {
            return;
        }
        Path fromX;
        Path fromY;
        if (!FindPaths(m_covers[i][x], next, fromX, m_covers[j][y], fromY))
        {
            return;
        }
        m_covers[i][x].swap(fromX);
        m_covers[j][y].swap(fromY);
        if (i == j)
        {
            Update(i);
            return;
        }
        FindAlternatingPath(i, j, next, leftOver);
        const int32_t before = CountAll(i, j);
        Exchange(i, j);
        if (!IsKept(CountAll(i, j) - before))
        {
            for (const NodeId sender : m_senders)
            {
                std::swap(m_covers[i][sender], m_covers[j][sender]);
            }
            Replace(m_covers[i][x], fromX);
            Replace(m_covers[j][y], fromY);
            Update(i);
            Update(j);
        }
    }

    /// Find other paths for two senders. @return whether there are, which are in use then
    bool FindPaths(const Path& oldX, NodeId next, Path& fromX, const Path& oldY, Path& fromY)
    {
        Use(oldX, -1);
        Use(oldY, -1);
        if (FindPath(oldX.front(), next, fromX))
        {
            if (FindPath(oldY.front(), oldX.back(), fromY))
            {
                return true;
            }
            Use(fromX, -1);
        }
        Use(oldX, 1);
        Use(oldY, 1);
        return false;
    }

    void Replace(Path& path, Path& by)
    {
        Use(path, -1);
        Use(by, 1);
        path.swap(by);
    }

    /// Exchange what some servers send in two covers.
    void TryExchange(uint32_t i, uint32_t j, NodeId first)
    {
        FindAlternatingCycle(i, j, first);
        if (i == j || m_senders.size() == m_topology.GetNServers())
        {
            return;
        }
        const int32_t before = CountAll(i, j);
        Exchange(i, j);
        if (!IsKept(CountAll(i, j) - before))
        {
            Exchange(i, j);
        }
    }

    /// Find the servers that have to exchange what they send in two covers together with one.
    void FindAlternatingCycle(uint32_t i, uint32_t j, NodeId first)
    {
        m_senders.clear();
        NodeId sender = first;
        do
        {
            m_senders.push_back(sender);
            sender = m_previous[j][m_covers[i][sender].back()];
        } while (sender != first);
    }

    /// Find the servers that have to exchange what they send in two covers, if one server is sent
    /// to twice in the first one, and another in the second one.
    void FindAlternatingPath(uint32_t i, uint32_t j, NodeId twiceInI, NodeId twiceInJ)
    {
        m_senders.clear();
        for (NodeId receiver = twiceInI; receiver != twiceInJ;)
        {
            m_senders.push_back(m_previous[i][receiver]);
            receiver = m_covers[j][m_senders.back()].back();
        }
    }

    void Exchange(uint32_t i, uint32_t j)
    {
        for (const NodeId sender : m_senders)
        {
            std::swap(m_covers[i][sender], m_covers[j][sender]);
        }
        Update(i);
        Update(j);
    }

    const Topology& m_topology;
    std::vector<CycleCover>& m_covers;
    MergingEffort m_effort;
    PlannerRandom& m_random;
    ServerGraph m_graph;
    SwitchPathSearch m_search;
    std::vector<uint32_t> m_used;                 //!< by directed link: paths over it
    std::vector<std::vector<NodeId>> m_previous;  //!< [cover][server]: who sends to it
    std::vector<std::vector<uint32_t>> m_cycleOf; //!< [cover][server]: its cycle
    std::vector<uint32_t> m_nCycles;              //!< by cover
    std::vector<NodeId> m_senders;                //!< see FindAlternatingCycle
};

} // namespace

bool
MergeCycles(const Topology& topology,
            std::vector<CycleCover>& covers,
            uint32_t nRings,
            const MergingEffort& effort,
            PlannerRandom& random)
{
    return CoverMerging(topology, covers, nRings, effort, random).Run();
}

} // namespace ns3::allreduce
