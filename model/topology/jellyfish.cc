/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "topology-builder.h"
#include "topology-generators.h"

#include <algorithm>
#include <boost/pending/disjoint_sets.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <numeric>
#include <random>
#include <set>
#include <utility>

namespace ns3::allreduce
{

namespace
{

/// A link between two switches, the smaller index first.
using Edge = std::pair<uint32_t, uint32_t>;

/// A random regular graph of switches in the making.
class RandomRegularGraph
{
  public:
    /**
     * @param nSwitches number of switches
     * @param degree links of each switch
     * @param seed another seed gives another graph
     */
    RandomRegularGraph(uint32_t nSwitches, uint32_t degree, uint64_t seed)
        : m_free(nSwitches, degree),
          m_random(seed)
    {
    }

    /// @return the links of a connected graph in which every switch has the asked degree
    std::vector<Edge> Make()
    {
        while (JoinFreePorts() || MakeRoom())
        {
        }
        JoinComponents();
        return {m_edges.begin(), m_edges.end()};
    }

  private:
    /// @return a number below the limit
    uint32_t Draw(uint32_t limit)
    {
        return boost::random::uniform_int_distribution<uint32_t>(0, limit - 1)(m_random);
    }

    static Edge MakeEdge(uint32_t x, uint32_t y)
    {
        return {std::min(x, y), std::max(x, y)};
    }

    bool CanJoin(uint32_t x, uint32_t y) const
    {
        return x != y && m_edges.count(MakeEdge(x, y)) == 0;
    }

    void Join(uint32_t x, uint32_t y)
    {
        m_edges.insert(MakeEdge(x, y));
        --m_free[x];
        --m_free[y];
    }

    void Break(Edge edge)
    {
        m_edges.erase(edge);
        ++m_free[edge.first];
        ++m_free[edge.second];
    }

    /// @return the switches with a free port
    std::vector<uint32_t> FindOpen() const
    {
        std::vector<uint32_t> open;
        for (uint32_t x = 0; x < m_free.size(); ++x)
        {
            if (m_free[x] > 0)
            {
                open.push_back(x);
            }
        }
        return open;
    }

    /**
     * Join random pairs of switches with free ports until it works no more.
     *
     * @return whether a pair was joined
     */
    bool JoinFreePorts()
    {
        std::vector<uint32_t> open = FindOpen();
        bool joined = false;
        uint32_t misses = 0;
        while (open.size() >= 2 && misses < 8 * open.size())
        {
            const uint32_t i = Draw(open.size());
            const uint32_t j = Draw(open.size());
            if (!CanJoin(open[i], open[j]))
            {
                ++misses;
                continue;
            }
            Join(open[i], open[j]);
            joined = true;
            misses = 0;
            for (const uint32_t place : {std::max(i, j), std::min(i, j)})
            {
                if (m_free[open[place]] == 0)
                {
                    open[place] = open.back();
                    open.pop_back();
                }
            }
        }
        return joined;
    }

    /**
     * Two ports are free but cannot be joined to each other: put them into an existing link, or,
     * where no link allows that, break one and go on.
     *
     * @return whether ports were free
     */
    bool MakeRoom()
    {
        const std::vector<uint32_t> open = FindOpen();
        if (open.empty())
        {
            return false;
        }
        const uint32_t x = open[Draw(open.size())];
        --m_free[x];
        const std::vector<uint32_t> rest = FindOpen();
        ++m_free[x];
        const uint32_t y = rest[Draw(rest.size())];

        std::vector<Edge> edges(m_edges.begin(), m_edges.end());
        const uint32_t start = Draw(edges.size());
        for (std::size_t i = 0; i < edges.size(); ++i)
        {
            auto [a, b] = edges[(start + i) % edges.size()];
            if (!(CanJoin(x, a) && CanJoin(y, b)))
            {
                std::swap(a, b);
            }
            if (CanJoin(x, a) && CanJoin(y, b))
            {
                Break(MakeEdge(a, b));
                Join(x, a);
                Join(y, b);
                return true;
            }
        }
        Break(edges[start]);
        return true;
    }

    /// Cross links of two components until there is one component.
    void JoinComponents()
    {
        while (auto crossing = FindCrossing())
        {
            const auto [inCycle, elsewhere] = *crossing;
            Break(inCycle);
            Break(elsewhere);
            Join(inCycle.first, elsewhere.first);
            Join(inCycle.second, elsewhere.second);
        }
    }

    /**
     * Taking a link out of a cycle keeps its component whole, so that crossing it with any link
     * of another component joins the two.
     *
     * @return a link that lies in a cycle and a link of another component, if there are two
     */
    std::optional<std::pair<Edge, Edge>> FindCrossing() const
    {
        std::vector<uint32_t> rank(m_free.size());
        std::vector<uint32_t> parent(m_free.size());
        boost::disjoint_sets components(rank.data(), parent.data());
        for (uint32_t x = 0; x < m_free.size(); ++x)
        {
            components.make_set(x);
        }
        std::vector<Edge> inCycle;
        for (const Edge& edge : m_edges)
        {
            if (components.find_set(edge.first) == components.find_set(edge.second))
            {
                inCycle.push_back(edge);
            }
            components.union_set(edge.first, edge.second);
        }
        for (const Edge& edge : m_edges)
        {
            if (!inCycle.empty() &&
                components.find_set(edge.first) != components.find_set(inCycle[0].first))
            {
                return std::make_pair(inCycle[0], edge);
            }
        }
        return std::nullopt;
    }

    std::set<Edge> m_edges;       //!< links so far
    std::vector<uint32_t> m_free; //!< free ports by switch
    std::mt19937_64 m_random;     //!< random numbers
};

} // namespace

Topology
MakeJellyfish(uint32_t nSwitches, uint32_t degree, uint32_t serversPerSwitch, uint64_t seed)
{
    std::string name = "jellyfish:" + std::to_string(nSwitches) + "," + std::to_string(degree) +
                       "," + std::to_string(serversPerSwitch);
    name += seed == 1 ? "" : "," + std::to_string(seed);
    TopologyBuilder builder(name);
    builder.Require(nSwitches >= 1, "no switches, expected 1 or more");
    builder.Require(degree < nSwitches,
                    "degree ",
                    degree,
                    ", expected less than the number of switches, ",
                    nSwitches);
    builder.Require(uint64_t{nSwitches} * degree % 2 == 0,
                    "degree sum ",
                    uint64_t{nSwitches} * degree,
                    " is odd, expected an even one");
    builder.Require(degree >= 2 || degree + 1 == nSwitches,
                    "degree ",
                    degree,
                    " cannot connect ",
                    nSwitches,
                    " switches, expected 2 or more");
    const uint32_t nServers = builder.CheckSize(uint64_t{nSwitches} * serversPerSwitch);
    builder.Require(nServers >= 2, nServers, " servers, expected 2 or more");
    builder.CheckSize(uint64_t{nSwitches} * degree / 2 + nServers);

    builder.AddServers(nServers);
    const NodeId firstSwitch = builder.AddSwitches(nSwitches);
    for (NodeId server = 0; server < nServers; ++server)
    {
        builder.AddLink(server, firstSwitch + server / serversPerSwitch);
    }
    for (const auto& [x, y] : RandomRegularGraph(nSwitches, degree, seed).Make())
    {
        builder.AddLink(firstSwitch + x, firstSwitch + y);
    }
    return builder.Build();
}

} // namespace ns3::allreduce
