/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "tour-search.h"

#include "cycle-cover.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// Servers in pairs: those that a link joins, or a switch that has no others.
struct ServerPairs
{
    std::vector<Link> links;                              //!< one for each pair
    std::map<std::pair<NodeId, NodeId>, NodeId> switches; //!< between two servers, if there is one
};

/// @return the pairs, unless some switch has more than two servers or two pairs are the same
std::optional<ServerPairs>
FindPairs(const Topology& topology)
{
    ServerPairs pairs;
    std::set<std::pair<NodeId, NodeId>> known;
    const auto add = [&](NodeId a, NodeId b) {
        pairs.links.push_back({a, b});
        return known.emplace(std::minmax(a, b)).second;
    };
    for (const Link& link : topology.GetLinks())
    {
        if (topology.IsServer(link.a) && topology.IsServer(link.b) && !add(link.a, link.b))
        {
            return std::nullopt;
        }
    }
    for (NodeId id = topology.GetNServers(); id < topology.GetNNodes(); ++id)
    {
        const auto ports = topology.GetPorts(id);
        if (ports.size() != 2 || !topology.IsServer(ports[1].neighbor) ||
            !add(ports[0].neighbor, ports[1].neighbor))
        {
            return std::nullopt;
        }
        pairs.switches[{ports[0].neighbor, ports[1].neighbor}] = id;
        pairs.switches[{ports[1].neighbor, ports[0].neighbor}] = id;
    }
    return pairs;
}

bool
IsEven(const Topology& topology)
{
    for (NodeId server = 0; server < topology.GetNServers(); ++server)
    {
        if (topology.GetPorts(server).size() % 2 != 0)
        {
            return false;
        }
    }
    return true;
}

/// @return by directed link: 1 if an Eulerian walk passes it, 0 if it passes the opposite direction
std::vector<uint32_t>
OrientLinks(const Topology& topology)
{
    std::vector<uint32_t> isPassed(topology.GetNDirectedLinks(), 0);
    const auto findPort = [&](NodeId server) {
        const Topology::Port* best = nullptr;
        for (const Topology::Port& port : topology.GetPorts(server))
        {
            const bool isFree = !isPassed[port.out] && !isPassed[Reverse(port.out)];
            // Even directions first: in a torus, these lead along one dimension.
            if (isFree &&
                (!best || std::pair(port.out % 2, port.out) < std::pair(best->out % 2, best->out)))
            {
                best = &port;
            }
        }
        return best;
    };
    for (NodeId first = 0; first < topology.GetNServers(); ++first)
    {
        NodeId server = first;
        while (const Topology::Port* port = findPort(server))
        {
            isPassed[port->out] = 1;
            server = port->neighbor;
        }
    }
    return isPassed;
}

/// Covers by cycles without directions, while they are merged.
class TourSearch
{
  public:
    TourSearch(const std::vector<CycleCover>& covers, PlannerRandom& random)
        : m_random(random),
          m_nServers(covers.front().size()),
          m_near(covers.size(), std::vector<Pair>(m_nServers)),
          m_nCycles(covers.size())
    {
        for (uint32_t tour = 0; tour < covers.size(); ++tour)
        {
            for (NodeId server = 0; server < m_nServers; ++server)
            {
                const NodeId next = covers[tour][server].back();
                m_near[tour][server][1] = next;
                m_near[tour][next][0] = server;
            }
            m_nCycles[tour] = CountCycles(tour);
        }
    }

    bool Run(const MergingEffort& effort)
    {
        const uint64_t nTries = uint64_t{effort.nSweeps} * m_nServers;
        for (uint64_t i = 0; i < nTries && !IsDone(); ++i)
        {
            const uint32_t x = m_random.Modulo(m_near.size());
            const uint32_t y = m_random.Modulo(m_near.size());
            if (x != y && FindAlternatingCycle(x, y))
            {
                TryExchange(x, y, effort.dearness);
            }
        }
        return IsDone();
    }

    /// @return a ring for each direction of each cover
    std::vector<Ring> GetRings() const
    {
        std::vector<Ring> rings;
        for (uint32_t tour = 0; tour < m_near.size(); ++tour)
        {
            std::vector<NodeId> order;
            VisitCycle(tour, 0, [&](NodeId server) { order.push_back(server); });
            rings.push_back(MakeRing(order));
            std::reverse(order.begin(), order.end());
            rings.push_back(MakeRing(order));
        }
        return rings;
    }

  private:
    using Pair = std::array<NodeId, 2>;

    static Ring MakeRing(const std::vector<NodeId>& order)
    {
        Ring ring{order, {}};
        for (std::size_t i = 0; i < order.size(); ++i)
        {
            ring.paths.push_back({order[i], order[(i + 1) % order.size()]});
        }
        return ring;
    }

    bool IsDone() const
    {
        return std::all_of(m_nCycles.begin(), m_nCycles.end(), [](uint32_t n) { return n == 1; });
    }

