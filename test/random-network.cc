/*
 * SPDX-License-Identifier: GPL-2.0-only
 */

#include "random-network.h"

#include "ns3/link-capacities.h"

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>
#include <boost/random/uniform_real_distribution.hpp>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ns3::allreduce
{

namespace
{

/// Draws the links of a network.
class LinkDrawer
{
  public:
    LinkDrawer(uint64_t seed, uint32_t mostServers)
        : m_random(seed)
    {
        m_nServers = Draw(2, mostServers);
        m_nSwitches = Draw(0, 2) == 0 ? 0 : Draw(1, std::max(1U, m_nServers / 2));
        // Most networks have two or three kinds of links, some have all.
        for (uint32_t i = Draw(1, 4); i > 0; --i)
        {
            m_rates.push_back(RATES_GBPS[Draw(0, std::size(RATES_GBPS) - 1)]);
        }
    }

    Topology Make(const std::string& name)
    {
        if (m_nSwitches == 0)
        {
            JoinAll(0, m_nServers);
            AddMore(m_nServers, 0, m_nServers);
        }
        else
        {
            JoinAll(m_nServers, m_nSwitches);
            for (NodeId server = 0; server < m_nServers; ++server)
            {
                for (uint32_t port = Draw(1, 3); port > 0; --port)
                {
                    TryLink(server, m_nServers + Draw(0, m_nSwitches - 1));
                }
            }
            AddMore(m_nSwitches, m_nServers, m_nSwitches);
        }
        DeriveCapacities(m_links);
        return Topology(name, m_nServers, m_nSwitches, m_links);
    }

  private:
    static constexpr uint64_t RATES_GBPS[] = {1, 10, 25, 40, 100, 400};

    uint32_t Draw(uint32_t least, uint32_t most)
    {
        return boost::random::uniform_int_distribution<uint32_t>(least, most)(m_random);
    }

    /// A random tree.
    void JoinAll(NodeId first, uint32_t count)
    {
        for (uint32_t i = 1; i < count; ++i)
        {
            TryLink(first + i, first + Draw(0, i - 1));
        }
    }

    /// Up to so many links between nodes of a range.
    void AddMore(uint32_t most, NodeId first, uint32_t count)
    {
        for (uint32_t i = Draw(0, most); i > 0; --i)
        {
            TryLink(first + Draw(0, count - 1), first + Draw(0, count - 1));
        }
    }

    void TryLink(NodeId a, NodeId b)
    {
        if (a == b || !m_joined.insert(std::minmax(a, b)).second)
        {
            return;
        }
        Link link;
        link.a = a;
        link.b = b;
        link.rateBps = m_rates[Draw(0, m_rates.size() - 1)] * 1'000'000'000;
        const boost::random::uniform_real_distribution<double> exponent(2, std::log10(50000.0));
        link.delayNs = std::lround(std::pow(10, exponent(m_random)));
        m_links.push_back(link);
    }

    std::mt19937_64 m_random;                     //!< random numbers
    uint32_t m_nServers;                          //!< number of servers
    uint32_t m_nSwitches;                         //!< number of switches
    std::vector<uint64_t> m_rates;                //!< Gb/s that links may have
    std::set<std::pair<NodeId, NodeId>> m_joined; //!< pairs that have a link
    std::vector<Link> m_links;                    //!< so far
};

} // namespace

Topology
DrawNetwork(uint64_t seed, uint32_t mostServers)
{
    return LinkDrawer(seed, mostServers).Make("random:" + std::to_string(seed));
}

} // namespace ns3::allreduce