    template <typename Call>
    void VisitCycle(uint32_t tour, NodeId first, Call call) const
    {
        NodeId before = m_near[tour][first][0];
        NodeId server = first;
        do
        {
            call(server);
            const Pair& near = m_near[tour][server];
            const NodeId next = near[0] == before ? near[1] : near[0];
            before = server;
            server = next;
        } while (server != first);
    }

    uint32_t CountCycles(uint32_t tour)
    {
        m_isVisited.assign(m_nServers, false);
        uint32_t nCycles = 0;
        for (NodeId first = 0; first < m_nServers; ++first)
        {
            if (!m_isVisited[first])
            {
                ++nCycles;
                VisitCycle(tour, first, [&](NodeId server) { m_isVisited[server] = true; });
            }
        }
        return nCycles;
    }

    /// Find servers in a circle whose links belong to two covers in turn. @return whether found
    bool FindAlternatingCycle(uint32_t x, uint32_t y)
    {
        constexpr std::size_t LONGEST = 8;
        m_circle.assign(1, m_random.Modulo(m_nServers));
        while (m_circle.size() < LONGEST)
        {
            if (!Append(m_near[x][m_circle.back()][m_random.Modulo(2)]))
            {
                return false;
            }
            const Pair& near = m_near[y][m_circle.back()];
            if (near[0] == m_circle.front() || near[1] == m_circle.front())
            {
                return m_circle.size() > 2;
            }
            if (!Append(near[m_random.Modulo(2)]))
            {
                return false;
            }
        }
        return false;
    }

    /// @return whether the server was not in the circle, and is now
    bool Append(NodeId server)
    {
        if (std::find(m_circle.begin(), m_circle.end(), server) != m_circle.end())
        {
            return false;
        }
        m_circle.push_back(server);
        return true;
    }

    void TryExchange(uint32_t x, uint32_t y, double dearness)
    {
        constexpr uint32_t FINENESS = 1 << 20;
        const uint32_t oldX = m_nCycles[x];
        const uint32_t oldY = m_nCycles[y];
        Exchange(x, y);
        m_nCycles[x] = CountCycles(x);
        m_nCycles[y] = CountCycles(y);
        const int32_t nMore = static_cast<int32_t>(m_nCycles[x] + m_nCycles[y] - oldX - oldY);
        if (nMore > 0 && m_random.Modulo(FINENESS) >= FINENESS * std::exp(-dearness * nMore))
        {
            Exchange(y, x);
            m_nCycles[x] = oldX;
            m_nCycles[y] = oldY;
        }
    }

    /// Exchange the links of the circle, the first of which belongs to the first cover.
    void Exchange(uint32_t x, uint32_t y)
    {
        const std::size_t n = m_circle.size();
        for (std::size_t i = 0; i < n; ++i)
        {
            const NodeId forwards = m_circle[(i + 1) % n];
            const NodeId backwards = m_circle[(i + n - 1) % n];
            const NodeId inX = i % 2 == 0 ? forwards : backwards;
            const NodeId inY = i % 2 == 0 ? backwards : forwards;
            Replace(m_near[x][m_circle[i]], inX, inY);
            Replace(m_near[y][m_circle[i]], inY, inX);
        }
    }

    static void Replace(Pair& near, NodeId old, NodeId by)
    {
        near[near[0] == old ? 0 : 1] = by;
    }

    PlannerRandom& m_random;
    uint32_t m_nServers;
    std::vector<std::vector<Pair>> m_near; //!< [tour][server]: the two beside it
    std::vector<uint32_t> m_nCycles;       //!< by tour
    std::vector<bool> m_isVisited;         //!< by server, while cycles are counted
    std::vector<NodeId> m_circle;          //!< see FindAlternatingCycle
};

} // namespace

std::vector<Ring>
FindTours(const Topology& topology,
          uint32_t nTours,
          const MergingEffort& effort,
          PlannerRandom& random)
{
    const auto pairs = FindPairs(topology);
    if (!pairs)
    {
        return {};
    }
    const Topology direct(topology.GetName(), topology.GetNServers(), 0, pairs->links);
    const auto covers =
        IsEven(direct)
            ? FindCycleCovers(direct, OrientLinks(direct), nTours, CoverStyle::REGULAR, random)
            : std::nullopt;
    if (!covers)
    {
        return {};
    }
    TourSearch search(*covers, random);
    std::vector<Ring> rings = search.Run(effort) ? search.GetRings() : std::vector<Ring>{};
    for (Ring& ring : rings)
    {
        for (Path& path : ring.paths)
        {
            const auto between = pairs->switches.find({path.front(), path.back()});
            if (between != pairs->switches.end())
            {
                path.insert(path.begin() + 1, between->second);
            }
        }
    }
    return rings;
}

} // namespace ns3::allreduce
